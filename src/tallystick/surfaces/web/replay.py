"""`/rooms/<id>/replay`: the room as it was after any of its events."""

from __future__ import annotations

from tallystick.surfaces.web import frame, rows
from tallystick.surfaces.web.asked import Asked, View
from tallystick.surfaces.web.snapshot import Facts, Snapshot

JOBS = 30


def view(snapshot: Snapshot, asked: Asked) -> View:
    around = frame.of(snapshot, asked)
    head: int = around.room["head"]
    seq = max(1, min(asked.number("seq") or head, head))
    moment = {"room_id": asked.room_id, "seq": seq}
    then = snapshot.ask("rooms.replay", **moment)
    handoff = _event(snapshot, asked.room_id, then["handoff_event_seq"])
    found = rows.newest(snapshot, asked.room_id, limit=8, before=seq + 1)
    context: dict[str, object] = {
        **around.context,
        "seq": seq,
        "then": then,
        "event": _event(snapshot, asked.room_id, seq),
        "handoff": handoff,
        "rows": found,
        "held": snapshot.rows("reservations.replay", "reservations", **moment),
        "work": snapshot.ask("jobs.replay", **moment, limit=JOBS),
    }
    return View(template="replay.html", context=context)


def _event(snapshot: Snapshot, room_id: str, seq: int | None) -> Facts | None:
    if not seq:
        return None
    return snapshot.rows("events.list", "events", room_id=room_id, since_seq=seq - 1, limit=1)[0]
