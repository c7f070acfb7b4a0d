"""The v1 envelope: one JSON object per line, at most 1 MiB; and what only the bus refuses.

Reading tells exactly what is wrong with a line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias, cast

import msgspec
from msgspec import Meta

from tallystick.hub.operations import ENVELOPE_LIMIT
from tallystick.kernel import inputs
from tallystick.kernel.clock import from_wire, system_clock, to_wire
from tallystick.kernel.errors import (
    Conflict,
    InvalidField,
    InvalidInput,
    NotAllowed,
    NotFound,
    TallyError,
    TooLarge,
    Unavailable,
    UnknownField,
    did_you_mean,
)
from tallystick.kernel.ids import new_id
from tallystick.kernel.json_values import is_object, why_no_json
from tallystick.kernel.operation import Ask
from tallystick.ledger.contract import Since, SinceSeq

VERSION = 1
LINE_LIMIT = ENVELOPE_LIMIT
HUB = "system"
"""The `src` of what the hub itself says."""

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


Line: TypeAlias = bytes | bytearray
Payload: TypeAlias = Mapping[str, object] | msgspec.Raw
"""What an envelope carries, or the JSON of it."""


class BusRequest(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """An envelope that came in."""

    v: int
    type: _Name
    id: _Name
    ts: Annotated[str, msgspec.Meta(max_length=60)]
    src: _Name
    dst: _Name | None = None
    session: _Name | None = None
    seq: Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)] | None = None
    idempotency_key: _Name | None = None
    corr: _Name | None = None
    payload: dict[str, object] | None = None
    status: str | None = None
    error: dict[str, object] | None = None

    @property
    def given(self) -> dict[str, object]:
        return self.payload or {}


class _OutgoingEnvelope(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An envelope that goes out; what is absent is left out."""

    v: int
    type: str
    id: str
    ts: str
    src: str
    dst: str | None = None
    session: str | None = None
    corr: str | None = None
    status: str | None = None
    payload: Payload | None = None
    error: Mapping[str, object] | None = None


FIELDS = tuple(BusRequest.__struct_fields__)

_request = msgspec.json.Decoder(BusRequest).decode
_anything = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder(enc_hook=str).encode


def read(line: Line) -> BusRequest:
    if len(line) > LINE_LIMIT:
        raise too_large()
    try:
        request = _request(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
        raise _explained(line, wrong) from None
    if request.v != VERSION:
        raise UnsupportedVersion(f"v is {request.v}.", v=request.v)
    try:
        from_wire(request.ts)
    except InvalidField:
        raise InvalidEnvelope(f"ts is no time: '{request.ts}'.", ts=request.ts) from None
    return request


def too_large() -> TooLarge:
    return TooLarge(f"One envelope has at most {LINE_LIMIT} bytes.", limit=LINE_LIMIT)


def corr_of(line: Line) -> str | None:
    """The id of a request that cannot be read as a whole, so that its refusal finds its way."""
    try:
        found = _anything(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    given = found.get("id") if is_object(found) else None
    return given if isinstance(given, str) and 0 < len(given) <= 200 else None


def _explained(line: Line, wrong: Exception) -> TallyError:
    try:
        found = _anything(line)
    except RecursionError:
        return InvalidEnvelope("The line is nested too deeply.")
    except (msgspec.DecodeError, UnicodeDecodeError) as broken:
        return InvalidEnvelope(f"The line is not JSON: {why_no_json(line, broken)}.")
    if not is_object(found):
        return InvalidEnvelope("The line is JSON, but no object.")
    if "v" in found and found["v"] != VERSION:
        return UnsupportedVersion(f"v is {str(found['v'])[:40]}.", v=found["v"])
    if unknown := sorted(found.keys() - set(FIELDS)):
        meant = did_you_mean(unknown[0], FIELDS, cutoff=0.5)
        text = f"Unknown field '{unknown[0][:80]}'.{meant}"
        return UnknownField(text, field=unknown[0][:200], valid=sorted(FIELDS))
    return InvalidEnvelope(f"{str(wrong)[:300]}.")


def write(
    type: str,
    *,
    dst: str | None = None,
    session: str | None = None,
    corr: str | None = None,
    status: str | None = None,
    payload: Payload | None = None,
    error: Mapping[str, object] | None = None,
) -> bytes:
    """One line that the hub says itself."""
    sent = _OutgoingEnvelope(
        v=VERSION,
        type=type,
        id=new_id(),
        ts=to_wire(system_clock()),
        src=HUB,
        dst=dst,
        session=session,
        corr=corr,
        status=status,
        payload=payload,
        error=error,
    )
    return _encode(sent) + b"\n"


def refusal(error: TallyError, *, type: str = "error", corr: str | None = None, dst: str | None = None) -> bytes:
    return write(type, corr=corr, dst=dst, status="error", error=error.payload())


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
    kind: Literal["user", "reply", "control", "system"] = "user"
    task_id: Id | None = None
    reply_to_action_id: Id | None = None
    sender_name: Annotated[str, Meta(min_length=1, max_length=128)] | None = None

    def conversation(self) -> dict[str, object] | None:
        about = self.present(without={"text"})
        return about if about.keys() - {"kind"} or self.kind != "user" else None


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


class InvalidEnvelope(InvalidInput):
    """That line is not an envelope."""

    hint = 'Send one JSON object per line with at least v, type, id, ts and src: {"v":1,"type":"session.list",…}.'


class UnsupportedVersion(InvalidInput):
    """This hub speaks version 1 of the bus protocol only."""

    hint = "Send envelopes with v: 1."


class SrcMismatch(NotAllowed):
    """The envelope's src is not who this connection belongs to."""

    hint = "Send everything on one connection under one src, over the network under the name of your token."


class SeqOutOfOrder(Conflict):
    """seq must rise with every envelope of a connection."""

    hint = "Count up by one per envelope, or leave seq out; a new connection starts anew."


class SessionRequired(InvalidInput):
    """This command is about a session, and the envelope names none."""

    hint = "Put the session's id into the envelope's `session`; session.list shows them."


class NoStream(Conflict):
    """There is no open stream to send events to."""

    hint = "Open GET /v1/bus/stream and name its connection in the header Tally-Bus; on the socket there is always one."


class ConnectionReplaced(Conflict):
    """Another connection speaks for this agent now, and has its actions."""

    hint = "Stop here, or send agent.add again to have the agent's actions delivered to this connection."


class UnknownConnection(NotFound):
    """There is no bus connection of yours with that id."""

    hint = "Open GET /v1/bus/stream again and use the id in its first event."


class TooManyAtOnce(Unavailable):
    """This connection has too many streams or waits open."""

    hint = "Wait for some to end, or open another connection."
