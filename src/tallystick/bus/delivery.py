"""Handing actions to those who are connected: one desk per session in which somebody is.

A desk looks whenever its room was woken. What it hands over is decided by the ledger alone, so a hub that starts again,
or an agent that comes back, goes on exactly where the last answered action left off.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tallystick.bus import records
from tallystick.hub import bus_reads
from tallystick.hub.bus_reads import DueActions
from tallystick.hub.feed import Wake
from tallystick.kernel.envelope import Event

if TYPE_CHECKING:
    from tallystick.bus.connection import BusConnection
    from tallystick.hub.serving import Serving

LOOK_AGAIN_SECONDS = 15.0
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
    handed: set[str] = field(default_factory=set[str])
    """What went out on this connection and has not been answered: it does not go out twice on it."""


class DeliveryQueue:
    def __init__(self, serving: Serving, room_id: str, ended: Callable[[DeliveryQueue], None]) -> None:
        self.room_id = room_id
        self._serving, self._ended = serving, ended
        self._attached: dict[str, AttachedAgent] = {}
        self._cursor: int | None = None
        self._bell = Wake()
        self._task = asyncio.ensure_future(self._run())

    def attach(self, attachment: AttachedAgent) -> AttachedAgent | None:
        """Have an agent's actions go to this connection; the one to which they went so far, if any."""
        former = self._attached.get(attachment.agent)
        self._attached[attachment.agent] = attachment
        self._bell.ring()
        return former if former and former.connection is not attachment.connection else None

    def detach(self, agent: str, connection: BusConnection) -> None:
        found = self._attached.get(agent)
        if found and found.connection is connection:
            del self._attached[agent]
            self._bell.ring()

    def holds(self, agent: str) -> bool:
        return agent in self._attached

    def stop(self) -> None:
        self._task.cancel()

    async def _run(self) -> None:
        try:
            with self._serving.feeds.listen(self.room_id, self._bell):
                while self._attached:
                    await self._look()
                    await self._bell.wait(LOOK_AGAIN_SECONDS)
        finally:
            self._ended(self)

    async def _look(self) -> None:
        """Hand over whatever is due, until everything up to the head was seen."""
        more = True
        while more:
            fresh = [each for each in self._attached.values() if each.new]
            try:
                found = await self._seen({each.agent for each in fresh})
                for each in fresh:
                    await self._catch_up(each)
            except Exception:
                # Whoever waits here must not be forgotten: as if everybody had just come, and after a pause.
                log.exception("a session cannot be looked at")
                for each in self._attached.values():
                    each.new = True
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            self._hand_over(found)
            more = found.more or any(each.new for each in self._attached.values())

    async def _seen(self, fresh: set[str]) -> DueActions:
        for agent in fresh:
            self._attached[agent].new = False
        room_id = self.room_id
        if self._cursor is None:
            self._cursor = await self._serving.look(lambda tx: bus_reads.head(tx, room_id))
        after, attached = self._cursor, set(self._attached)
        return await self._serving.look(
            lambda tx: bus_reads.look(tx, room_id, after, attached=attached, fresh=fresh & attached)
        )

    async def _catch_up(self, each: AttachedAgent) -> None:
        """The results that came while an agent was away, before any newer ones."""
        room_id, until = self.room_id, self._cursor or 0
        if each.results_after < until:
            missed = await self._serving.look(
                lambda tx: bus_reads.results(tx, room_id, each.agent, each.results_after, until)
            )
            for event in missed:
                self._tell(each, event)

    def _hand_over(self, found: DueActions) -> None:
        # Who came while we looked is next, and first gets what it missed: a later result would hide the earlier ones.
        present = {each.agent: each for each in self._attached.values() if not each.new}
        for event in found.results:
            target, requester = present.get(event.by), present.get(str(event.data["dst"]))
            if target:
                target.handed.discard(str(event.data["action_id"]))
            if requester:
                self._tell(requester, event)
        for agent, due in found.due.items():
            attachment = present.get(agent)
            if attachment and due and due.action.action_id not in attachment.handed:
                attachment.handed.add(due.action.action_id)
                attachment.connection.push(records.line(due.event))
        self._cursor = found.cursor

    def _tell(self, requester: AttachedAgent, event: Event) -> None:
        if event.seq > requester.results_after:
            requester.results_after = event.seq
            requester.connection.push(records.line(event))
