"""`/rooms/<id>/sessions`: the conversation of a room, an agent or a task, and a place to join it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tallystick.capabilities.rooms.contract import Rooms, RoomSummary
from tallystick.surfaces.web import chat, page, rows
from tallystick.surfaces.web.page import PageReader, PageRequest, PageView
from tallystick.surfaces.web.rows import EventRow

LIMIT = 80
RELAYED_TO = 200

SHOWN: Mapping[str, tuple[str, Callable[[EventRow], bool]]] = {
    "": ("all", lambda _: True),
    "handoffs": ("handoffs", lambda row: row.tag == "Passed to" or row.handoff is not None),
    "needs-input": ("needs input", lambda row: row.tag == "Needs input" or (row.tone == "b" and bool(row.tag))),
    "incursions": ("incursions", lambda row: row.tag == "Incursion"),
    "messages": ("messages", lambda row: row.speech),
}


def view(snapshot: PageReader, asked: PageRequest) -> PageView:
    around = page.framed(snapshot, asked)
    agent, task, show, at = asked.word("agent"), asked.word("task"), asked.word("show"), asked.number("at")
    show = show if show in SHOWN else ""
    # A row that is pointed at stands a little below the top, with what came after it in sight.
    before = asked.number("before") or (at + LIMIT // 4 if at else None)

    def wanted(row: EventRow) -> bool:
        return SHOWN[show][1](row) and _about(row, agent)

    found = rows.stretch(snapshot, asked.room_id, limit=LIMIT, before=before, wanted=wanted, task=task)
    agents = around.agents
    context: dict[str, object] = {
        **around.context,
        "rows": found.rows,
        "entries": chat.conversation(found.rows),
        "agents": agents,
        "agent": agent,
        "task": task,
        "show": show,
        "shown": [(name, label) for name, (label, _) in SHOWN.items()],
        "before": before,
        "older": found.older,
        "rooms": rooms_to_relay_to(snapshot, asked.room_id),
    }
    return PageView(template="sessions.html", context=context)


def _about(row: EventRow, agent: str) -> bool:
    if not agent or agent in {row.by, *row.to}:
        return True
    return agent in row.data.get("recipients", ()) or agent == row.data.get("to_agent_id")


def rooms_to_relay_to(snapshot: PageReader, room_id: str) -> list[RoomSummary]:
    """Where a message may be relayed to; a token for one room reaches no other."""
    if snapshot.visitor.room_id is not None:
        return []
    every = snapshot.read("rooms.list", Rooms, limit=RELAYED_TO).rooms
    return [room for room in every if not room.closed_at and room.room_id != room_id]
