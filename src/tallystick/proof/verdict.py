"""The one judge of proof: what is known of each ref of a finished job, and whether that proves anything.

Pure. What exists, what a file holds and which commands were seen to end are facts handed in; nothing is looked up here
and no command is run. A ref proves something when it was found or observed and belongs to the job; a claim does only
where the room's policy says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

import msgspec

from tallystick.proof.commands import inconclusive, looks, plain
from tallystick.proof.files import FileFact
from tallystick.proof.refs import Ref, RefKind, parse

PLACEHOLDERS = frozenset({"...", "…", "-", "?", "n/a", "na", "none", "tbd", "todo", "xxx", "."})
_ADDRESS = re.compile(r"https?://[^\s/]+", re.IGNORECASE)


class EvidenceState(StrEnum):
    """What is known of a ref."""

    CLAIMED = "claimed"
    """Somebody says so, and nobody saw it."""
    FOUND = "found"
    """It exists, with its hash where it has content."""
    OBSERVED = "observed"
    """The runner itself saw the command end with that status."""
    STALE = "stale"
    """Older than the last change to what it speaks for."""
    FAILED = "failed"
    MISSING = "missing"
    """It names nothing that is there."""
    UNREACHABLE = "unreachable"
    """It cannot be looked at from here."""


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """A command that a runner saw end."""

    command: str
    exit_code: int
    at: int = 0
    """When it ended, in ms."""


class Thing(msgspec.Struct, frozen=True, kw_only=True):
    """Something of ours that exists."""

    belongs: bool = True
    """Whether it came of this job: written since work on it began."""
    sha256: str | None = None


class Own(msgspec.Struct, frozen=True, kw_only=True):
    """The job that is to be proven."""

    job_id: str
    task_id: str | None = None
    began_at: int = 0
    """When work on it began, in ms; what is older is not its doing."""
    checks: tuple[str, ...] = ()
    """Commands that it has to be seen to pass."""


def _nobody(_: str) -> None:
    return None


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """All that a verdict depends on besides the refs themselves."""

    found: Callable[[Ref], Thing | None]
    files: Mapping[str, FileFact] = {}
    """By the path as the ref names it; one that is not here could not be looked at."""
    observed: Callable[[str], Observation | None] = _nobody
    """The newest observation of a command, in its plain form."""
    said_at: Callable[[str], int | None] = _nobody
    """When a ref was first reported, where that was before now."""
    claims_suffice: bool = False
    named: frozenset[str] = frozenset()
    """Refs that the manager named as evidence: those belong to the job."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    ref: str
    kind: RefKind
    state: EvidenceState
    proves: bool = False
    why: str = ""
    """Why it proves nothing, or what it rests on."""
    sha256: str | None = None
    exit_code: int | None = None


class ProofVerdict(msgspec.Struct, frozen=True, kw_only=True):
    evidence: tuple[Evidence, ...]

    @property
    def proven(self) -> bool:
        return any(each.proves for each in self.evidence)

    @property
    def receipt(self) -> bool:
        """Whether a command, link or file is among the proof."""
        return any(each.proves and each.kind.receipt for each in self.evidence)

    @property
    def claimed_only(self) -> bool:
        """Whether nothing but claims, which the room's policy accepts, prove it."""
        return self.proven and all(each.state is EvidenceState.CLAIMED for each in self.evidence if each.proves)

    @property
    def problems(self) -> list[str]:
        return [
            f"{each.ref or '(empty)'}: {each.state.value}{f', {each.why}' if each.why else ''}"
            for each in self.evidence
            if not each.proves
        ]


def judge(texts: Sequence[str], own: Own, known: Known) -> ProofVerdict:
    """Judge every ref."""
    refs = [parse(text) for text in texts]
    files = [known.files[ref.value] for ref in refs if ref.kind is RefKind.FILE and ref.value in known.files]
    changed_at = max((each.changed_at for each in files), default=0)
    return ProofVerdict(evidence=tuple(_evidence(ref, own, known, changed_at) for ref in refs))


def _evidence(ref: Ref, own: Own, known: Known, changed_at: int) -> Evidence:
    if _placeholder(ref):
        return _unproven(ref, EvidenceState.MISSING, "a placeholder" if ref.value else "it says nothing")
    match ref.kind:
        case RefKind.CMD:
            return _command(ref, own, known, changed_at)
        case RefKind.LINK:
            return _link(ref, own, known, changed_at)
        case RefKind.FILE:
            return _file(ref, own, known)
        case RefKind.OTHER:
            return _unproven(ref, EvidenceState.MISSING, "it names nothing that could be looked up")
        case _:
            return _thing(ref, own, known)


