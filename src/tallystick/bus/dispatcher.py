"""The bus of one hub: every connection, and the desks of the sessions in which agents are connected."""

from __future__ import annotations

from tallystick.bus import records
from tallystick.bus.desks import Attachment, Desk
from tallystick.bus.party import Outbox, Party
from tallystick.hub.feed import Feeds
from tallystick.hub.serving import Serving
from tallystick.hub.tokens_reach import Visitor


class Bus:
    def __init__(self, serving: Serving) -> None:
        self.serving = serving
        self.feeds = Feeds(serving.hub, records.frame, serving.pool)
        """The rooms' events as records; separate from HTTP's, since a record is another encoding."""
        self._parties: set[Party] = set()
        self._desks: dict[str, Desk] = {}
        self._closing = False

    def connect(self, visitor: Visitor, outbox: Outbox) -> Party:
        """A new connection of somebody who was let in."""
        party = Party(self, visitor, outbox)
        self._parties.add(party)
        if self._closing:
            party.dismiss()
        return party

    def once(self, visitor: Visitor) -> Party:
        """A connection for one request, without a way back."""
        return Party(self, visitor, None)

    @property
    def connections(self) -> int:
        return len(self._parties)

    def forget(self, party: Party) -> None:
        self._parties.discard(party)

    def online(self, room_id: str, agent: str) -> bool:
        desk = self._desks.get(room_id)
        return desk is not None and desk.holds(agent)

    def attach(self, party: Party, room_id: str, agent: str, results_after: int) -> None:
        if party not in self._parties:
            return  # It hung up between its request and now.
        desk = self._desks.get(room_id)
        if desk is None:
            desk = self._desks[room_id] = Desk(self.serving, room_id, self._ended)
        former = desk.attach(Attachment(party=party, agent=agent, results_after=results_after))
        if former:
            former.party.replaced(room_id, agent)

    def detach(self, party: Party, room_id: str, agent: str) -> None:
        if desk := self._desks.get(room_id):
            desk.detach(agent, party)

    def dismiss(self) -> None:
        """Shutting down: let every connection go with a word."""
        self._closing = True
        self.feeds.dismiss()
        for party in tuple(self._parties):
            party.dismiss()

    async def close(self) -> None:
        for desk in tuple(self._desks.values()):
            desk.stop()
        await self.feeds.close()

    def _ended(self, desk: Desk) -> None:
        if self._desks.get(desk.room_id) is desk:
            del self._desks[desk.room_id]
