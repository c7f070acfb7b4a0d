"""The text of a merge report: what became of several jobs, and how far each can be believed. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tallystick.capabilities.jobs.events import PROOF_THEN, JobBranch, JobEvidence
from tallystick.capabilities.tasks.work import JobOutcome

SUMMARY = 240
REFS = 8
PATHS = 5


def report_text(title: str, task_id: str | None, outcomes: Sequence[JobOutcome]) -> str:
    about = [f"task: {task_id}"] if task_id else []
    parts = {
        "What changed": _changed(outcomes),
        "What was observed": _observed(outcomes),
        "What was claimed": _claimed(outcomes),
        "Branches": _branches(outcomes),
        "Refs": _refs(outcomes),
        "Open risks": _risks(outcomes),
        "Next actions": _next(outcomes),
    }
    lines = [f"# {title}", *about]
    for heading, rows in parts.items():
        lines += ["", f"## {heading}", *(list(rows) or ["- none"])]
    return "\n".join(lines) + "\n"


def _one_line(words: str, limit: int = SUMMARY) -> str:
    plain = " ".join(words.split())
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"


def _changed(outcomes: Sequence[JobOutcome]) -> Iterator[str]:
    for each in outcomes:
        anchor = f" anchor={each.anchor_id}" if each.anchor_id else ""
        flag = "" if each.proven else " [MISSING_PROOF]"
        yield f"- {each.job_id} ({each.status}){anchor} last={each.ref}{flag}"
        if each.summary:
            yield f"  summary: {_one_line(each.summary)}"


def _merely_said(evidence: JobEvidence) -> bool:
    """Whether nobody saw it: also what earlier versions took for proof because it was written like a receipt."""
    return evidence.state == "claimed" or (evidence.state == PROOF_THEN and evidence.kind in {"cmd", "link"})


def _observed(outcomes: Sequence[JobOutcome]) -> Iterator[str]:
    for each in outcomes:
        for found in each.evidence:
            if found.proof and not _merely_said(found):
                content = f", sha256 {found.sha256[:12]}" if found.sha256 else ""
                yield f"- {each.job_id} {_one_line(found.ref)} ({found.state}{content})"


def _claimed(outcomes: Sequence[JobOutcome]) -> Iterator[str]:
    for each in outcomes:
        for found in each.evidence:
            if _merely_said(found):
                yield f"- {each.job_id} {_one_line(found.ref)}"


def _branches(outcomes: Sequence[JobOutcome]) -> Iterator[str]:
    for each in outcomes:
        if branch := each.branch:
            size = f"{branch.files} files, +{branch.insertions} -{branch.deletions}, {branch.commits} commits"
            left = f", {branch.uncommitted} uncommitted" if branch.uncommitted else ""
            yield f"- {each.job_id} {_one_line(branch.name)} from {_one_line(branch.base)}: {size}{left}"
            yield from (f"  {line}" for line in _conflicts(branch))


def _conflicts(branch: JobBranch) -> Iterator[str]:
    for each in branch.conflicts:
        more = f" and {len(each.paths) - PATHS} more" if len(each.paths) > PATHS else ""
        yield f"conflicts with {_one_line(each.branch)} in {_one_line(', '.join(each.paths[:PATHS]))}{more}"


def _refs(outcomes: Sequence[JobOutcome]) -> Iterator[str]:
    for each in outcomes:
        for ref in each.refs[:REFS]:
            yield f"- {_one_line(ref)} ({each.job_id})"
        if len(each.refs) > REFS:
            yield f"- {len(each.refs) - REFS} more: open id={each.job_id}"


def _risks(outcomes: Sequence[JobOutcome]) -> Iterator[str]:
    for each in outcomes:
        if each.status in {"FAILED", "CANCELED"}:
            yield f"- {each.job_id} is {each.status}"
        elif each.status != "DONE":
            yield f"- {each.job_id} is still {each.status}"
        if each.question:
            yield f"- {each.job_id} asks: {_one_line(each.question)}"
        yield from (f"- {each.job_id} {line}" for line in _doubts(each))


def _doubts(outcome: JobOutcome) -> Iterator[str]:
    for found in outcome.evidence:
        if found.state == "stale":
            yield f"was proven before the last change: {_one_line(found.ref)}"
        elif found.state in {"failed", "missing", "unreachable"}:
            why = f", {found.why}" if found.why else ""
            yield f"names {_one_line(found.ref)}: {found.state}{why}"
    if outcome.accepted == "claimed":
        yield "is DONE on a claim: this room takes claims for proof"
    if outcome.accepted == "waived":
        yield f"is DONE without proof, waived by {_one_line(outcome.waiver)}"
    elif not outcome.proven:
        yield "has no proof"
    for name in outcome.missing:
        yield f"did not bring its {name}"
    if branch := outcome.branch:
        yield from (f"{branch.name} {line}" for line in _conflicts(branch))
        if branch.uncommitted:
            yield f"left {branch.uncommitted} files uncommitted on {branch.name}"


def _next(outcomes: Sequence[JobOutcome]) -> Iterator[str]:
    """In words and ids, which anybody can open: a card is read in a terminal, over MCP and on the page alike."""
    for each in outcomes:
        if each.question:
            yield f"- answer {each.job_id}: {each.ref}"
        elif each.status == "FAILED":
            yield f"- look at {each.ref}, then queue {each.job_id} again or acknowledge it"
        elif each.status in {"QUEUED", "RUNNING"}:
            yield f"- wait for {each.job_id}: {each.ref}"
        elif each.status == "DONE" and not each.proven:
            yield f"- look at {each.ref}: {each.job_id} has no proof"
        elif branch := each.branch:
            with_ = ", ".join(_one_line(other.branch) for other in branch.conflicts)
            settle = f", after its conflict with {with_} is settled" if with_ else ""
            yield f"- merge {_one_line(branch.name)} into {_one_line(branch.base)}{settle}"
