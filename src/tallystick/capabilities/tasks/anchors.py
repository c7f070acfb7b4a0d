"""`anchors.*`: names for areas of the work, under which tasks, cards and jobs meet."""

from __future__ import annotations

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.tasks import queries, rules
from tallystick.capabilities.tasks.contract import (
    Anchors,
    AnchorSnapshot,
    AnchorView,
    CardView,
    CreateAnchor,
    ListAnchors,
    ShowAnchor,
    TaskView,
    UpdateAnchor,
)
from tallystick.capabilities.tasks.events import AnchorCreated
from tallystick.capabilities.tasks.rules import AnchorExists
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import Reach, operation
from tallystick.ledger.tx import Tx


@operation(
    "anchors.create",
    reach=Reach.WORK,
    writes=True,
    examples=({"room_id": "ROOM", "anchor": "a:parser", "paths": ["src/parser"]},),
)
def create(tx: Tx, me: Caller, ask: CreateAnchor) -> AnchorView:
    """Name an area of the work. A job or task that names a new anchor makes it by itself."""
    tx.check_open(ask.room_id)
    if queries.find_anchor(tx, ask.room_id, ask.anchor):
        raise AnchorExists(f"The anchor {ask.anchor} is there already.", anchor_id=ask.anchor)
    body = AnchorCreated(anchor_id=ask.anchor, title=ask.title, paths=ask.paths)
    tx.append(ask.room_id, agent_rules.principal(me.agent_id), [Draft.of(body)])
    return AnchorView.of(queries.anchor(tx, ask.room_id, ask.anchor))


def ensure_anchor(tx: Tx, room_id: str, by: str, anchor_id: str) -> None:
    """Make the anchor unless it is there."""
    if queries.find_anchor(tx, room_id, anchor_id) is None:
        tx.append(room_id, by, [Draft.of(AnchorCreated(anchor_id=anchor_id))])


@operation(
    "anchors.update",
    reach=Reach.WORK,
    writes=True,
    examples=({"room_id": "ROOM", "anchor": "a:parser", "title": "The parser"},),
)
def update(tx: Tx, me: Caller, ask: UpdateAnchor) -> AnchorView:
    """Change an anchor's title or paths; only the fields that are given change."""
    tx.check_open(ask.room_id)
    queries.anchor(tx, ask.room_id, ask.anchor)
    tx.append(ask.room_id, agent_rules.principal(me.agent_id), [Draft.of(rules.anchor_changes(ask))])
    return AnchorView.of(queries.anchor(tx, ask.room_id, ask.anchor))


@operation("anchors.list", reach=Reach.READ, examples=({"room_id": "ROOM"},))
def list_anchors(tx: Tx, me: Caller, ask: ListAnchors) -> Anchors:
    """List a room's anchors by name."""
    rooms.room(tx, ask.room_id)
    found = queries.anchors(tx, ask.room_id, after=ask.after, limit=ask.limit + 1)
    return Anchors(anchors=[AnchorView.of(each) for each in found[: ask.limit]], has_more=len(found) > ask.limit)


@operation("anchors.show", reach=Reach.READ, examples=({"room_id": "ROOM", "anchor": "a:parser"},))
def show(tx: Tx, me: Caller, ask: ShowAnchor) -> AnchorSnapshot:
    """Show an anchor with the newest tasks and cards under it, pinned cards first."""
    anchor = queries.anchor(tx, ask.room_id, ask.anchor)
    return AnchorSnapshot(
        anchor=AnchorView.of(anchor),
        tasks=[TaskView.of(each) for each in queries.tasks(tx, ask.room_id, anchor=ask.anchor, limit=ask.limit)],
        cards=[CardView.of(each) for each in queries.cards(tx, ask.room_id, tag=ask.anchor, limit=ask.limit)],
    )
