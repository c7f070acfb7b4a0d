"""The text of a merge report: the same jobs in the same state give the same bytes, one fact per line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tallystick.capabilities.tasks.model import Outcome

SUMMARY = 240
REFS = 8


def text(title: str, task_id: str | None, outcomes: Sequence[Outcome]) -> str:
    about = [f"task: {task_id}"] if task_id else []
    parts = {
        "What changed": _changed(outcomes),
        "What was verified": _verified(outcomes),
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


def _changed(outcomes: Sequence[Outcome]) -> Iterator[str]:
    for each in outcomes:
        anchor = f" anchor={each.anchor_id}" if each.anchor_id else ""
        flag = "" if each.proven else " [MISSING_PROOF]"
        yield f"- {each.job_id} ({each.status.value}){anchor} last={each.ref}{flag}"
        if each.summary:
            yield f"  summary: {_one_line(each.summary)}"


def _verified(outcomes: Sequence[Outcome]) -> Iterator[str]:
    for each in outcomes:
        for ref, state in each.evidence:
            if state == "proof" and ref.upper().startswith(("CMD", "LINK", "FILE", "HTTP")):
                yield f"- {each.job_id} {_one_line(ref)}"


def _refs(outcomes: Sequence[Outcome]) -> Iterator[str]:
    for each in outcomes:
        for ref in each.refs[:REFS]:
            yield f"- {_one_line(ref)} ({each.job_id})"
        if len(each.refs) > REFS:
            yield f"- {len(each.refs) - REFS} more: open id={each.job_id}"


def _risks(outcomes: Sequence[Outcome]) -> Iterator[str]:
    for each in outcomes:
        if each.status.value in {"FAILED", "CANCELED"}:
            yield f"- {each.job_id} is {each.status.value}"
        elif each.status.value != "DONE":
            yield f"- {each.job_id} is still {each.status.value}"
        if each.question:
            yield f"- {each.job_id} asks: {_one_line(each.question)}"
        for ref, state in each.evidence:
            if state == "stale":
                yield f"- {each.job_id} was proven before the last change: {_one_line(ref)}"
        if not each.proven:
            yield f"- {each.job_id} has no proof"


def _next(outcomes: Sequence[Outcome]) -> Iterator[str]:
    for each in outcomes:
        if each.question:
            yield f'- open id={each.ref} | reply reply_job={each.job_id} reply_message="..."'
        elif each.status.value in {"FAILED", "CANCELED"}:
            yield f"- open id={each.ref} | requeue job={each.job_id}"
        elif not each.proven:
            yield f"- open id={each.ref}"
