"""What an agent is told between its own calls: after a tool, with a prompt, and once when it wants to stop.

Its mail, what it has lost, its turn when that was taken, and what others have done; each of it once.
"""

from __future__ import annotations

import msgspec

from tallystick.capabilities.protocol.events import WorkBlocked, WorkHandedOver
from tallystick.capabilities.reservations.events import ReservationGranted, ReservationReleased
from tallystick.capabilities.rooms.events import NoteAdded
from tallystick.capabilities.turns.events import StickPassed, StickReleased, StickRevoked, StickTakenOver
from tallystick.harnesses.hook_protocol import plain, quoted
from tallystick.hub import event_text, reservation_check
from tallystick.kernel.hints import said, step, tool_call
from tallystick.kernel.json_values import objects_of
from tallystick.ledger.contract import Envelope
from tallystick.surfaces.hook.session_files import ToldSoFar, mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from tallystick.client.calls import Answered

    Asking: TypeAlias = Callable[[str, Mapping[str, object]], Answered]

TOLD = (
    StickReleased,
    StickPassed,
    StickTakenOver,
    StickRevoked,
    ReservationGranted,
    ReservationReleased,
    NoteAdded,
    WorkBlocked,
    WorkHandedOver,
)
"""Of what others do. Their messages are mail, their presence is in the room's state."""
KINDS = [body.kind for body in TOLD]
LOST_TURN = frozenset({StickTakenOver.kind, StickRevoked.kind})
AT_ONCE, SHOWN, LONGEST = 50, 5, 200


def since(ask: Asking, folder: str, seen: ToldSoFar | None) -> tuple[list[str], ToldSoFar]:
    """What is new for the agent in the room of this folder, in lines, and how far it has been told with them."""
    rooms = reservation_check.rooms(ask, folder)
    if not rooms:
        return [], ToldSoFar(owed=seen.owed if seen else 0)
    room_id = rooms[0]
    answered = ask("turns.state", {"room_id": room_id, "peek": True})
    notices = [said(each, tool_call, {"room_id": room_id}) for each in answered.notices]
    now = ToldSoFar(room_id, int(str(answered.data["cursor"])), mark(notices), seen.owed if seen else 0)
    fresh = seen is None or seen.room_id != room_id or seen.notices != now.notices
    lines = [f"For you: {plain(each)}." for each in notices] if fresh else []
    # Whoever has been told nothing yet is not told what was before it came.
    if seen is not None and seen.room_id == room_id and seen.seq < now.seq:
        lines += _deeds(ask, room_id, seen.seq)
    return lines, now


def _deeds(ask: Asking, room_id: str, after: int) -> list[str]:
    me = ask("reservations.check", {"room_id": room_id, "paths": []}).data["agent_id"]
    given = {"room_id": room_id, "since_seq": after, "kinds": KINDS, "limit": AT_ONCE}
    rows = objects_of(ask("events.list", given).data["events"])
    events = [msgspec.convert(row, Envelope) for row in rows if row["by"] != me]
    lost = [event for event in events if event.kind in LOST_TURN and event.data.get("from_agent_id") == me]
    others = [event for event in events if event not in lost]
    lines = [
        f"Your turn is over ({_sentence(event)}): change nothing more for it, and wait for your turn "
        f"again ({said(step('turns.wait'), tool_call, {'room_id': room_id})})."
        for event in lost[-1:]
    ]
    lines += [f"{_sentence(event)}." for event in others[-SHOWN:]]
    if len(others) > SHOWN:
        earlier = step("events.list", since_seq=after)
        lines.append(f"{len(others) - SHOWN} more before: {said(earlier, tool_call, {'room_id': room_id})}.")
    return lines


def owed(ask: Asking, rooms: Sequence[str], told: int) -> tuple[str, int] | None:
    """What to say to somebody who wants to stop and owes an ack for mail it was not reminded of, and up to where."""
    for room_id in rooms[:1]:
        rows = objects_of(ask("messages.inbox", {"room_id": room_id, "owed": True, "limit": SHOWN}).data["messages"])
        found = [msgspec.convert(row["event"], Envelope) for row in rows]
        new = [event for event in found if event.seq > told]
        if new:
            texts = [
                f"{plain(event.by)} wrote: {quoted(event.data.get('text', event.data.get('title', '')), LONGEST)}"
                for event in new
            ]
            ack = said(step("messages.ack", event_id=new[0].id), tool_call, {"room_id": room_id})
            return (
                f"Tallystick: somebody waits for your answer before you stop. {'; '.join(texts)}. Do what is asked, or "
                f"say that you do not; then accept it: {ack}."
            ), max(event.seq for event in new)
    return None


def _sentence(event: Envelope) -> str:
    return plain(event_text.sentence(event, quoted=lambda words: quoted(words, LONGEST)))
