"""Each kind of event in plain words: its label, whom it concerns and what it says. The labels are the protocols'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import UnsetType

from tallystick.capabilities.actions.events import ActionResultReported, ActionStatus, ActionSubmitted
from tallystick.capabilities.agents.events import AgentResumed, MemberAdded, MemberRemoved, MemberUpdated
from tallystick.capabilities.jobs.events import JobBody, JobCanceled, JobCompleted, JobCreated
from tallystick.capabilities.messages.events import MessageSent, NotificationSent
from tallystick.capabilities.protocol.events import WorkBlocked, WorkHandedOver
from tallystick.capabilities.reservations.events import (
    IncursionRecorded,
    ReservationExpired,
    ReservationGranted,
    ReservationReleased,
    ReservationRenewed,
)
from tallystick.capabilities.rooms.events import NoteAdded, RoomCreated, SequenceChanged, StickClosed
from tallystick.capabilities.tasks.events import (
    AnchorCreated,
    AnchorUpdated,
    CardCreated,
    CardUpdated,
    TaskCreated,
    TaskUpdated,
)
from tallystick.capabilities.turns.events import StickClaimed, StickPassed, StickReleased, StickTakenOver
from tallystick.kernel.envelope import Body
from tallystick.kernel.operation import JsonObject
from tallystick.ledger.contract import Envelope
from tallystick.surfaces.web import filters

RESULT_TONES: Mapping[ActionStatus, str] = {
    ActionStatus.COMPLETED: "r",
    ActionStatus.ACCEPTED: "r",
    ActionStatus.ERROR: "i",
    ActionStatus.REJECTED: "i",
    ActionStatus.BLOCKED: "b",
}
JOB_TONES = {"question": "b", "proof_gate": "i", "error": "i", "failed": "i", "completed": "r", "done": "r"}


class EventText(msgspec.Struct, frozen=True, kw_only=True):
    tag: str = ""
    tone: str = ""
    """h handed over, b blocked, i trouble, r good news."""
    to: Sequence[str] = ()
    text: str = ""
    handoff: JsonObject | None = None
    speech: bool = False
    """Somebody says something, so it can be answered, quoted and relayed."""


def of(event: Envelope) -> EventText:
    """The words for an event; a kind the page knows nothing of is called by its name."""
    if found := _of_body(event.content):
        return found
    return EventText(tag=event.kind, text=_first_words(event.data))


def _of_body(body: Body | None) -> EventText | None:
    match body:
        case StickClaimed():
            return EventText(tag="Has the stick", tone="r", text=f"turn {body.turn_id}")
        case StickReleased() | StickPassed():
            to = [body.reserved_for] if body.reserved_for else []
            return EventText(tag="Passed to" if to else "Released", tone="h", to=to, handoff=body.handoff)
        case StickTakenOver():
            lost = f", from {filters.person(body.from_agent_id)}" if body.from_agent_id else ""
            return EventText(tag="Took over", tone="i", text=f"turn {body.turn_id}{lost}: {body.reason}")
        case _:
            parts = (_of_room, _of_conversation, _of_protocol, _of_reservation, _of_work)
            return next((found for part in parts if (found := part(body))), None)


def _of_room(body: Body | None) -> EventText | None:
    match body:
        case StickClosed():
            return EventText(tag="Closed the room", tone="i", text=body.reason or "")
        case NoteAdded():
            return EventText(tag="Note", text=body.body)
        case RoomCreated():
            return EventText(tag="Opened the room", tone="r", text=body.title)
        case SequenceChanged():
            return EventText(tag="New order", text=", ".join(body.sequence))
        case MemberAdded():
            return EventText(tag="Joined", tone="r", text=body.harness)
        case MemberUpdated():
            return EventText(tag="Is called", text=body.name)
        case MemberRemoved():
            return EventText(tag="Left")
        case _:
            return None


def _of_protocol(body: Body | None) -> EventText | None:
    match body:
        case WorkHandedOver(payload=said):
            handoff = {"status": said.summary, "next_action": said.next_action}
            return EventText(
                tag="Passed to", tone="h", to=[body.to_agent], text=said.subject, handoff=handoff, speech=True
            )
        case WorkBlocked(payload=said):
            lines = (said.subject, f"blocked by: {said.blocker}", said.requested_action)
            text = "\n".join(line for line in lines if line)
            return EventText(tag="Needs input", tone="b", to=[body.to_agent], text=text, speech=True)
        case AgentResumed(payload=said):
            session, adopted = filters.person(body.from_agent), filters.person(said.adopted_agent)
            return EventText(tag="Resumed", tone="r", text=f"{session} adopted {adopted}: {said.evidence}")
        case _:
            return None


def _of_reservation(body: Body | None) -> EventText | None:
    match body:
        case ReservationGranted():
            return EventText(tag="Reserved", text=f"{body.path} ({body.mode})")
        case ReservationRenewed():
            return EventText(tag="Keeps", text=body.path)
        case ReservationReleased():
            return EventText(tag="Gave back", text=body.path)
        case ReservationExpired():
            return EventText(tag="Reservation over", text=body.path)
        case IncursionRecorded(payload=said):
            owner, incoming = filters.person(body.to_agent), filters.person(body.from_agent)
            held = f"reserved by {owner} ({said.owner_liveness}, {said.incursion_kind})"
            text = f"{incoming} tried {body.scope}, {held}. {said.resolution_hint}"
            return EventText(tag="Incursion", tone="i", text=text)
        case _:
            return None


def _of_conversation(body: Body | None) -> EventText | None:
    match body:
        case MessageSent():
            tag = "asks for attention" if body.priority == "attention" else ""
            return EventText(text=body.text, to=body.to or ["@all"], tag=tag, tone="b", speech=True)
        case NotificationSent():
            text = "\n".join(each for each in (body.title, body.message) if each)
            return EventText(tag=body.about, text=text, to=[body.target_actor_id or "@all"])
        case ActionSubmitted():
            tag = f"Control: {body.command}" if body.command else "Action"
            return EventText(tag=tag, tone="h", to=[body.dst], text=body.text or body.args or "")
        case ActionResultReported():
            tone = RESULT_TONES.get(body.status, "")
            return EventText(tag=f"Result: {body.status}", tone=tone, text=body.detail or body.action_id)
        case _:
            return None


def _of_work(body: Body | None) -> EventText | None:
    match body:
        case JobBody():
            tone = JOB_TONES.get(body.event, "")
            return EventText(tag=f"Job {filters.spaced(body.event)}", tone=tone, text=_job_text(body))
        case TaskCreated() | TaskUpdated():
            tag = "New task" if isinstance(body, TaskCreated) else "Task changed"
            return EventText(tag=tag, text=_joined(body.title, body.status))
        case CardCreated() | CardUpdated():
            tag = "New card" if isinstance(body, CardCreated) else "Card changed"
            return EventText(tag=tag, text=_joined(body.card_id, body.title))
        case AnchorCreated() | AnchorUpdated():
            tag = "New anchor" if isinstance(body, AnchorCreated) else "Anchor changed"
            return EventText(tag=tag, text=_joined(body.anchor_id, body.title))
        case _:
            return None


def _job_text(body: JobBody) -> str:
    if isinstance(body, JobCreated):
        return body.title
    summary = (body.summary or "") if isinstance(body, JobCompleted | JobCanceled) else ""
    return summary or body.message if body.event == "completed" else body.message or summary


def _joined(*said: str | UnsetType) -> str:
    return " · ".join(str(each) for each in said if each)


def _first_words(data: JsonObject) -> str:
    """The first words there are, whatever they are called."""
    for name in ("text", "message", "title", "summary", "body", "did", "status"):
        if isinstance(said := data.get(name), str) and said:
            return said
    return ", ".join(f"{name}: {value}" for name, value in data.items())
