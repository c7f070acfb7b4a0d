"""Fields that several inputs of this capability share."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from tallystick.kernel.operation import Ask
from tallystick.ledger.contract import Text

TEXT_LIMIT = 64 * 1024
RECIPIENTS_LIMIT = 100

EventId = Annotated[Text, Meta(max_length=200)]
GroupId = Annotated[Text, Meta(max_length=200)]
Token = Annotated[str, Meta(min_length=1, max_length=200)]
ClientId = Annotated[
    Annotated[Text, Meta(min_length=1, max_length=200)] | None,
    Meta(description="Your own key: within 24 h the same message sent again counts once."),
]
Recipients = Annotated[
    Annotated[list[Token], Meta(max_length=RECIPIENTS_LIMIT)] | None,
    Meta(description="agent ids, @all, @peers, @foreman, @user; everyone if left out."),
]
Priority = Annotated[
    Literal["normal", "attention"], Meta(description="`attention`: every recipient has to acknowledge it.")
]
ActorId = Annotated[Annotated[Text, Meta(max_length=200)] | None, Meta(description="Yourself when left out.")]


class ConversationRef(Ask):
    """The conversation among agents that a message belongs to, as actions have them."""

    context_id: Annotated[Annotated[EventId, Meta(min_length=1)] | None, Meta(description="The conversation.")] = None
    owner_id: Annotated[ActorId, Meta(description="Who owns it.")] = None
    kind: Annotated[Literal["user", "reply"] | None, Meta(description="Asks, or answers.")] = None
    reply_to_action_id: Annotated[EventId | None, Meta(description="The action it answers.")] = None
    parent_message_id: Annotated[EventId | None, Meta(description="The message it follows.")] = None
    task_id: Annotated[Annotated[EventId, Meta(min_length=1)] | None, Meta(description="The task it is about.")] = None
    sender_name: Annotated[
        Annotated[Text, Meta(min_length=1, max_length=128)] | None,
        Meta(description="Your present name or id, for display."),
    ] = None
