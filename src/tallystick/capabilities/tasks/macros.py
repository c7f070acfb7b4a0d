"""`tasks.macro.delegate` and `tasks.macro.fanout_jobs`: one call for what a manager otherwise does in four."""

from __future__ import annotations

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.tasks import cards, queries, rules
from tallystick.capabilities.tasks.contract import BODY_LIMIT, CreateCard, CreateTask, StepAsk
from tallystick.capabilities.tasks.creating import create_task
from tallystick.capabilities.tasks.macro_contract import Delegate, Delegated, FannedOut, FanOut, JobKnobs, JobRef
from tallystick.capabilities.tasks.model import Order, Work
from tallystick.capabilities.tasks.things import THINGS
from tallystick.kernel.caller import Caller
from tallystick.kernel.operation import operation
from tallystick.ledger.tx import Tx


@operation(
    "tasks.macro.delegate",
    writes=True,
    examples=({"room_id": "ROOM", "task_title": "Parser: make it linear", "description": "It is quadratic now."},),
)
def delegate(tx: Tx, me: Caller, ask: Delegate) -> Delegated:
    """Delegate a task in one call: a task with what done means, its anchor, a pinned card and a job; all or nothing.

    What you leave out is filled in: the anchor comes from the title, and proof is part of being done.
    """
    tx.check_open(ask.room_id)
    by, anchor = agent_rules.principal(me.agent_id), ask.anchor or rules.anchor_for(ask.task_title)
    THINGS.ensure_anchor(tx, ask.room_id, by, anchor)
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
    order = Order(
        title=title,
        prompt=prompt,
        kind=ask.job_kind,
        priority=ask.job_priority,
        executor=ask.executor,
        profile=ask.executor_profile,
        task=task,
        anchor=anchor,
    )
    job = tx.use(Work).order(tx, me, ask.room_id, order)
    return JobRef(job_id=job.job_id, anchor=anchor, created_ref=job.ref)
