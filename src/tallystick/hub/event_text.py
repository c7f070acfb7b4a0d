"""Each kind of event in plain words, for the page and the terminal: its label, whom it concerns, what it says.

The labels are the protocols'. `sentence` makes one line of it: who did what, and the words that go with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec
from msgspec import UnsetType

from tallystick.capabilities.actions.events import (
    ActionResultReported,
    ActionStatus,
    ActionSubmitted,
    AgentAttached,
    AgentDetached,
    TaskDoneReported,
    TaskProgressReported,
)
from tallystick.capabilities.agents.events import (
    AdoptionAllowed,
    AgentResumed,
    MemberAdded,
    MemberUpdated,
    NewerSession,
)
from tallystick.capabilities.attention.events import ItemRestored, ItemSetAside
from tallystick.capabilities.blobs.events import BlobAdded
from tallystick.capabilities.jobs.events import ExecutorsOrdered, JobBody, JobCanceled, JobCompleted, JobCreated
from tallystick.capabilities.messages.events import (
    ContextChanged,
    MessageAcked,
    MessageSent,
    MessagesRead,
    NotificationAcked,
    NotificationSent,
    ReactionAdded,
)
from tallystick.capabilities.permissions.events import (
    PermissionAnswered,
    PermissionAsked,
    PermissionPolicySet,
    PermissionWithdrawn,
)
from tallystick.capabilities.protocol.events import WorkBlocked, WorkHandedOver
from tallystick.capabilities.reservations.events import (
    IncursionRecorded,
    ReservationExpired,
    ReservationGranted,
    ReservationReleased,
    ReservationRenewed,
)
from tallystick.capabilities.rooms.events import (
    NoteAdded,
    PolicyChanged,
    RoomCreated,
    ScopeAttached,
    SequenceChanged,
    StickClosed,
)
from tallystick.capabilities.tasks.events import (
    AnchorCreated,
    AnchorUpdated,
    CardCreated,
    CardUpdated,
    TaskCreated,
    TaskFocused,
    TaskUpdated,
)
from tallystick.capabilities.turns.events import StickClaimed, StickPassed, StickReleased, StickRevoked, StickTakenOver
from tallystick.kernel.caller import is_person
from tallystick.kernel.envelope import Body
from tallystick.kernel.operation import JsonObject
from tallystick.ledger.contract import Envelope

RESULT_TONES: Mapping[ActionStatus, str] = {
    ActionStatus.COMPLETED: "r",
    ActionStatus.ACCEPTED: "r",
    ActionStatus.ERROR: "i",
    ActionStatus.REJECTED: "i",
    ActionStatus.BLOCKED: "b",
}
JOB_VERBS = {
    "created": "queued",
    "claimed": "took",
    "question": "asks about",
    "completed": "finished",
    "done": "finished",
    "failed": "gave up",
    "canceled": "canceled",
    "requeued": "queued again",
    "manager": "told",
    "routed": "routed",
    "progress": "goes on with",
}
JOB_WORDS = {"manager": "message"}
"""What an event of a job is called where its own name says who wrote it."""
JOB_TONES = {"question": "b", "proof_gate": "i", "error": "i", "failed": "i", "completed": "r", "done": "r"}


Naming: TypeAlias = Callable[[str], str]
"""How the reader calls a principal."""


class EventText(msgspec.Struct, frozen=True, kw_only=True):
    tag: str = ""
    did: str = ""
    """What its author did, as it goes on after the name in a sentence; the tag does where this is left out."""
    tone: str = ""
    """h handed over, b blocked, i trouble, r good news."""
    to: Sequence[str] = ()
    text: str = ""
    handoff: JsonObject | None = None
    speech: bool = False
    """Somebody says something, so it can be answered, quoted and relayed."""


def of(event: Envelope, called: Naming = str) -> EventText:
    """The words for an event; a kind that is not ours is called by its name."""
    body = event.content
    if found := _of_body(body, called):
        return found
    if body is not None and body.did:
        return EventText(tag=f"{body.did[:1].upper()}{body.did[1:]}", did=body.did)
    return EventText(tag=event.kind, did=f"wrote {event.kind}", text=_first_words(event.data))


def sentence(event: Envelope, called: Naming = str, quoted: Callable[[str], str] = str) -> str:
    """Who did what, and the words that go with it. The words may have lines of their own.

    `quoted` marks the words as their author's, for a reader that might take them for ours.
    """
    found = of(event, called)
    did = found.did or f"{found.tag[:1].lower()}{found.tag[1:]}"
    if found.to:
        did += f" {', '.join(called(each) for each in found.to)}"
    said = found.text
    if found.handoff:
        status, then = found.handoff.get("status"), found.handoff.get("next_action")
        said = "\n".join(str(each) for each in (said, status, f"Next: {then}" if then else "") if each)
    return f"{called(event.by)} {did}{f': {quoted(said)}' if said else ''}"


def _of_body(body: Body | None, called: Naming) -> EventText | None:
    match body:
        case StickClaimed():
            return EventText(tag="Has the stick", tone="r", text=f"turn {body.turn_id}")
        case StickReleased() | StickPassed():
            to = [body.reserved_for] if body.reserved_for else []
            tag, did = ("Passed to", "passed the stick to") if to else ("Released", "released the stick")
            return EventText(tag=tag, did=did, tone="h", to=to, handoff=body.handoff)
        case StickTakenOver():
            lost = f", from {called(body.from_agent_id)}" if body.from_agent_id else ""
            text = f"turn {body.turn_id}{lost}: {body.reason}"
            return EventText(tag="Took over", did="took the stick over", tone="i", text=text)
        case StickRevoked():
            text = f"turn {body.turn_id} of {called(body.from_agent_id)}: {body.reason}"
            return EventText(tag="Ended a turn", did="ended a turn", tone="i", text=text)
        case _:
            plain = (_of_room, _of_members, _of_mail, _of_list, _of_conversation, _of_work, _of_board)
            named = (_of_protocol, _of_reservation, _of_permission)
            found = next((found for part in plain if (found := part(body))), None)
            return found or next((found for part in named if (found := part(body, called))), None)


def _of_room(body: Body | None) -> EventText | None:
    match body:
        case StickClosed():
            return EventText(tag="Closed the room", tone="i", text=body.reason or "")
        case NoteAdded():
            return EventText(tag="Note", did="noted", text=body.body)
        case RoomCreated():
            return EventText(tag="Opened the room", tone="r", text=body.title)
        case SequenceChanged():
            return EventText(tag="New order", did="set a new order", text=", ".join(body.sequence))
        case ScopeAttached():
            return EventText(tag="New root", did="attached a root", text=body.root)
        case PolicyChanged():
            return EventText(tag="New policy", did="set the policy", text=_listed(body.policy))
        case _:
            return None


def _of_members(body: Body | None) -> EventText | None:
    match body:
        case MemberAdded():
            return EventText(tag="Joined", tone="r", text=body.harness)
        case MemberUpdated():
            return EventText(tag="Is called", text=body.name)
        case _:
            return None


def _of_protocol(body: Body | None, called: Naming) -> EventText | None:
    match body:
        case WorkHandedOver(payload=said):
            handoff = {"status": said.summary, "next_action": said.next_action}
            return EventText(
                tag="Passed to",
                did="handed work over to",
                tone="h",
                to=[body.to_agent],
                text=said.subject,
                handoff=handoff,
                speech=True,
            )
        case WorkBlocked(payload=said):
            to = [body.to_agent]
            return EventText(tag="Needs input", did="needs input of", tone="b", to=to, text=said.words, speech=True)
        case AgentResumed(payload=said):
            session, adopted = called(body.from_agent), called(said.adopted_agent)
            return EventText(tag="Resumed", tone="r", text=f"{session} adopted {adopted}: {said.evidence}")
        case AdoptionAllowed():
            text = f"{called(body.session_id)} may go on as {called(body.agent_id)}"
            return EventText(tag="Allowed", did="allowed an adoption", tone="r", text=text)
        case NewerSession():
            text = f"process {body.pid}, beside {body.older_pid}"
            return EventText(tag="Newer session", did="has a newer session", tone="i", text=text)
        case _:
            return None


def _of_reservation(body: Body | None, called: Naming) -> EventText | None:
    match body:
        case ReservationGranted():
            return EventText(tag="Reserved", text=f"{body.path} ({body.mode})")
        case ReservationRenewed():
            return EventText(tag="Keeps", text=body.path)
        case ReservationReleased():
            return EventText(tag="Gave back", text=body.path)
        case ReservationExpired():
            return EventText(tag="Reservation over", did="ended a reservation", text=body.path)
        case IncursionRecorded(payload=said):
            owner, incoming = called(body.to_agent), called(body.from_agent)
            held = f"reserved by {owner} ({said.owner_liveness}, {said.incursion_kind})"
            advice = "" if is_person(body.from_agent) else f" {said.resolution_hint}"
            text = f"{incoming} tried {body.scope}, {held}.{advice}"
            return EventText(tag="Incursion", did="recorded an incursion", tone="i", text=text)
        case _:
            return None


def _of_permission(body: Body | None, called: Naming) -> EventText | None:
    match body:
        case PermissionAsked():
            text = _joined(body.tool, body.command or body.title, ", ".join(body.paths))
            return EventText(tag="Asks permission", did="asks permission for", tone="b", text=text)
        case PermissionAnswered():
            done, tone = ("allowed", "r") if body.decision == "allow" else ("denied", "i")
            text = _joined(body.message, body.policy)
            did = f"{done} what {called(body.agent_id)} asked in event {body.permission}"
            return EventText(tag=done.capitalize(), did=did, tone=tone, text=text)
        case PermissionWithdrawn():
            did = f"withdrew what {called(body.agent_id)} asked in event {body.permission}"
            return EventText(tag="Withdrawn", did=did, text=body.reason)
        case PermissionPolicySet():
            text = f"{body.default}; unasked: {', '.join([*body.allow_commands, *body.allow_paths]) or 'nothing'}"
            return EventText(tag="Permission policy", did="set the policy for permissions", text=text)
        case _:
            return None


def _of_mail(body: Body | None) -> EventText | None:
    match body:
        case MessageSent():
            attention = body.priority == "attention"
            did = "asks for attention of" if attention else "to"
            tag = "asks for attention" if attention else ""
            return EventText(text=body.text, did=did, to=body.to or ["@all"], tag=tag, tone="b", speech=True)
        case NotificationSent():
            return EventText(tag=body.about, did="notified", text=body.words, to=[body.target_actor_id or "@all"])
        case MessageAcked() | NotificationAcked():
            return EventText(tag="Accepted", did="accepted a message")
        case MessagesRead():
            return EventText(tag="Read", did="read the messages")
        case ReactionAdded():
            return EventText(tag="Reacted", text=body.emoji)
        case BlobAdded():
            return EventText(tag="File", did="added a file", text=f"{body.name or body.sha256} ({body.bytes} bytes)")
        case ContextChanged():
            names = ", ".join(each.name for each in body.ops)
            return EventText(tag="Context", did="changed the shared context", text=names)
        case _:
            return None


def _of_list(body: Body | None) -> EventText | None:
    match body:
        case ItemSetAside():
            return EventText(tag="Put aside", did="put aside", text=body.item)
        case ItemRestored():
            return EventText(tag="Put back", did="put back", text=body.item)
        case _:
            return None


def _of_conversation(body: Body | None) -> EventText | None:
    match body:
        case ActionSubmitted():
            tag = f"Control: {body.command}" if body.command else "Action"
            did = f"sent the control {body.command} to" if body.command else "asked"
            return EventText(tag=tag, did=did, tone="h", to=[body.dst], text=body.text or body.args or "")
        case ActionResultReported():
            tone = RESULT_TONES.get(body.status, "")
            did = f"reported {body.status}"
            return EventText(tag=f"Result: {body.status}", did=did, tone=tone, text=body.detail or "")
        case AgentAttached():
            return EventText(tag="Attached", did="takes requests from now on", tone="r", text=body.program)
        case AgentDetached():
            return EventText(tag="Away", did="went away for now", text=body.reason or "")
        case TaskProgressReported() | TaskDoneReported():
            text = _joined(body.summary or body.detail)
            return EventText(tag=f"Task {body.status}", did=f"says {body.task_id} is {body.status}", text=text)
        case _:
            return None


def _of_work(body: Body | None) -> EventText | None:
    if isinstance(body, ExecutorsOrdered):
        best = ", ".join(body.executors)
        return EventText(tag="Executors", did=f"ordered the executors for {body.profile} jobs", text=best)
    if not isinstance(body, JobBody):
        return None
    event = JOB_WORDS.get(body.event, body.event.replace("_", " "))
    did = f"{JOB_VERBS[body.event]} {body.job_id}" if body.event in JOB_VERBS else f"on {body.job_id}, {event}"
    return EventText(tag=f"Job {event}", did=did, tone=JOB_TONES.get(body.event, ""), text=_job_text(body))


def _of_board(body: Body | None) -> EventText | None:
    match body:
        case TaskCreated() | TaskUpdated():
            new = isinstance(body, TaskCreated)
            did = f"{'wrote' if new else 'changed'} {body.task_id}"
            return EventText(tag="New task" if new else "Task changed", did=did, text=_joined(body.title, body.status))
        case TaskFocused():
            return EventText(tag="Focus", did="works at", text=body.task_id or "nothing")
        case CardCreated() | CardUpdated():
            new = isinstance(body, CardCreated)
            tag, did = ("New card", "wrote a card") if new else ("Card changed", "changed a card")
            return EventText(tag=tag, did=did, text=_joined(body.card_id, body.title))
        case AnchorCreated() | AnchorUpdated():
            new = isinstance(body, AnchorCreated)
            tag, did = ("New anchor", "made an anchor") if new else ("Anchor changed", "changed an anchor")
            return EventText(tag=tag, did=did, text=_joined(body.anchor_id, body.title))
        case _:
            return None


def _job_text(body: JobBody) -> str:
    if isinstance(body, JobCreated):
        return body.title
    summary = (body.summary or "") if isinstance(body, JobCompleted | JobCanceled) else ""
    return summary or body.message if body.event == "completed" else body.message or summary


def _joined(*said: str | UnsetType) -> str:
    return " · ".join(str(each) for each in said if each)


def _listed(data: Mapping[str, object]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in data.items())


def _first_words(data: JsonObject) -> str:
    """The first words there are, whatever they are called."""
    for name in ("text", "message", "title", "summary", "body", "did", "status"):
        if isinstance(said := data.get(name), str) and said:
            return said
    return _listed(data)
