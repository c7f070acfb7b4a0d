"""What an executor must answer at the end of a slice, how that is read, and what comes after: end, go on, or give up.

Pure: counts and an outcome in, a decision out. The answer is a schema for those that take one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal, TypeAlias

import msgspec

from tallystick.capabilities.jobs.contract import MESSAGE_LIMIT, SUMMARY_LIMIT, ResumePointAsk
from tallystick.capabilities.jobs.runners_contract import ObservedAsk
from tallystick.capabilities.jobs.views import JobEvent
from tallystick.kernel.json_values import is_list
from tallystick.proof.refs import REF_LIMIT, REFS_LIMIT

AnswerStatus: TypeAlias = Literal["DONE", "FAILED", "CONTINUE"]

NOTE_KINDS = ("progress", "checkpoint", "question", "error")
"""What an executor may say about its job; the other kinds belong to the hub and to the runner."""
MOST_NOTES = 20
_UNKEPT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
Whole = Annotated[int, msgspec.Meta(ge=0, le=100)]

ANSWER_SCHEMA: Mapping[str, object] = {
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
                    "kind": {"type": "string", "enum": list(NOTE_KINDS)},
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
    status: AnswerStatus
    summary: str
    refs: tuple[str, ...] = ()
    events: tuple[ExecutorNote, ...] = ()

    @property
    def every_ref(self) -> tuple[str, ...]:
        """The refs of the answer, then those that its events name; each once."""
        named = [*self.refs, *(ref for note in self.events for ref in note.refs)]
        return tuple(dict.fromkeys(named))[:REFS_LIMIT]


def read_answer(data: Mapping[str, object] | None, text: str = "") -> ExecutorAnswer:
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


def read_note(data: Mapping[str, object]) -> ExecutorNote | None:
    """A note that a plain program wrote in the middle of its work; None when it is something else."""
    try:
        return _note(msgspec.convert(data, ExecutorNote))
    except msgspec.ValidationError:
        return None


def _note(found: ExecutorNote) -> ExecutorNote:
    return ExecutorNote(
        kind=found.kind if found.kind in NOTE_KINDS else "progress",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedJob:
    """A claimed job, as plain programs get it on stdin; `claim_revision` fences everything that is written about it."""

    room_id: str
    job_id: str
    claim_revision: int
    title: str
    kind: str
    priority: str
    prompt: str
    executor: str
    """The one that the hub chose for it."""
    profile: str
    task_id: str | None = None
    anchor_id: str | None = None
    reclaimed: bool = False
    """Whether another claim on it ran out before."""
    began_ms_ago: int = 0
    """How long ago work on it began, when it was claimed."""
    meta: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def checks(self) -> tuple[str, ...]:
        """Commands that have to be seen to end with 0."""
        found = self.meta.get("checks")
        return tuple(str(each) for each in found) if is_list(found) else ()

    @property
    def model(self) -> str | None:
        found = self.meta.get("executor_model")
        return found if isinstance(found, str) and found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerWord:
    """One message of the manager, whole."""

    seq: int
    ref: str
    message: str
    refs: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        refs = f" [{', '.join(self.refs)}]" if self.refs else ""
        return f"{self.ref}: {self.message}{refs}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the hub tells about a job at the start of a slice."""

    task: str = ""
    anchor: str = ""
    thread: Sequence[JobEvent] = ()
    words: Sequence[ManagerWord] = ()
    """What the manager said, oldest first."""
    read_seq: int = 0
    """Up to here the agent of an earlier slice has acted on it."""
    artifacts: Sequence[str] = ()
    """What earlier slices left, by ref."""

    @property
    def unread(self) -> Sequence[ManagerWord]:
        return [word for word in self.words if word.seq > self.read_seq]

    @property
    def heard(self) -> Sequence[ManagerWord]:
        return [word for word in self.words if word.seq <= self.read_seq]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """What earlier slices left for the next one."""

    summary: str = ""
    refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    number: int
    runner_id: str
    seconds: int
    """After so long the executor should have answered; what is over its grace is killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceReport:
    """What a report says of a slice, beside its note."""

    number: int | None = None
    resume: ResumePointAsk | None = None
    delivered_seq: int | None = None
    read_seq: int | None = None
    observed: Sequence[ObservedAsk] = ()
    """Commands that were seen to end and that the hub has not been told of."""


PRIOR_CHARS = 4_000


"""How much of what earlier slices said the next one reads."""


PRIOR_REFS = 16


GATE = (
    "The last slice answered DONE without proof, so the job goes on. Bring at least one ref that holds the result"
    " (CARD-…, notes@…, FILE: path, an artifact) and a receipt of how it was checked (CMD: … (exit 0), LINK: …)."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLimits:
    max_failures: int = 3
    """Slices in a row that may fail, and DONEs in a row that may lack proof."""
    max_slices: int = 48
    max_claims: int = 10
    """How often a job may be claimed and lost before it counts as one that kills its runners."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceCount:
    slices: int = 0
    failures: int = 0
    gates: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EndJob:
    """Complete the job."""

    status: Literal["DONE", "FAILED"]
    summary: str
    refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinueJob:
    """Run another slice; `kind` and `message` are the event that says why."""

    kind: Literal["slice", "proof_gate", "error"]
    message: str
    prior: Prior
    count: SliceCount


