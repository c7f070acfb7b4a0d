"""What the bus's own commands carry. Those that are operations under another name have the operation's input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, cast

import msgspec
from msgspec import Meta

from tallystick.kernel import inputs
from tallystick.kernel.errors import InvalidField
from tallystick.kernel.operation import Ask
from tallystick.ledger.contract import Since, SinceSeq

Id = Annotated[str, Meta(min_length=1, max_length=200)]
Types = Annotated[list[Id], Meta(max_length=50, description="Only these types.")]


class CreateSession(Ask):
    name: Annotated[str, Meta(min_length=1, max_length=200)] = "session"


class ListSessions(Ask):
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100


class CloseSession(Ask):
    reason: Annotated[str, Meta(max_length=2000)] | None = None


class ListSessionAgents(Ask):
    pass


class AddAgent(Ask):
    id: Id
    name: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    since_seq: SinceSeq = None
    """Results of this agent's own actions after this place are sent too."""


class UpdateSessionAgent(Ask):
    id: Id
    name: Annotated[str, Meta(min_length=1, max_length=128)]


class RemoveAgent(Ask):
    id: Id


class Conversing(Ask):
    context_id: Id | None = None
    owner_id: Id | None = None
    parent_message_id: Id | None = None

    def context(self) -> dict[str, str] | None:
        found = {
            name: given
            for name in Conversing.__struct_fields__
            if (given := cast("str | None", getattr(self, name))) is not None
        }
        return found or None


class CreateMessage(Conversing):
    text: Annotated[str, Meta(min_length=1)]
    kind: Literal["user", "reply"] = "user"
    task_id: Id | None = None
    reply_to_action_id: Id | None = None
    sender_name: Annotated[str, Meta(min_length=1, max_length=128)] | None = None

    def conversation(self) -> dict[str, object] | None:
        about = self.present(without={"text"})
        return about if about.keys() - {"kind"} or self.kind == "reply" else None


class UpdateSessionTask(Conversing):
    task_id: Id
    status: Literal["running", "blocked", "ready", "done"]


class FinishTask(Conversing):
    task_id: Id
    summary: Annotated[str, Meta(max_length=16_384)] | None = None


class ReadHistory(Ask):
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100
    since_seq: SinceSeq = None
    types: Types = msgspec.field(default_factory=list)


class StreamEvents(Since):
    follow: bool = True
    types: Types = msgspec.field(default_factory=list)


def spoken(given: Mapping[str, object]) -> CreateMessage:
    """A message's payload; text of blanks only says nothing."""
    message = inputs.read(CreateMessage, given)
    if not message.text.strip():
        raise InvalidField("text must be non-empty.", field="text")
    return message
