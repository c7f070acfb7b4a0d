"""`/rooms/<id>`: the stick as a picture, the handoff in force, the sequence, and what a person may do about it."""

from __future__ import annotations

from collections.abc import Sequence

from tallystick.capabilities.jobs.views import Radar
from tallystick.capabilities.reservations.contract import ReservationList
from tallystick.capabilities.turns.contract import StickEvent, StickEvents
from tallystick.surfaces.web import chart, page, room_status, rows
from tallystick.surfaces.web.page import PageReader, PageRequest, PageView

HISTORY = 80
TALK = 12
GLANCE = 6
"""Jobs and reservations beside the stick; each has a view of its own."""
FILTERS = (
    ("", "all", ""),
    ("handoffs", "handoffs", "h"),
    ("needs-input", "needs input", "b"),
    ("incursions", "incursions", "i"),
)
"""The ways on into the whole conversation: its filter, its label and its tone."""


def view(snapshot: PageReader, asked: PageRequest) -> PageView:
    around = page.framed(snapshot, asked)
    room = around.room
    state = room_status.stick_of(snapshot, asked.room_id)
    events = snapshot.read("turns.history", StickEvents, room_id=asked.room_id, newest=True, limit=HISTORY).events
    order = [member.agent_id for member in state.facts.members]
    context: dict[str, object] = {
        **around.context,
        "stick": state,
        "handoff": _handoff(events),
        "picture": chart.draw(events, order, snapshot.now),
        "needs": room_status.needs_in(snapshot, room, state),
        "people": room_status.people_in(snapshot, room, state),
        "mine": state.facts.owner == snapshot.me,
        "member": snapshot.me in order,
        "rows": rows.newest(snapshot, asked.room_id, limit=TALK),
        "filters": FILTERS,
        "jobs": snapshot.read("jobs.radar", Radar, room_id=asked.room_id, limit=GLANCE).jobs,
        "held": snapshot.read("reservations.status", ReservationList, room_id=asked.room_id, limit=GLANCE).reservations,
        "heartbeat_ms": state.facts.policy.heartbeat_interval_ms,
    }
    return PageView(template="room.html", context=context)


def _handoff(events: Sequence[StickEvent]) -> StickEvent | None:
    """The newest handoff, which the holder got or the next one will get; a takeover brings none."""
    for event in reversed(events):
        if event.handoff or event.event_type == "takeover":
            return event if event.handoff else None
    return None
