"""One call as a dialogue with whoever does the I/O: send this, pause so long, until there is an answer or a refusal.

Every call may be sent again: one that writes carries an idempotency key, so it is done once and answered as often as it
is asked.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from tallystick.client import refusals
from tallystick.client.place import HubNotRunning
from tallystick.kernel.errors import Fault, Unavailable

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0


class NoAnswer(Fault):
    """What came back is no answer of a hub."""

    hint = "Check that the address is a hub's and that nothing in between changes what it says."


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    path: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    status: int
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """There was nobody, or nobody any more, at the other end."""

    connected: bool = True
    why: str = ""


Step: TypeAlias = "Send | Pause"
Outcome: TypeAlias = "Reply | Lost | None"
Dialogue: TypeAlias = Generator[Step, Outcome, dict[str, object]]


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


def call(name: str, given: Mapping[str, object], patience: Patience, *, met: bool, key: str) -> Dialogue:
    """`met` says whether this client has reached its hub before: only then is an absent hub waited for."""
    send = Send(
        path=f"/v1/{name}",
        headers={"content-type": "application/json", "idempotency-key": key},
        body=json.dumps(given).encode(),
    )
    while True:
        outcome = yield send
        if isinstance(outcome, Lost):
            failed: Unavailable = HubNotRunning(outcome.why)
            met = met or outcome.connected
        else:
            try:
                return answer(cast("Reply", outcome))
            except Unavailable as unavailable:
                failed, met = unavailable, True
        pause = patience.pause() if met else None
        if pause is None:
            raise failed
        yield pause


def answer(reply: Reply) -> dict[str, object]:
    """The result in a reply, or the refusal raised."""
    try:
        found = cast("dict[str, object]", json.loads(reply.body))
        if reply.status == 200:
            return found
        payload = cast("Mapping[str, object]", found["error"])
    except (ValueError, KeyError, TypeError) as wrong:
        raise NoAnswer(f"A reply with status {reply.status} is no answer of a hub.") from wrong
    raise refusals.of(reply.status, payload)
