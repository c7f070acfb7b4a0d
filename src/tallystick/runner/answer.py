"""What an executor must answer at the end of a slice, as a schema for those that take one, and how it is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

import msgspec

from tallystick.capabilities.jobs.contract import MESSAGE_LIMIT, SUMMARY_LIMIT
from tallystick.proof.refs import REF_LIMIT, REFS_LIMIT

Status: TypeAlias = Literal["DONE", "FAILED", "CONTINUE"]

KINDS = ("progress", "checkpoint", "question", "error")
"""What an executor may say about its job; the other kinds belong to the hub and to the runner."""
MOST_NOTES = 20
_UNKEPT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
Whole = Annotated[int, msgspec.Meta(ge=0, le=100)]

SCHEMA: Mapping[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["status", "summary", "refs", "events"],
    "properties": {
        "status": {"type": "string", "enum": ["DONE", "FAILED", "CONTINUE"]},
        "summary": {"type": "string"},
        "refs": {"type": "array", "items": {"type": "string"}},
        "events": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["kind", "message", "percent", "refs"],
                "properties": {
                    "kind": {"type": "string", "enum": list(KINDS)},
                    "message": {"type": "string"},
                    "percent": {"type": "integer", "minimum": 0, "maximum": 100},
                    "refs": {"type": "array", "items": {"type": "string"}},
                },
            },
        },
    },
}
"""Every property is required, because some executors accept no other schema."""


class BadAnswer(Exception):
    """The executor answered something else than it was asked for."""


class ExecutorNote(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing an executor wants said about its job."""

    message: str
    kind: str = "progress"
    percent: Whole | None = None
    refs: tuple[str, ...] = ()


class ExecutorAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    status: Status
    summary: str
    refs: tuple[str, ...] = ()
    events: tuple[ExecutorNote, ...] = ()

    @property
    def every_ref(self) -> tuple[str, ...]:
        """The refs of the answer, then those that its events name; each once."""
        named = [*self.refs, *(ref for note in self.events for ref in note.refs)]
        return tuple(dict.fromkeys(named))[:REFS_LIMIT]


def read(data: Mapping[str, object] | None, text: str = "") -> ExecutorAnswer:
    if data is None:
        said = " ".join(text.split())[:120]
        raise BadAnswer(f"no JSON object in its answer: {said}" if said else "an empty answer")
    try:
        found = msgspec.convert(data, ExecutorAnswer)
    except msgspec.ValidationError as wrong:
        raise BadAnswer(f"an answer of another shape: {wrong}") from None
    return ExecutorAnswer(
        status=found.status,
        summary=clipped(found.summary.strip(), SUMMARY_LIMIT),
        refs=_refs(found.refs),
        events=tuple(_note(note) for note in found.events[:MOST_NOTES]),
    )


def note(data: Mapping[str, object]) -> ExecutorNote | None:
    """A note that a plain program wrote in the middle of its work; None when it is something else."""
    try:
        return _note(msgspec.convert(data, ExecutorNote))
    except msgspec.ValidationError:
        return None


def _note(found: ExecutorNote) -> ExecutorNote:
    return ExecutorNote(
        kind=found.kind if found.kind in KINDS else "progress",
        message=clipped(found.message.strip() or "(nothing said)", MESSAGE_LIMIT),
        percent=found.percent,
        refs=_refs(found.refs),
    )


def _refs(given: tuple[str, ...]) -> tuple[str, ...]:
    plain = (clipped(ref.strip(), REF_LIMIT) for ref in given)
    return tuple(dict.fromkeys(ref for ref in plain if ref))[:REFS_LIMIT]


def clipped(text: str, limit: int) -> str:
    """The text as a store can keep it: no control characters but breaks and tabs, no half characters, not too long."""
    plain = _UNKEPT.sub("\ufffd", text)
    return plain if len(plain) <= limit else f"{plain[: limit - 1]}…"
