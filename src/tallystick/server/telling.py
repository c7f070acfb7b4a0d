"""What happens in the rooms, told to whoever runs the hub in a terminal: who comes and goes, and where the stick is."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial

from tallystick.capabilities.agents.events import MemberAdded, MemberRemoved
from tallystick.capabilities.jobs.events import JobCompleted, JobCreated
from tallystick.capabilities.rooms.events import RoomCreated, StickClosed
from tallystick.capabilities.turns.events import StickClaimed, StickPassed, StickReleased, StickRevoked, StickTakenOver
from tallystick.commandline import times
from tallystick.commandline.output import visible
from tallystick.hub import event_text, feed
from tallystick.hub.hub import Hub
from tallystick.hub.serving import Serving
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.operation import as_record
from tallystick.ledger import reading
from tallystick.ledger.contract import Envelope, Heads

STICK = (StickClaimed, StickReleased, StickPassed, StickTakenOver, StickRevoked, StickClosed)
KINDS = [each.kind for each in (RoomCreated, MemberAdded, MemberRemoved, *STICK, JobCreated, JobCompleted)]
"""What is told; the page and `tally log` have the rest."""
SPACED_S = 0.25
"""However busy the rooms are, nobody reads faster."""
MOST = 20
"""Of a room at once: of more, these are the first."""
ROOMS = 10_000
_READER = Caller(agent_id="user", session=SessionKind.HUMAN_GUARDIAN)


async def told(serving: Serving) -> None:
    """Print what happens from now on, until cancelled. In a thread: a terminal may be stopped and take nothing."""
    seen = await serving.read(partial(_heads, serving.hub))
    with serving.feeds.listen(feed.EVERY_ROOM) as wake:
        while True:
            if await wake.wait(feed.QUIET_SECONDS):
                seen = await serving.read(partial(_say, serving.hub, seen))
                await asyncio.sleep(SPACED_S)


def _heads(hub: Hub) -> dict[str, int]:
    found = as_record(Heads, hub.call("events.heads", {"limit": ROOMS}, _READER).to_data())
    return {each.room_id: each.seq for each in found.heads}


def _say(hub: Hub, before: Mapping[str, int]) -> dict[str, int]:
    now = _heads(hub)
    for room_id, seq in now.items():
        if seq <= before.get(room_id, 0):
            continue
        with hub.reading() as tx:
            found = reading.since(tx, room_id, before.get(room_id, 0), limit=MOST, kinds=KINDS)
            title = reading.event_at(tx, room_id, 1).data.get("title") or room_id
        for event in map(Envelope.of, found):
            sentence = event_text.sentence(event).partition("\n")[0]
            print(visible(f"{times.local(event.ts)}  {title}: {sentence}"), flush=True)
    return now
