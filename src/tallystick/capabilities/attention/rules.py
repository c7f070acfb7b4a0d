"""Pure decisions about what waits for the person in a room, why, since when, and in which order."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from tallystick.capabilities.attention.contract import SAID_LIMIT, WaitingItem, WaitingKind
from tallystick.capabilities.jobs.views import RadarJob
from tallystick.capabilities.messages.events import MessageSent, NotificationSent
from tallystick.capabilities.messages.model import AwaitedMessage, InboxCounts
from tallystick.capabilities.permissions.contract import PermissionView
from tallystick.capabilities.protocol.events import WorkBlocked, WorkHandedOver
from tallystick.capabilities.reservations.events import IncursionRecorded
from tallystick.capabilities.turns.contract import TurnState
from tallystick.capabilities.turns.events import OPENINGS
from tallystick.kernel.caller import is_person
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Event
from tallystick.kernel.errors import Conflict, NotFound
from tallystick.kernel.hints import step
from tallystick.kernel.operation import moment

MINUTE = 60_000
MATTERS_MS = 60 * MINUTE
"""After so long an attempt to enter is history: whoever made it does something else."""


class ItemNotWaiting(NotFound):
    """That does not wait for the person, or no longer."""

    hint = f"{step('attention.list')} shows what does."


class ItemBlocks(Conflict):
    """Agents wait until that is settled, so it cannot be dismissed."""

    hint = "Settle it, or snooze it: it comes back by itself."


class OwedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What was delivered to the person and asks to be accepted."""

    event: Event


class UnacceptedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What the person sent, and who has let the time for accepting it pass."""

    message: AwaitedMessage
    owing: Sequence[str]


class SeenIncursion(msgspec.Struct, frozen=True, kw_only=True):
    seq: int
    at: Instant
    attempt: IncursionRecorded


class RoomFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of a room."""

    room_id: str
    now: Instant
    stick: TurnState
    counts: InboxCounts
    owed: Sequence[OwedMessage]
    unread: int
    """Plain messages that were not read: what asks for an ack is counted by that."""
    newest: Event | None
    """The newest of these."""
    jobs: Sequence[RadarJob]
    """Those that the radar marks."""
    said_at: Mapping[str, Instant]
    """When what these jobs say was said, by its ref."""
    permissions: Sequence[PermissionView]
    """Those that nobody has answered."""
    unaccepted: Sequence[UnacceptedMessage]
    incursions: Sequence[SeenIncursion]


def waiting(seen: RoomFacts) -> list[WaitingItem]:
    """Everything that waits for the person and nothing else, the most urgent first."""
    if seen.stick.state == "closed":
        return []
    found = [
        *_stick(seen),
        *_permissions(seen),
        *_owed(seen),
        *_jobs(seen),
        *_unaccepted(seen),
        *_incursions(seen),
        *_unread(seen),
    ]
    return sorted(found, key=lambda item: item.order)


def _stick(seen: RoomFacts) -> Iterator[WaitingItem]:
    stick = seen.stick
    kept = stick.reserved_for if not stick.owner else None
    if kept and is_person(kept) and not stick.takeover:
        waits = sum(1 for each in stick.members if each.status == "active" and not is_person(each.agent_id))
        others = f"; {waits} agent{'s' if waits > 1 else ''} wait{'' if waits > 1 else 's'}" if waits else ""
        yield WaitingItem(
            item=f"stick:{stick.turn_id}:{kept}",
            kind=WaitingKind.STICK,
            room_id=seen.room_id,
            sign="!",
            who=kept,
            reason=f"have the stick next{others}",
            said="",
            since=stick.updated_at,
            until=stick.claim_expires_at,
            seq=stick.pending_handoff_event_seq,
            turn_id=stick.turn_id,
            blocks=True,
        )
        return
    failed = stick.owner or stick.reserved_for
    if stick.takeover and failed and not (stick.owner and is_person(stick.owner)):
        ended = stick.lease_expires_at or stick.claim_expires_at
        yield WaitingItem(
            item=f"takeover:{stick.turn_id}:{stick.takeover}",
            kind=WaitingKind.TAKEOVER,
            room_id=seen.room_id,
            sign="~",
            who=failed,
            reason=f"{OPENINGS[stick.takeover]}; takeover is open",
            said="",
            since=moment(ended) if ended and ended <= seen.now else stick.updated_at,
            turn_id=stick.turn_id,
        )


def _permissions(seen: RoomFacts) -> Iterator[WaitingItem]:
    for each in seen.permissions:
        lines = (each.command or "", "\n".join(each.paths), each.diff or "")
        yield WaitingItem(
            item=f"permission:{each.permission}",
            kind=WaitingKind.PERMISSION,
            room_id=seen.room_id,
            sign="!",
            who=each.agent_id,
            reason=f"asks to use {each.tool}: {each.title}",
            said="\n".join(line for line in lines if line)[:SAID_LIMIT],
            since=each.asked_at,
            seq=each.permission,
            permission=each.permission,
            blocks=True,
        )


