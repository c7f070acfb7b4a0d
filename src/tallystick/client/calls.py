"""One call as a dialogue with whoever does the I/O: send this, pause so long, until there is an answer or a refusal.

Every call may be sent again: one that writes carries an idempotency key, so it is done once and answered as often as it
is asked. An error in a reply becomes the class of its code where that is loaded, else its family. Hints and notices
come as they were declared, so that whoever shows them can say them in its own words.
"""

from __future__ import annotations

import json
from typing import cast

from tallystick.client.connection import HubNotRunning
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
    from collections.abc import Generator, Mapping, Sequence
    from typing import Any, TypeAlias

    Step: TypeAlias = "Send | Pause"
    Outcome: TypeAlias = "HttpReply | Lost | None"
    Dialogue: TypeAlias = Generator[Step, Outcome, "Answered"]


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


def refusal_of(status: int, payload: Mapping[str, Any]) -> TallyError:
    """The refusal that a payload stands for. Whoever catches a class has imported it; others read its code."""
    code = str(payload.get("code") or "")
    kind = next((each for each in every_error() if each.code == code), None)
    details: Mapping[str, object] = payload.get("details") or {}
    error = (kind or _FAMILIES.get(status, Fault))(
        str(payload.get("message") or ""), hint=str(payload.get("hint") or ""), details=details
    )
    if kind is None and code:
        vars(error)["code"] = code
    return error


FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0


class NoAnswer(Fault):
    """What came back is no answer of a hub."""

    hint = "Check that the address is a hub's and that nothing in between changes what it says."


class Send:
    __slots__ = ("body", "headers", "path")

    def __init__(self, *, path: str, headers: Mapping[str, str], body: bytes | None = None) -> None:
        self.path, self.headers, self.body = path, headers, body


class Pause:
    __slots__ = ("seconds",)

    def __init__(self, *, seconds: float) -> None:
        self.seconds = seconds


class HttpReply:
    __slots__ = ("body", "notices", "status")

    def __init__(self, *, status: int, body: bytes, notices: Sequence[str] = ()) -> None:
        self.status, self.body, self.notices = status, body, notices


class Lost:
    """There was nobody, or nobody any more, at the other end."""

    __slots__ = ("connected", "why")

    def __init__(self, *, connected: bool = True, why: str = "") -> None:
        self.connected, self.why = connected, why


class Answered:
    """A result, and what its caller should know besides."""

    __slots__ = ("data", "notices")

    def __init__(self, data: dict[str, object], notices: Sequence[str] = ()) -> None:
        self.data, self.notices = data, notices


class Patience:
    """How long somebody who met a hub before waits for it to come back: ever longer pauses, up to a bound."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._next = FIRST_PAUSE

    def pause(self) -> Pause | None:
        """The next pause; None when it has been enough."""
        if self._left <= 0:
            return None
        seconds = min(self._next, self._left)
        self._left -= seconds
        self._next = min(self._next * 2, LONGEST_PAUSE)
        return Pause(seconds=seconds)


def dialogue(name: str, given: Mapping[str, object], patience: Patience, *, met: bool, key: str) -> Dialogue:
    """`met` says whether this client has reached its hub before: only then is an absent hub waited for."""
    send = Send(
        path=f"/v1/{name}",
        headers={"content-type": "application/json", "idempotency-key": key, "tally-hints": "declared"},
        body=json.dumps(given).encode(),
    )
    while True:
        outcome = yield send
        if isinstance(outcome, Lost):
            failed: Unavailable = HubNotRunning(outcome.why)
            met = met or outcome.connected
        else:
            try:
                reply = cast("HttpReply", outcome)
                return Answered(answer_of(reply), reply.notices)
            except Unavailable as unavailable:
                failed, met = unavailable, True
        pause = patience.pause() if met else None
        if pause is None:
            raise failed
        yield pause


def answer_of(reply: HttpReply) -> dict[str, object]:
    """The result in a reply, or the refusal raised."""
    try:
        found: dict[str, Any] = json.loads(reply.body)
        if reply.status == 200:
            return found
        payload: Mapping[str, object] = found["error"]
    except (ValueError, KeyError, TypeError) as wrong:
        raise NoAnswer(f"A reply with status {reply.status} is no answer of a hub.") from wrong
    raise refusal_of(reply.status, payload)
