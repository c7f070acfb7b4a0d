"""`x.tally.action.*` events, and the conversations that messages name, folded into queues and owners."""

from __future__ import annotations

from typing import cast

from msgspec import structs

from tallystick.capabilities.actions import queries, rules
from tallystick.capabilities.actions.model import Action, ActionStatus, ActionType, ControlCommand, Kind, MessageKind
from tallystick.capabilities.actions.queries import SQL
from tallystick.kernel.envelope import Event
from tallystick.ledger.tx import Projection, Tx


def submitted(tx: Tx, event: Event) -> None:
    data = event.data
    command = cast("str | None", data.get("command"))
    kind = cast("str | None", data.get("kind"))
    context = cast("dict[str, str]", data["context"])
    action = Action(
        action_id=cast("str", data["action_id"]),
        seq=event.seq,
        group_id=cast("str", data["group_id"]),
        action_index=cast("int", data["action_index"]),
        src=event.by,
        dst=cast("str", data["dst"]),
        type=ActionType(data["type"]),
        kind=MessageKind(kind) if kind else None,
        command=ControlCommand(command) if command else None,
        context_id=context["context_id"],
        lane=rules.lane(ControlCommand(command) if command else None),
        status=None,
        released=False,
        finished=False,
        replied=False,
    )
    tx.run(
        SQL["submit"],
        room_id=event.room_id,
        action_id=action.action_id,
        seq=action.seq,
        group_id=action.group_id,
        action_index=action.action_index,
        src=action.src,
        dst=action.dst,
        type=action.type.value,
        kind=kind,
        command=command,
        context_id=action.context_id,
        lane=action.lane.value,
    )
    queries.remember(tx, event.room_id, action)
    _converse(tx, event, context["context_id"], context["owner_id"])


def resulted(tx: Tx, event: Event) -> None:
    action_id = cast("str", event.data["action_id"])
    action = queries.action(tx, event.room_id, action_id)
    status = ActionStatus(event.data["status"])
    if action is None:
        return
    # What was let through once stays through: a message that was accepted may still be blocked later.
    released = action.released or rules.releases(action.type, status)
    tx.run(
        SQL["settle"],
        room_id=event.room_id,
        action_id=action_id,
        status=status.value,
        released=int(released),
        finished=int(status.terminal),
        result_seq=event.seq,
    )
    settled = structs.replace(action, status=status, released=released, finished=status.terminal)
    queries.remember(tx, event.room_id, settled)
    opened = rules.new_context(cast("dict[str, object] | None", event.data.get("data")))
    former = queries.conversation(tx, event.room_id, action.context_id) if opened else None
    if opened and former:
        _converse(tx, event, opened, former.owner_id)


def said(tx: Tx, event: Event) -> None:
    """A message that belongs to a conversation opens it, and as a reply settles what it answers."""
    found = event.data.get("conversation")
    if not isinstance(found, dict):
        return
    about = cast("dict[str, str]", found)
    if about.get("context_id"):
        _converse(tx, event, about["context_id"], about.get("owner_id") or event.by)
    if about.get("kind") == MessageKind.REPLY and about.get("reply_to_action_id"):
        asked = queries.action(tx, event.room_id, about["reply_to_action_id"])
        if asked:
            tx.run(SQL["reply"], room_id=event.room_id, action_id=asked.action_id, reply_seq=event.seq)
            tx.run(SQL["exchange"], room_id=event.room_id, context_id=asked.context_id)
            queries.remember(tx, event.room_id, structs.replace(asked, replied=True))
            queries.forget_conversation(tx, event.room_id, asked.context_id)


def _converse(tx: Tx, event: Event, context_id: str, owner_id: str) -> None:
    if queries.known_conversation(tx, event.room_id, context_id) is None:
        tx.run(SQL["converse"], room_id=event.room_id, context_id=context_id, owner_id=owner_id, opened_seq=event.seq)


PROJECTIONS: dict[str, Projection] = {
    Kind.SUBMIT: submitted,
    Kind.RESULT: resulted,
    "chat.message": said,
}
TABLES = ("actions", "conversations")