def _owed(seen: RoomFacts) -> Iterator[WaitingItem]:
    for event in (each.event for each in seen.owed):
        notice = isinstance(event.content, NotificationSent)
        yield WaitingItem(
            item=f"{'notice' if notice else 'message'}:{event.seq}",
            kind=WaitingKind.NOTICE if notice else WaitingKind.MESSAGE,
            room_id=seen.room_id,
            sign="?",
            who=event.by,
            reason="asks you to accept" if notice else "asks for your attention",
            said=_words(event)[:SAID_LIMIT],
            since=moment(event.ts),
            seq=event.seq,
            event_id=event.id,
        )


def _words(event: Event) -> str:
    match event.content:
        case MessageSent(text=text):
            return text
        case NotificationSent() as notice:
            return notice.words
        case WorkBlocked(payload=blocked):
            return blocked.words
        case WorkHandedOver(payload=handed):
            return handed.subject
        case _:
            return ""


def _jobs(seen: RoomFacts) -> Iterator[WaitingItem]:
    for each in seen.jobs:
        found = _of_job(each)
        if found is None:
            continue
        kind, reason = found
        expired = each.job.claim_expires_at if kind is WaitingKind.LOST else None
        said = "" if kind is WaitingKind.LOST else each.last.message
        yield WaitingItem(
            item=f"{kind}:{each.last.ref}",
            kind=kind,
            room_id=seen.room_id,
            sign="~" if kind is WaitingKind.LOST else each.marker,
            who=each.job.job_id,
            reason=reason,
            said=said[:SAID_LIMIT],
            since=expired or moment(seen.said_at.get(each.last.ref, int(each.job.updated_at))),
            seq=_seq(each.last.ref),
            job=each.job.job_id,
        )


def _seq(ref: str) -> int:
    return int(ref.rpartition("@")[2])


def _of_job(each: RadarJob) -> tuple[WaitingKind, str] | None:
    """Why the job waits for the person. What they have answered since is its runner's to mend."""
    seen, title = each.attention, f"“{each.job.title}”"
    answered = each.job.message_ref is not None and _seq(each.job.message_ref) > _seq(each.last.ref)
    if seen.needs_manager:
        return WaitingKind.QUESTION, f"{title} asks"
    if seen.needs_proof and not answered and each.last.kind == "proof_gate":
        return WaitingKind.PROOF, f"{title} says it is done, without proof"
    if seen.failed:
        return WaitingKind.FAILED, f"{title} failed"
    if seen.has_error and not answered and each.last.kind == "error":
        return WaitingKind.ERROR, f"{title} reports an error"
    if seen.stale:
        return WaitingKind.LOST, f"{title}: {each.job.runner or 'its runner'} fell silent and the claim ran out"
    return None


def _unaccepted(seen: RoomFacts) -> Iterator[WaitingItem]:
    for each in seen.unaccepted:
        count = len(each.owing)
        yield WaitingItem(
            item=f"overdue:{each.message.seq}:{count}",
            kind=WaitingKind.OVERDUE,
            room_id=seen.room_id,
            sign="~",
            who=each.owing[0] if each.owing else "system",
            reason=f"{f'and {count - 1} more have' if count > 1 else 'has'} not accepted your message",
            said="",
            since=moment(each.message.sent_at),
            seq=each.message.seq,
            event_id=each.message.event_id,
            owing=list(each.owing),
        )


def _incursions(seen: RoomFacts) -> Iterator[WaitingItem]:
    """Of each agent and path the newest attempt, unless the person made it or it was long ago."""
    told = set[tuple[str, str]]()
    for each in seen.incursions:
        attempt = each.attempt
        key = attempt.from_agent, attempt.scope
        if is_person(attempt.from_agent) or each.at + MATTERS_MS <= seen.now or key in told:
            continue
        told.add(key)
        owner = "you" if is_person(attempt.to_agent) else attempt.to_agent
        yield WaitingItem(
            item=f"incursion:{each.seq}",
            kind=WaitingKind.INCURSION,
            room_id=seen.room_id,
            sign="~",
            who=attempt.from_agent,
            reason=f"tried {attempt.scope}, reserved by {owner}",
            said="",
            since=moment(each.at),
            seq=each.seq,
            path=attempt.scope,
        )


def _unread(seen: RoomFacts) -> Iterator[WaitingItem]:
    newest, count = seen.newest, seen.unread
    if count <= 0 or newest is None:
        return
    yield WaitingItem(
        item=f"unread:{newest.seq}",
        kind=WaitingKind.UNREAD,
        room_id=seen.room_id,
        sign="",
        who=newest.by,
        reason="wrote; 1 message is unread" if count == 1 else f"wrote last; {count} messages are unread",
        said=_words(newest)[:SAID_LIMIT],
        since=moment(newest.ts),
        seq=newest.seq,
        event_id=newest.id,
        count=count,
    )


def shown(items: Sequence[WaitingItem], aside: Collection[str]) -> list[WaitingItem]:
    return [each for each in items if each.item not in aside]


def check_waiting(items: Sequence[WaitingItem], item: str, *, dismiss: bool) -> WaitingItem:
    """The item that is to be put aside: it waits, and to dismiss it no agent waits for it."""
    found = next((each for each in items if each.item == item), None)
    if found is None:
        raise ItemNotWaiting(f"Nothing that waits here is called '{item[:80]}'.", item=item[:80])
    if dismiss and found.blocks:
        raise ItemBlocks(f"{item[:80]}: agents wait for it.", item=item[:80])
    return found
