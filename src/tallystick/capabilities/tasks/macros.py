"""`tasks.macro.*`: one call for what a manager otherwise does in four, and one report on several jobs.

The report says what became of them, and how far each can be believed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec import UNSET, UnsetType

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.jobs.events import PROOF_THEN, JobBranch, JobEvidence
from tallystick.capabilities.tasks import cards, queries, rules
from tallystick.capabilities.tasks.anchors import ensure_anchor
from tallystick.capabilities.tasks.contract import (
    BODY_LIMIT,
    CardView,
    CreateCard,
    CreateTask,
    Delegate,
    Delegated,
    FannedOut,
    FanOut,
    JobKnobs,
    JobRef,
    Merged,
    MergeReport,
    StepAsk,
)
from tallystick.capabilities.tasks.events import CardUpdated
from tallystick.capabilities.tasks.model import Card
from tallystick.capabilities.tasks.tasks import create_task
from tallystick.capabilities.tasks.work import JobOrder, JobOutcome, Work
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft
from tallystick.kernel.ids import digest
from tallystick.kernel.operation import Reach, operation
from tallystick.ledger.tx import Tx
from tallystick.proof.files import FileFact, FilesToRead, survey

T = TypeVar("T")

SUMMARY = 240
REFS = 8
PATHS = 5


@operation(
    "tasks.macro.delegate",
    reach=Reach.WORK,
    writes=True,
    examples=({"room_id": "ROOM", "task_title": "Parser: make it linear", "description": "It is quadratic now."},),
)
def delegate(tx: Tx, me: Caller, ask: Delegate) -> Delegated:
    """Delegate a task in one call: a task with what done means, its anchor, a pinned card and a job; all or nothing.

    What you leave out is filled in: the anchor comes from the title, and proof is part of being done.
    """
    tx.check_open(ask.room_id)
    by, anchor = agent_rules.principal(me.agent_id), ask.anchor or rules.anchor_for(ask.task_title)
    ensure_anchor(tx, ask.room_id, by, anchor)
    done = ask.definition_of_done or rules.DONE
    steps = ask.steps or [StepAsk(text=text) for text in rules.STEPS]
    task = create_task(
        tx,
        me,
        CreateTask(
            room_id=ask.room_id,
            title=ask.task_title,
            description=ask.description,
            definition_of_done=list(done),
            steps=steps,
            anchor=anchor,
            paths=ask.paths,
            refs=ask.refs,
            focus=True,
        ),
    )
    frame = CreateCard(
        room_id=ask.room_id,
        title=f"COCKPIT — {ask.task_title}"[:200],
        body=ask.cockpit or rules.cockpit(task.task_id, ask.description, done)[:BODY_LIMIT],
        type="frame",
        tags=[anchor, "v:canon"],
        refs=[task.task_id],
        pinned=True,
    )
    card = cards.create_card(tx, me, frame)
    prompt = rules.delegated_prompt(task.task_id, card.card_id, ask.task_title, ask.description, done)
    job = (
        _order(tx, me, ask, title=ask.task_title, prompt=prompt, task=task.task_id, anchor=anchor) if ask.job else None
    )
    return Delegated(task=task, anchor_id=anchor, card=card, job=job)


@operation(
    "tasks.macro.fanout_jobs",
    reach=Reach.WORK,
    writes=True,
    examples=({"room_id": "ROOM", "anchors": ["a:parser", "a:lexer"], "prompt": "Find what is slow and say why."},),
)
def fanout_jobs(tx: Tx, me: Caller, ask: FanOut) -> FannedOut:
    """Queue one job for each area, from one prompt: in the order of the anchors, each told which one is its own."""
    tx.check_open(ask.room_id)
    task = (
        queries.task(tx, ask.room_id, ask.task)
        if ask.task
        else queries.focus(tx, ask.room_id, agent_rules.principal(me.agent_id))
    )
    made = [
        _order(
            tx,
            me,
            ask,
            title=rules.fanout_title(anchor, ask.title_prefix, task.title if task else None),
            prompt=f"{ask.prompt}\n\nAnchor: {anchor}",
            task=task.task_id if task else None,
            anchor=anchor,
        )
        for anchor in sorted(set(ask.anchors))
    ]
    return FannedOut(task_id=task.task_id if task else None, jobs=made)


def _order(tx: Tx, me: Caller, ask: JobKnobs, *, title: str, prompt: str, task: str | None, anchor: str) -> JobRef:
    order = JobOrder(
        title=title,
        prompt=prompt,
        kind=ask.job_kind,
        priority=ask.job_priority,
        executor=ask.executor,
        executor_profile=ask.executor_profile,
        task=task,
        anchor=anchor,
    )
    return tx.use(Work).order(tx, me, ask.room_id, order)


def _files(tx: Tx, me: Caller, ask: MergeReport) -> FilesToRead:
    return tx.use(Work).files(tx, ask.room_id, ask.jobs)


def _read_files(ask: MergeReport, wanted: Callable[[], FilesToRead]) -> Mapping[str, FileFact]:
    return survey(wanted())


@operation(
    "tasks.macro.merge_report",
    reach=Reach.WORK,
    writes=True,
    read_before=_files,
    io_before=_read_files,
    examples=({"room_id": "ROOM", "jobs": ["JOB-001", "JOB-002"]},),
)
def merge_report(tx: Tx, me: Caller, ask: MergeReport, seen: Mapping[str, FileFact]) -> Merged:
    """Merge delegated work into one report: what changed, what was observed and what was claimed, branches and risks.

    Jobs without proof are flagged, and branches that cannot be merged. The report is one card: made again for the same
    jobs it is brought up to date, and stays as it is when nothing changed.
    """
    tx.check_open(ask.room_id)
    task = (
        queries.task(tx, ask.room_id, ask.task)
        if ask.task
        else queries.focus(tx, ask.room_id, agent_rules.principal(me.agent_id))
    )
    outcomes = tx.use(Work).outcomes(tx, ask.room_id, ask.jobs, seen)
    title = ask.title or (f"Merge report — {task.task_id} {task.title}"[:200] if task else "Merge report")
    body = report_text(title, task.task_id if task else None, outcomes)[:BODY_LIMIT]
    anchors = sorted({outcome.anchor_id for outcome in outcomes if outcome.anchor_id})
    tag = f"merge:{digest(*(outcome.job_id for outcome in outcomes))}"
    card = CreateCard(
        room_id=ask.room_id,
        title=title,
        body=body,
        type="report",
        tags=[*anchors[:19], tag],
        refs=[*([task.task_id] if task else []), *(outcome.job_id for outcome in outcomes)][:32],
        pinned=ask.pin,
    )
    known = queries.cards(tx, ask.room_id, tag=tag, type="report", limit=1)
    kept, changed = _kept(tx, me, card, known)
    return Merged(card=kept, changed=changed, missing_proof=_missing(outcomes))


def _missing(outcomes: Sequence[JobOutcome]) -> list[str]:
    return [outcome.job_id for outcome in outcomes if not outcome.proven]


def _kept(tx: Tx, me: Caller, card: CreateCard, known: Sequence[Card]) -> tuple[CardView, bool]:
    if not known:
        return cards.create_card(tx, me, card), True
    (old,) = known
    update = CardUpdated(
        card_id=old.card_id,
        title=_unless_same(card.title, old.title),
        body=_unless_same(card.body, old.body),
        tags=_unless_same(card.tags, old.tags),
        refs=_unless_same(card.refs, old.refs),
        pinned=_unless_same(card.pinned, old.pinned),
    )
    changed = update != CardUpdated(card_id=old.card_id)
    if changed:
        tx.append(card.room_id, agent_rules.principal(me.agent_id), [Draft.of(update)])
    return CardView.of(queries.card(tx, card.room_id, old.card_id)), changed


def _unless_same(value: T, known: T) -> T | UnsetType:
    return UNSET if value == known else value


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
