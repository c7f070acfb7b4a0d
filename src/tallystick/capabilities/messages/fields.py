"""Fields that several inputs of this capability share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tallystick.kernel.operation import Ask
from tallystick.ledger.contract import Text

TEXT_LIMIT = 64 * 1024
RECIPIENTS_LIMIT = 100

EventId = Annotated[Text, Field(max_length=200)]
GroupId = Annotated[Text, Field(max_length=200)]
Token = Annotated[str, Field(min_length=1, max_length=200)]
ClientId = Annotated[
    Text | None,
    Field(
        min_length=1,
        max_length=200,
        description="Your own key: within 24 h the same message sent again counts once.",
    ),
]
Recipients = Annotated[
    list[Token] | None,
    Field(max_length=RECIPIENTS_LIMIT, description="agent ids, @all, @peers, @foreman, @user; everyone if left out."),
]
Priority = Annotated[
    Literal["normal", "attention"], Field(description="`attention`: every recipient has to acknowledge it.")
]
ActorId = Annotated[Text | None, Field(max_length=200, description="Yourself when left out.")]


class ConversationRef(Ask):
    """The conversation among agents that a message belongs to, as actions have them."""

    context_id: Annotated[EventId | None, Field(min_length=1, description="The conversation.")] = None
    owner_id: Annotated[ActorId, Field(description="Who owns it.")] = None
    kind: Annotated[Literal["user", "reply"] | None, Field(description="Asks, or answers.")] = None
    reply_to_action_id: Annotated[EventId | None, Field(description="The action it answers.")] = None
    parent_message_id: Annotated[EventId | None, Field(description="The message it follows.")] = None
    task_id: Annotated[EventId | None, Field(min_length=1, description="The task it is about.")] = None
    sender_name: Annotated[
        Text | None, Field(min_length=1, max_length=128, description="Your present name or id, for display.")
    ] = None
