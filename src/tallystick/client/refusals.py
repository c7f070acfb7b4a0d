"""From an error on the wire back to an error: the class of its code where that is loaded, else its family."""

from __future__ import annotations

from typing import cast

from tallystick.kernel.errors import (
    Conflict,
    Fault,
    InvalidInput,
    NotAllowed,
    NotFound,
    Refused,
    TallyError,
    Unavailable,
    every_error,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_FAMILIES: Mapping[int, type[TallyError]] = {
    400: InvalidInput,
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    405: Refused,
    408: Unavailable,
    409: Conflict,
    413: InvalidInput,
    415: InvalidInput,
    421: NotAllowed,
    429: Unavailable,
    431: InvalidInput,
    503: Unavailable,
}


def of(status: int, payload: Mapping[str, object]) -> TallyError:
    """The refusal that a payload stands for. Whoever catches a class has imported it; others read its code."""
    code = str(payload.get("code") or "")
    kind = next((each for each in every_error() if each.code == code), None)
    details = cast("Mapping[str, object]", payload.get("details") or {})
    error = (kind or _FAMILIES.get(status, Fault))(
        str(payload.get("message") or ""), hint=str(payload.get("hint") or ""), details=details
    )
    if kind is None and code:
        vars(error)["code"] = code
    return error
