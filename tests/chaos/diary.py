"""What one process asked of the hub and what it was told: JSON lines, each written by a single append.

The question is on disk before the call and the answer after it, so a killed process loses at most its last answer.
Times are the machine's monotonic clock, which all its processes share, whatever clock their hubs were given.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

import msgspec

from tallystick.kernel.caller import Caller
from tallystick.kernel.errors import Fault, Refused, TallyError
from tallystick.storage.errors import OutcomeUnknown


class Outcome(StrEnum):
    OK = "ok"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"
    """Nothing was written; asking again is right."""
    UNKNOWN = "unknown"
    """Unavailable during the commit itself."""
    FAULT = "fault"
    CUT_OFF = "cut_off"
    """The process ended before it could write down an answer."""

    @classmethod
    def of(cls, error: TallyError) -> Outcome:
        if isinstance(error, OutcomeUnknown):
            return cls.UNKNOWN
        if isinstance(error, Refused):
            return cls.REFUSED
        return cls.FAULT if isinstance(error, Fault) else cls.UNAVAILABLE


class Asked(msgspec.Struct, tag="asked"):
    at: int
    by: str
    operation: str
    given: dict[str, object]
    key: str | None = None
    session: str = ""


class Answered(msgspec.Struct, tag="answered"):
    at: int
    outcome: Outcome
    answer: dict[str, object]


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Asked | Answered).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One call as its process remembers it. A refusal's payload stands in `answer` too."""

    by: str
    operation: str
    given: Mapping[str, object]
    asked_at: int
    key: str | None = None
    """Under which it may be repeated without being done twice."""
    session: str = ""
    """The process that asked, where one name has several."""
    answered_at: int | None = None
    outcome: Outcome = Outcome.CUT_OFF
    answer: Mapping[str, object]

    def __str__(self) -> str:
        return f"{self.by} {self.operation} {dict(self.given)} -> {self.outcome} {dict(self.answer)}"

    @property
    def ok(self) -> bool:
        return self.outcome is Outcome.OK

    @property
    def code(self) -> object:
        """The refusal's code; None when there was an answer or nothing at all."""
        return None if self.ok else self.answer.get("code")


class Told(Protocol):
    def to_data(self) -> dict[str, object]: ...


class Callee(Protocol):
    """Who is asked: a hub of this process, or whatever speaks for another."""

    def call(self, name: str, given: Mapping[str, object], caller: Caller, /, *, key: str | None) -> Told: ...


class Diary:
    def __init__(self, path: Path, hub: Callee, me: Caller) -> None:
        self._hub, self._me = hub, me
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.asked = 0

    def call(self, operation: str, key: str | None = None, **given: object) -> Attempt:
        """Call the hub and write down both sides; only an error that is not one of ours gets out."""
        self.asked += 1
        me = self._me
        session = str(me.process.pid) if me.process else ""
        asked = Asked(
            at=time.monotonic_ns(), by=me.agent_id, operation=operation, given=given, key=key, session=session
        )
        self._write(asked)
        try:
            answer = self._hub.call(operation, given, self._me, key=key).to_data()
            outcome = Outcome.OK
        except TallyError as error:
            answer, outcome = error.payload(), Outcome.of(error)
        answered = Answered(at=time.monotonic_ns(), outcome=outcome, answer=answer)
        self._write(answered)
        return _attempt(asked, answered)

    def _write(self, record: Asked | Answered) -> None:
        os.write(self._fd, _encode(record) + b"\n")


def _attempt(asked: Asked, answered: Answered | None) -> Attempt:
    return Attempt(
        by=asked.by,
        operation=asked.operation,
        given=asked.given,
        key=asked.key,
        session=asked.session,
        asked_at=asked.at,
        answered_at=answered.at if answered else None,
        outcome=answered.outcome if answered else Outcome.CUT_OFF,
        answer=answered.answer if answered else {},
    )


def read(path: Path) -> list[Attempt]:
    """The attempts of one process in their order; a last line that was cut in half is not one."""
    records = [_decode(line) for line in path.read_bytes().split(b"\n")[:-1]]
    attempts: list[Attempt] = []
    for at, record in enumerate(records):
        if isinstance(record, Asked):
            after = records[at + 1] if at + 1 < len(records) else None
            attempts.append(_attempt(record, after if isinstance(after, Answered) else None))
    return attempts
