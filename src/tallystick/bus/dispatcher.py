"""The bus of one hub: every connection, and the delivery queues of the sessions in which agents are connected."""

from __future__ import annotations

from tallystick.bus import records
from tallystick.bus.connection import BusConnection, Outbox
from tallystick.bus.delivery import AttachedAgent, DeliveryQueue
from tallystick.hub.feed import Feeds
from tallystick.hub.serving import Serving
from tallystick.hub.visitor import Visitor


class Bus:
    def __init__(self, serving: Serving) -> None:
        self.serving = serving
        self.feeds = Feeds(serving.hub, records.frame, serving.pool)
        """The rooms' events as records; separate from HTTP's, since a record is another encoding."""
        self._connections: set[BusConnection] = set()
        self._queues: dict[str, DeliveryQueue] = {}
        self._closing = False

    def connect(self, visitor: Visitor, outbox: Outbox) -> BusConnection:
        """A new connection of somebody who was let in."""
        connection = BusConnection(self, visitor, outbox)
        self._connections.add(connection)
        if self._closing:
            connection.dismiss()
        return connection

    def once(self, visitor: Visitor) -> BusConnection:
        """A connection for one request, without a way back."""
        return BusConnection(self, visitor, None)

    @property
    def connections(self) -> int:
        return len(self._connections)

    def forget(self, connection: BusConnection) -> None:
        self._connections.discard(connection)

    def online(self, room_id: str, agent: str) -> bool:
        queue = self._queues.get(room_id)
        return queue is not None and queue.holds(agent)

    def attach(self, connection: BusConnection, room_id: str, agent: str, results_after: int) -> None:
        if connection not in self._connections:
            return  # It hung up between its request and now.
        queue = self._queues.get(room_id)
        if queue is None:
            queue = self._queues[room_id] = DeliveryQueue(self.serving, room_id, self._ended)
        former = queue.attach(AttachedAgent(connection=connection, agent=agent, results_after=results_after))
        if former:
            former.connection.replaced(room_id, agent)

    def detach(self, connection: BusConnection, room_id: str, agent: str) -> None:
        if queue := self._queues.get(room_id):
            queue.detach(agent, connection)

    def dismiss(self) -> None:
        """Shutting down: let every connection go with a word."""
        self._closing = True
        self.feeds.dismiss()
        for connection in tuple(self._connections):
            connection.dismiss()

    async def close(self) -> None:
        for queue in tuple(self._queues.values()):
            queue.stop()
        await self.feeds.close()

    def _ended(self, queue: DeliveryQueue) -> None:
        if self._queues.get(queue.room_id) is queue:
            del self._queues[queue.room_id]
