"""`tasks.macro.merge_report`: what became of several jobs, as one pinned card that reads the same when made again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.tasks import cards, queries, report
from tallystick.capabilities.tasks.contract import BODY_LIMIT, CardView, CreateCard, TaskId, Title
from tallystick.capabilities.tasks.model import Card, Kind, Outcome, Work
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft
from tallystick.kernel.ids import digest
from tallystick.kernel.operation import Answer, Ask, operation
from tallystick.ledger.contract import RoomId, Text
from tallystick.ledger.tx import Tx


class MergeReport(Ask):
    room_id: RoomId
    jobs: Annotated[
        list[Annotated[Text, Meta(max_length=40)]], Meta(min_length=1, max_length=50, description="JOB-… ids.")
    ]
    task: Annotated[TaskId | None, Meta(description="The task they were for; your focus when left out.")] = None
    title: Annotated[Title | None, Meta(description="The card's title.")] = None
    pin: Annotated[bool, Meta(description="Show it before all other cards.")] = True


class Merged(Answer):
    card: CardView
    changed: bool
    """False when the very same report was there already."""
    missing_proof: list[str]
    """The jobs that prove nothing yet."""


@operation("tasks.macro.merge_report", writes=True, examples=({"room_id": "ROOM", "jobs": ["JOB-001", "JOB-002"]},))
def merge_report(tx: Tx, me: Caller, ask: MergeReport) -> Merged:
    """Merge delegated work into one report: what changed, what was verified, refs, open risks and next actions.

    Jobs without proof are flagged. The report is one card: made again for the same jobs it is brought up to date, and
    stays as it is when nothing changed.
    """
    tx.check_open(ask.room_id)
    task = (
        queries.task(tx, ask.room_id, ask.task)
        if ask.task
        else queries.focus(tx, ask.room_id, agent_rules.principal(me.agent_id))
    )
    outcomes = tx.use(Work).outcomes(tx, ask.room_id, ask.jobs)
    title = ask.title or (f"Merge report — {task.task_id} {task.title}"[:200] if task else "Merge report")
    body = report.text(title, task.task_id if task else None, outcomes)[:BODY_LIMIT]
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


def _missing(outcomes: Sequence[Outcome]) -> list[str]:
    return [outcome.job_id for outcome in outcomes if not outcome.proven]


def _kept(tx: Tx, me: Caller, card: CreateCard, known: Sequence[Card]) -> tuple[CardView, bool]:
    if not known:
        return cards.create_card(tx, me, card), True
    (old,) = known
    wanted = {name: getattr(card, name) for name in ("title", "body", "tags", "refs", "pinned")}
    changes = {name: value for name, value in wanted.items() if getattr(old, name) != value}
    if changes:
        draft = Draft(kind=Kind.CARD_UPDATE, data={"card_id": old.card_id, **changes})
        tx.append(card.room_id, agent_rules.principal(me.agent_id), [draft])
    return CardView.of(queries.card(tx, card.room_id, old.card_id)), bool(changes)