def _unproven(ref: Ref, state: EvidenceState, why: str) -> Evidence:
    return Evidence(ref=ref.text, kind=ref.kind, state=state, why=why, sha256=ref.sha256, exit_code=ref.exit_code)


def _placeholder(ref: Ref) -> bool:
    value = ref.value.strip("`'\"* ")
    return (
        not value
        or "<fill" in value.lower()
        or (value.startswith("<") and value.endswith(">"))
        or value.lower().partition(":")[0] in PLACEHOLDERS
    )


def _pointless(ref: Ref, own: Own) -> str:
    """Why it says nothing that a command ended well; empty when it does."""
    unasked = plain(ref.value) not in {plain(check) for check in own.checks}
    return inconclusive(ref.value) or ("it checks nothing" if unasked and looks(ref.value) else "")


def _command(ref: Ref, own: Own, known: Known, changed_at: int) -> Evidence:
    if ref.failed:
        return _unproven(ref, EvidenceState.FAILED, "it says so itself")
    seen = known.observed(plain(ref.value))
    if seen is None:
        return _claim(ref, own, known, changed_at, told=ref.exit_code is not None)
    state, why = EvidenceState.OBSERVED, _pointless(ref, own)
    if seen.exit_code:
        state, why = EvidenceState.FAILED, f"it was seen to end with {seen.exit_code}"
    elif seen.at and seen.at < changed_at:
        state, why = EvidenceState.STALE, "a file that it speaks for changed afterwards"
    return Evidence(
        ref=ref.text,
        kind=ref.kind,
        state=state,
        proves=state is EvidenceState.OBSERVED and not why,
        why=why,
        sha256=ref.sha256,
        exit_code=seen.exit_code,
    )


def _claim(ref: Ref, own: Own, known: Known, changed_at: int, *, told: bool) -> Evidence:
    said_at = known.said_at(ref.text) if changed_at else None
    if said_at is not None and said_at < changed_at:
        return _unproven(ref, EvidenceState.STALE, "a file that it speaks for changed afterwards")
    if not told:
        return _unproven(ref, EvidenceState.CLAIMED, "it does not say how it ended")
    if not known.claims_suffice:
        return _unproven(ref, EvidenceState.CLAIMED, "nobody saw it")
    why = _pointless(ref, own) if ref.kind is RefKind.CMD else ""
    return Evidence(
        ref=ref.text,
        kind=ref.kind,
        state=EvidenceState.CLAIMED,
        proves=not why,
        why=why or "this room takes a claim for proof",
        sha256=ref.sha256,
        exit_code=ref.exit_code,
    )


def _link(ref: Ref, own: Own, known: Known, changed_at: int) -> Evidence:
    if not _ADDRESS.match(ref.value):
        return _unproven(ref, EvidenceState.MISSING, "no address")
    return _claim(ref, own, known, changed_at, told=True)


def _file(ref: Ref, own: Own, known: Known) -> Evidence:
    fact = known.files.get(ref.value)
    if fact is None or not fact.reachable:
        return _unproven(
            ref, EvidenceState.UNREACHABLE, fact.why if fact else "this hub cannot see the files of the job"
        )
    if fact.sha256 is None:
        return _unproven(ref, EvidenceState.MISSING, fact.why)
    old = fact.changed_at < own.began_at and ref.text not in known.named
    other = ref.sha256 is not None and not fact.sha256.startswith(ref.sha256)
    return Evidence(
        ref=ref.text,
        kind=ref.kind,
        state=EvidenceState.STALE if other else EvidenceState.FOUND,
        proves=not old and not other,
        why="its content is another than was named" if other else "untouched since the job began" if old else fact.why,
        sha256=fact.sha256,
    )


def _thing(ref: Ref, own: Own, known: Known) -> Evidence:
    thing = known.found(ref)
    if thing is None:
        return _unproven(ref, EvidenceState.MISSING, "there is no such thing in this room")
    why = _foreign(ref, own) or ("" if thing.belongs or ref.text in known.named else "older than the work on this job")
    return Evidence(
        ref=ref.text, kind=ref.kind, state=EvidenceState.FOUND, proves=not why, why=why, sha256=thing.sha256
    )


def _foreign(ref: Ref, own: Own) -> str:
    """Why a thing of ours can never be the proof of this job; empty when it can."""
    match ref.kind:
        case RefKind.ANCHOR:
            return "an area, no result"
        case RefKind.JOB | RefKind.JOB_EVENT:
            return "the job itself" if ref.value == own.job_id else "another job"
        case RefKind.ARTIFACT:
            return "" if ref.value.partition("/")[0] == own.job_id else "an artifact of another job"
        case _:
            return "the job's own task" if ref.value == own.task_id else ""
