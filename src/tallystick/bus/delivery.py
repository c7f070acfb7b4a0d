"""Delivers actions and results to connected agents: one queue per session in which an agent is connected.

It reads the room at every wake. What is delivered is decided by the ledger alone, so a hub that restarts, or an agent
that connects again, continues after the last answered action.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tallystick.bus import records
from tallystick.bus.connection import BusConnection, Outbox
from tallystick.bus.records import DueActions
from tallystick.capabilities.actions.events import ActionResultReported
from tallystick.hub.feed import Feeds, Wake
from tallystick.hub.serving import Serving
from tallystick.hub.visitor import Visitor
from tallystick.kernel.envelope import Event

if TYPE_CHECKING:
    from tallystick.bus.connection import BusConnection
    from tallystick.hub.serving import Serving


READ_AGAIN_SECONDS = 15.0
"""A wake that was lost costs no more than this."""
PAUSE_SECONDS = 1.0

log = logging.getLogger("tallystick.bus")


@dataclass(slots=True, kw_only=True)
class AttachedAgent:
    """One agent at one connection."""

    connection: BusConnection
    agent: str
    results_after: int
    new: bool = True
    in_flight: set[str] = field(default_factory=set[str])
    """What went out on this connection and has not been answered: it does not go out twice on it."""


class DeliveryQueue:
    def __init__(self, serving: Serving, room_id: str, ended: Callable[[DeliveryQueue], None]) -> None:
        self.room_id = room_id
        self._serving, self._ended = serving, ended
        self._attached: dict[str, AttachedAgent] = {}
        self._cursor: int | None = None
        self._wake = Wake()
        self._task = asyncio.ensure_future(self._run())

    def attach(self, attachment: AttachedAgent) -> AttachedAgent | None:
        """Have an agent's actions go to this connection; the one to which they went so far, if any."""
        former = self._attached.get(attachment.agent)
        self._attached[attachment.agent] = attachment
        self._wake.ring()
        return former if former and former.connection is not attachment.connection else None

    def detach(self, agent: str, connection: BusConnection) -> None:
        found = self._attached.get(agent)
        if found and found.connection is connection:
            del self._attached[agent]
            self._wake.ring()

    def holds(self, agent: str) -> bool:
        return agent in self._attached

    def stop(self) -> None:
        self._task.cancel()

    async def _run(self) -> None:
        try:
            with self._serving.feeds.listen(self.room_id, self._wake):
                while self._attached:
                    await self._deliver_due()
                    await self._wake.wait(READ_AGAIN_SECONDS)
        finally:
            self._ended(self)

    async def _deliver_due(self) -> None:
        """Deliver whatever is due, until everything up to the head was read."""
        more = True
        while more:
            fresh = [each for each in self._attached.values() if each.new]
            try:
                found = await self._read({each.agent for each in fresh})
                for each in fresh:
                    await self._catch_up(each)
            except Exception:
                # Read the backlog of every agent again, after a pause: nothing may be lost by a failed read.
                log.exception("a session cannot be read")
                for each in self._attached.values():
                    each.new = True
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            self._deliver(found)
            more = found.more or any(each.new for each in self._attached.values())

    async def _read(self, fresh: set[str]) -> DueActions:
        for agent in fresh:
            self._attached[agent].new = False
        room_id = self.room_id
        if self._cursor is None:
            self._cursor = await records.head(self._serving, room_id)
        after, attached = self._cursor, set(self._attached)
        return await records.due_actions(self._serving, room_id, after, attached=attached, fresh=fresh & attached)

    async def _catch_up(self, each: AttachedAgent) -> None:
        """The results that came while an agent was away, before any newer ones."""
        room_id, until = self.room_id, self._cursor or 0
        if each.results_after < until:
            missed = await records.results(self._serving, room_id, each.agent, each.results_after, until)
            for event in missed:
                self._send_result(each, event)

    def _deliver(self, found: DueActions) -> None:
        # Skip connections that attached during this read: they must get their backlog first, or `results_after` would
        # move past older results.
        present = {each.agent: each for each in self._attached.values() if not each.new}
        for event in found.results:
            if event.kind == ActionResultReported.kind and (target := present.get(event.by)):
                target.in_flight.discard(event.read(ActionResultReported).action_id)
            for requester in present.values():
                if records.concerns(event, requester.agent):
                    self._send_result(requester, event)
        for agent, due in found.due.items():
            attachment = present.get(agent)
            if attachment and due and due.action.action_id not in attachment.in_flight:
                attachment.in_flight.add(due.action.action_id)
                attachment.connection.push(records.line(due.event))
        self._cursor = found.cursor

    def _send_result(self, requester: AttachedAgent, event: Event) -> None:
        if event.seq > requester.results_after:
            requester.results_after = event.seq
            requester.connection.push(records.line(event))


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
