"""The v1 envelope: one JSON object per line, at most 1 MiB. Reading tells exactly what is wrong with a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

import msgspec

from tallystick.bus.errors import InvalidEnvelope, UnsupportedVersion
from tallystick.kernel.clock import system_clock, to_wire
from tallystick.kernel.errors import TallyError, TooLarge, UnknownField
from tallystick.kernel.ids import new_id
from tallystick.kernel.json_values import is_object
from tallystick.kernel.suggestions import did_you_mean

VERSION = 1
LINE_LIMIT = 1024 * 1024
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
    payload: dict[str, object] = {}
    status: str | None = None
    error: dict[str, object] | None = None


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
        return InvalidEnvelope(f"The line is not JSON: {broken}.")
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
