"""The one proof validator: which refs of a finished job prove something, and why the others do not.

Whether an id exists and what a file holds are facts handed in; nothing is looked up and no command is run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

import msgspec

from tallystick.proof.refs import Ref, RefKind, parse

PLACEHOLDERS = frozenset({"...", "…", "-", "?", "n/a", "na", "none", "tbd", "todo", "xxx"})


class EvidenceState(StrEnum):
    """What was found out about a ref. Only `PROOF` proves anything."""

    PROOF = "proof"
    STALE = "stale"
    """Older than the last change to a file it speaks for."""
    PLACEHOLDER = "placeholder"
    BARE = "bare"
    """A receipt that says nothing."""
    OWN = "own"
    """The job itself, or the task it was made for."""
    ANCHOR = "anchor"
    UNKNOWN = "unknown"
    """An id of ours that does not exist."""
    FAILED = "failed"
    """A command that says it ended with an error."""
    MISSING = "missing"
    """A file that is not there."""
    OUTSIDE = "outside"
    """A file outside the workspace."""
    CHANGED = "changed"
    """A file whose content is not the one that was named."""
    UNREACHABLE = "unreachable"
    """A file on a machine that cannot be looked at from here, named without its hash."""
    UNRECOGNISED = "unrecognised"


class FileFact(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen of a file; without a hash, why there is none."""

    sha256: str | None = None
    changed_at: int = 0
    """When its content last changed, in ms."""
    state: EvidenceState = EvidenceState.PROOF


class Own(msgspec.Struct, frozen=True, kw_only=True):
    """The job that is to be proven."""

    job_id: str
    task_id: str | None = None


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    ref: str
    kind: RefKind
    state: EvidenceState
    sha256: str | None = None
    exit_code: int | None = None


class ProofVerdict(msgspec.Struct, frozen=True, kw_only=True):
    evidence: tuple[Evidence, ...]

    @property
    def proven(self) -> bool:
        return any(each.state is EvidenceState.PROOF for each in self.evidence)

    @property
    def receipt(self) -> bool:
        """Whether a command, link or file is among the proof."""
        return any(each.state is EvidenceState.PROOF and each.kind.receipt for each in self.evidence)

    @property
    def problems(self) -> list[str]:
        return [
            f"{each.ref or '(empty)'}: {each.state.value}"
            for each in self.evidence
            if each.state is not EvidenceState.PROOF
        ]


def judge(
    texts: Sequence[str],
    own: Own,
    *,
    exists: Callable[[Ref], bool],
    files: Mapping[str, FileFact],
    said_at: Mapping[str, int] | None = None,
) -> ProofVerdict:
    """Judge every ref. `said_at` says when a receipt was first reported, where that was before now."""
    refs = [parse(text) for text in texts]
    changed_at = max((files[ref.value].changed_at for ref in refs if ref.value in files), default=0)
    said = said_at or {}
    return ProofVerdict(
        evidence=tuple(
            Evidence(
                ref=ref.text,
                kind=ref.kind,
                state=_state(ref, own, exists, files, stale=said.get(ref.text, changed_at) < changed_at),
                sha256=_hash(ref, files),
                exit_code=ref.exit_code,
            )
            for ref in refs
        )
    )


def _hash(ref: Ref, files: Mapping[str, FileFact]) -> str | None:
    fact = files.get(ref.value) if ref.kind is RefKind.FILE else None
    return (fact.sha256 if fact else None) or ref.sha256


def _state(
    ref: Ref, own: Own, exists: Callable[[Ref], bool], files: Mapping[str, FileFact], *, stale: bool
) -> EvidenceState:
    if _placeholder(ref):
        return EvidenceState.PLACEHOLDER
    match ref.kind:
        case RefKind.ANCHOR:
            return EvidenceState.ANCHOR
        case RefKind.CMD | RefKind.LINK:
            return _receipt(ref, stale=stale)
        case RefKind.FILE:
            return _file(ref, files.get(ref.value))
        case RefKind.OTHER:
            return EvidenceState.UNRECOGNISED
        case _:
            # An artifact is a thing of its own, also when this very job made it.
            if ref.value in {own.job_id, own.task_id}:
                return EvidenceState.OWN
            return EvidenceState.PROOF if exists(ref) else EvidenceState.UNKNOWN


def _placeholder(ref: Ref) -> bool:
    value = ref.value.strip("`'\"* ")
    return "<fill" in value.lower() or (value.startswith("<") and value.endswith(">")) or value.lower() in PLACEHOLDERS


def _receipt(ref: Ref, *, stale: bool) -> EvidenceState:
    if not ref.value:
        return EvidenceState.BARE
    if ref.exit_code not in {None, 0}:
        return EvidenceState.FAILED
    return EvidenceState.STALE if stale else EvidenceState.PROOF


def _file(ref: Ref, fact: FileFact | None) -> EvidenceState:
    if not ref.value:
        return EvidenceState.BARE
    if fact is None or fact.state is EvidenceState.UNREACHABLE:
        return EvidenceState.PROOF if ref.sha256 else EvidenceState.UNREACHABLE
    if fact.sha256 is None:
        return fact.state
    return EvidenceState.PROOF if ref.sha256 is None or fact.sha256.startswith(ref.sha256) else EvidenceState.CHANGED
