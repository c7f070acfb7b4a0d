"""Actions as others see them: who may speak in a conversation, and the errand that a wait may bring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from tallystick.capabilities.actions import queries, rules
from tallystick.capabilities.actions.contract import ActionView, ContextFields
from tallystick.capabilities.actions.model import MessageKind
from tallystick.capabilities.actions.submitting import earlier_action
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.rooms.model import Conversations, Errands
from tallystick.kernel.caller import Caller
from tallystick.kernel.errors import InvalidField
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx


class OpenConversations:
    def admit(self, tx: Tx, room_id: str, by: str, about: Mapping[str, object]) -> None:
        """The rules for a message are those for an action: replies answer once, everything else is the owner's."""
        said = cast("Mapping[str, str]", about)
        if parent := said.get("parent_message_id"):
            reading.event_by_id(tx, room_id, parent)
        answered = said.get("reply_to_action_id")
        if said.get("kind") == MessageKind.REPLY:
            if answered is None:
                raise InvalidField("A reply names what it answers.", field="conversation.reply_to_action_id")
            asked = earlier_action(tx, room_id, answered)
            rules.check_reply(asked, by, context_id=said.get("context_id"), dst=None)
        elif context_id := said.get("context_id"):
            known = queries.conversation(tx, room_id, context_id)
            fields = ContextFields(context_id=context_id, owner_id=said.get("owner_id"))
            rules.conversation(known, fields, by, context_id)


class NextErrands:
    def next(self, tx: Tx, room_id: str, me: Caller) -> Mapping[str, object] | None:
        head = rules.deliverable(queries.heads(tx, room_id, agent_rules.principal(me.agent_id)))
        return ActionView.of(queries.written(tx, room_id, head)).to_data() if head else None


OFFERS: dict[type, object] = {Conversations: OpenConversations(), Errands: NextErrands()}