Next: TypeAlias = "EndJob | ContinueJob"


def answered(answer: ExecutorAnswer, prior: Prior, count: SliceCount, bounds: JobLimits) -> Next:
    """After an answer that may stand as it is: DONE with proof, FAILED, or CONTINUE."""
    now = SliceCount(slices=count.slices + 1)
    if answer.status != "CONTINUE":
        return EndJob(status=answer.status, summary=answer.summary, refs=answer.every_ref)
    if now.slices >= bounds.max_slices:
        summary = f"gave up after {now.slices} slices that all wanted to continue; the last said: {answer.summary}"
        return EndJob(status="FAILED", summary=clipped(summary, SUMMARY_LIMIT), refs=answer.every_ref)
    message = clipped(f"runner: slice {now.slices} continues: {answer.summary}", MESSAGE_LIMIT)
    return ContinueJob(kind="slice", message=message, prior=_extended(prior, answer.summary, answer), count=now)


def unproven(
    answer: ExecutorAnswer, problems: Sequence[str], prior: Prior, count: SliceCount, bounds: JobLimits
) -> Next:
    """After a DONE that the proof gate does not let pass."""
    now = replace(count, slices=count.slices + 1, failures=0, gates=count.gates + 1)
    why = "; ".join(problems[:4]) or "no refs"
    if now.gates >= bounds.max_failures:
        summary = f"gave up: DONE {now.gates} times without proof ({why}); the last said: {answer.summary}"
        return EndJob(status="FAILED", summary=clipped(summary, SUMMARY_LIMIT), refs=answer.every_ref)
    message = clipped(f"runner: proof gate (slice {now.slices}): DONE without proof: {why}", MESSAGE_LIMIT)
    text = f"{answer.summary}\n\n{GATE}\nWhat was offered: {why}"
    return ContinueJob(kind="proof_gate", message=message, prior=_extended(prior, text, answer), count=now)


def failed(why: str, prior: Prior, count: SliceCount, bounds: JobLimits) -> Next:
    """After a slice that gave no answer."""
    now = replace(count, slices=count.slices + 1, failures=count.failures + 1)
    if now.failures >= bounds.max_failures or now.slices >= bounds.max_slices:
        summary = f"gave up after {now.failures} failed slices in a row: {why}"
        return EndJob(status="FAILED", summary=clipped(summary, SUMMARY_LIMIT), refs=prior.refs)
    told = f"runner: slice {now.slices} failed ({now.failures} of {bounds.max_failures}): {why}"
    note = Prior(summary=_text(prior, f"The last slice failed: {why}"), refs=prior.refs)
    return ContinueJob(kind="error", message=clipped(told, MESSAGE_LIMIT), prior=note, count=now)


def overtaken(answer: ExecutorAnswer, prior: Prior, count: SliceCount, bounds: JobLimits) -> Next:
    """After an answer that knew nothing of what the manager has said meanwhile."""
    now = SliceCount(slices=count.slices + 1)
    if now.slices >= bounds.max_slices:
        return EndJob(status="FAILED", summary=answer.summary, refs=answer.every_ref)
    message = clipped(
        f"runner: slice {now.slices} answered {answer.status} before it had the manager's message; the job goes on:"
        f" {answer.summary}",
        MESSAGE_LIMIT,
    )
    return ContinueJob(kind="slice", message=message, prior=_extended(prior, answer.summary, answer), count=now)


def worn_out(lost: int, bounds: JobLimits) -> EndJob | None:
    """Whether a job has been lost by so many runners that it ends before it begins."""
    if lost <= bounds.max_claims:
        return None
    return EndJob(status="FAILED", summary=f"gave up: {lost} runners were lost with it")


def _extended(prior: Prior, text: str, answer: ExecutorAnswer) -> Prior:
    refs = tuple(dict.fromkeys([*prior.refs, *answer.every_ref]))
    return Prior(summary=_text(prior, text), refs=refs[-PRIOR_REFS:])


def _text(prior: Prior, more: str) -> str:
    """The newest words are kept whole; what is cut is the oldest."""
    text = f"{prior.summary}\n\n{more}".strip()
    return text if len(text) <= PRIOR_CHARS else f"…{text[-PRIOR_CHARS + 1 :]}"
