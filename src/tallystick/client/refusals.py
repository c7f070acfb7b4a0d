"""From an error on the wire back to the error that was raised in the hub, by its code."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
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

DECLARATIONS = (
    "tallystick.hub.registry",
    "tallystick.hub.tokens_reach",
    "tallystick.surfaces.http.errors",
    "tallystick.bus.errors",
)
"""Who imports these knows every error that a hub can answer with."""

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
    """The refusal that a payload stands for; an unknown code keeps its name and takes its family from the status."""
    code = str(payload.get("code") or "")
    kind = _known(code)
    details = cast("Mapping[str, object]", payload.get("details") or {})
    error = (kind or _FAMILIES.get(status, Fault))(
        str(payload.get("message") or ""), hint=str(payload.get("hint") or ""), details=details
    )
    if kind is None and code:
        # A hub newer than this client: who asks for the code should see the hub's own.
        vars(error)["code"] = code
    return error


def _known(code: str) -> type[TallyError] | None:
    found = _by_code().get(code)
    if found is None:
        for module in DECLARATIONS:
            importlib.import_module(module)
        found = _by_code().get(code)
    return found


def _by_code() -> dict[str, type[TallyError]]:
    return {kind.code: kind for kind in every_error()}
