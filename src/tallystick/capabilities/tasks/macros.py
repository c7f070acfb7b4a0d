"""`tasks.macro.*`: one call for what a manager otherwise does in four, and one report on several jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from msgspec import UNSET, UnsetType

from tallystick.capabilities.agents import rules as agent_rules
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
from tallystick.capabilities.tasks.merge_report import report_text
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
