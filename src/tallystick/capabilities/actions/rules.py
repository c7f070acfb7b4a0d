"""Pure decisions about actions: who may ask whom, what is delivered next, which results count, when replies end.

Nothing here reads a clock: an action's state changes only when it is submitted or a result is reported.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import ClassVar

from tallystick.capabilities.actions.contract import ContextFields, ControlAction, MessageAction, ReportResult
from tallystick.capabilities.actions.events import ActionStatus, ActionType, ControlCommand
from tallystick.capabilities.actions.model import Action, AttachedProgram, Conversation, QueueHeads, QueueLane
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.agents.errors import AgentNotFound
from tallystick.capabilities.agents.model import Member, Participant
from tallystick.capabilities.messages.events import MessageKind, MessageSent
from tallystick.kernel.caller import Caller, ProcessState, is_person
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import or_none
from tallystick.kernel.errors import Conflict, InvalidField, InvalidInput, NotAllowed, NotFound, Unavailable
from tallystick.kernel.hints import step
from tallystick.kernel.ids import digest

EXCHANGE_LIMIT = 256
"""So many questions of a conversation may be answered before it ends: two agents that feed on each other stop."""
NO_QUEUE = "Name a member by its agent id or its name (agents.list); answer a person with a message instead."
QUEUE_LIMIT = 1000
"""So many actions may wait in one lane of a target."""


class NotConversationOwner(NotAllowed):
    """Only the owner of a conversation may send follow-ups in it."""

    code: ClassVar[str] = "not_owner"
    hint = "Answer with kind reply what you were asked, or open a conversation of your own with a new context_id."


class NotTarget(NotAllowed):
    """Only the target of an action may say what became of it."""

    hint = f"Send results for the actions that were delivered to you: {step('actions.pending')} lists them."


class SelfTarget(InvalidInput):
    """An action cannot be sent to oneself."""

    hint = "Name another agent of the room in dst."


class ActionNotFound(NotFound):
    """There is no such action in this room."""

    hint = f"Use the action_id that was delivered: {step('actions.pending')} lists what is open."


class ActionGroupNotFound(NotFound):
    """There is no such group of actions of that sender in this room."""

    hint = "Use the group_id that the submission answered; agent_id names another sender."


class DuplicateActionId(Conflict):
    """That action_id was already used in this room."""

    hint = "Give every action a new id; to repeat a lost call, send it with the same idempotency key."


class DuplicateGroup(Conflict):
    """You have already submitted a group with that id."""

    hint = "Give every group a new id; to repeat a lost call, send it with the same idempotency key."


class DuplicateResult(Conflict):
    """The action has that status already."""

    hint = "Nothing is to be done; send the next status when it changes."


class ActionFinished(Conflict):
    """The action is finished: its last result was terminal, and a later one changes nothing."""

    hint = "Drop this result; whatever comes next needs an action of its own."


class NotDelivered(Conflict):
    """That action has not been delivered yet: others come before it."""

    hint = f"Answer the actions in the order in which they are delivered: {step('actions.pending')} shows the next one."


class ReplyChain(Conflict):
    """A reply ends the exchange: nobody replies to a reply."""

    hint = "Do not answer replies; the conversation's owner may follow up with a message of kind user."


class AlreadyReplied(Conflict):
    """That action has its reply already."""

    hint = "One reply answers one action; say how the work goes on with action.result or task events."


class ConversationExhausted(Conflict):
    """This conversation has gone to and fro as often as one may."""

    hint = "Sum up what is known and, if there is a reason to go on, open a new conversation with another context_id."


class NotAsked(NotAllowed):
    """Only a message of kind user that was delivered to you can be replied to, and only to its sender."""

    hint = "Name in reply_to_action_id what you were asked, and send the reply to who asked."


class MayNotAsk(NotAllowed):
    """Your token may speak, and an attached agent takes what is said to it as work."""

    hint = "Leave attached agents out of `to`, or use a token with the reach work."


class QueueFull(Unavailable):
    """Too many actions are waiting for that agent."""

    hint = f"Wait until it has worked some of them off: {step('actions.pending')} shows how many there are."


def check_group(actions: Sequence[MessageAction | ControlAction]) -> None:
    """A group is ordered by place and by index, and the two must agree."""
    for earlier, later in itertools.pairwise(actions):
        if later.action_index <= earlier.action_index:
            raise InvalidField("action_index must rise from one action to the next.", field="actions.action_index")
    seen = set[str]()
    for each in actions:
        if each.action_id in seen:
            raise DuplicateActionId(f"'{each.action_id}' stands twice in this group.", action_id=each.action_id)
        seen.add(each.action_id)
        if isinstance(each, MessageAction) and each.kind not in {MessageKind.USER, MessageKind.REPLY}:
            raise InvalidField(f"An action is of kind user or reply, not {each.kind}.", field="actions.kind")
        if isinstance(each, MessageAction) and not each.text.strip():
            raise InvalidField("text must be non-empty.", field="actions.text")
        if isinstance(each, ControlAction) and each.args is not None and each.command is not ControlCommand.REVIEW:
            raise InvalidField(f"args belong to review, not to {each.command}.", field="actions.args")


def target(members: Sequence[Participant], dst: str, src: str) -> str:
    """The agent that is meant, by id or by name."""
    try:
        found = agent_rules.named(members, dst)
    except AgentNotFound:
        found = None
    if found is None or is_person(found.agent_id):
        known = [member.agent_id for member in members if not is_person(member.agent_id)]
        raise AgentNotFound(f"'{dst}' is no agent of this room.", hint=NO_QUEUE, dst=dst, known=known)
    if found.agent_id == src:
        raise SelfTarget(f"You are '{src}'.", dst=dst)
    return found.agent_id


def conversation(known: Conversation | None, asked: ContextFields, src: str, default_id: str) -> Conversation:
    """The conversation that a follow-up belongs to: an existing one of the sender's, or a new one that it opens."""
    owner = known.owner_id if known else asked.owner_id or src
    context_id = asked.context_id or default_id
    if src != owner or (asked.owner_id is not None and asked.owner_id != owner):
        raise NotConversationOwner(
            f"The conversation '{context_id}' belongs to '{owner}'.", context_id=context_id, owner_id=owner
        )
    if known and known.exchanges >= EXCHANGE_LIMIT:
        raise ConversationExhausted(
            f"'{context_id}' has had {known.exchanges} exchanges.", context_id=context_id, limit=EXCHANGE_LIMIT
        )
    return known or Conversation(context_id=context_id, owner_id=owner)


def check_ending(known: Conversation | None, src: str, context_id: str) -> None:
    """Only the owner of a conversation may end it."""
    if known is None or known.owner_id != src:
        owner = known.owner_id if known else None
        raise NotConversationOwner(
            f"The conversation '{context_id}' belongs to '{owner}'."
            if known
            else f"There is no conversation '{context_id}'.",
            context_id=context_id,
            owner_id=owner,
        )


def settled(action: Action) -> bool:
    """Whether the requester need not wait any longer: it is finished, or blocked until somebody decides."""
    return action.finished or action.status is ActionStatus.BLOCKED


def asked(message: MessageSent, members: Sequence[Participant], author: str, attached: Sequence[str]) -> list[str]:
    """The attached agents of which a message asks something: whom it names, or selects.

    What is said to nobody in particular asks nobody. Attached agents ask by name only: two that select each other with
    every answer would never stop.
    """
    named = {_named_id(members, token) for token in message.to if not token.startswith("@")}
    selects = any(token.startswith("@") for token in message.to) and author not in attached
    meant = [each for each in message.recipients if selects or each in named]
    return [each for each in meant if each in attached and each != author]


def _named_id(members: Sequence[Participant], token: str) -> str:
    try:
        return agent_rules.named(members, token).agent_id
    except AgentNotFound:
        return token


def check_may_ask(me: Caller, targets: Sequence[str]) -> None:
    if not me.may_work:
        raise MayNotAsk(f"What is said to '{targets[0]}' is work for it.", asked=list(targets))


def action_of_message(event_id: str, index: int) -> str:
    return f"{event_id}:{index}"


def request_text(message: MessageSent) -> str:
    """What an attached agent is told of a message."""
    files = [
        f"Attached: {each.get('title') or each['path']} ({each['path']})" for each in or_none(message.attachments) or ()
    ]
    return "\n".join([*([message.text] if message.text.strip() else []), *files])


def standing_conversation(src: str, dst: str) -> Conversation:
    """The conversation of those who name none: one for each that talks to an agent, and it never ends."""
    return Conversation(context_id=f"with:{digest(src, dst, length=24)}", owner_id=src)


def check_exchanges(found: Conversation, *, talks: bool) -> None:
    """Two attached agents that feed on each other stop; a person or a script is not fed by the answers."""
    if talks and found.exchanges >= EXCHANGE_LIMIT:
        raise ConversationExhausted(
            f"'{found.context_id}' has had {found.exchanges} exchanges.",
            context_id=found.context_id,
            limit=EXCHANGE_LIMIT,
        )


AWAY_MS = 5 * 60_000
"""An attached agent gives a sign of life every minute; one that can only be judged by that is away after this time."""


def away(known: AttachedProgram | None, member: Member | None, *, now: Instant) -> bool:
    """Whether nobody answers right now: it said so, its process is gone, or nothing was heard of it for long."""
    if known is None or member is None or known.away or member.process_state is ProcessState.GONE:
        return True
    return member.process_state is not ProcessState.ALIVE and now - member.last_seen_at > AWAY_MS


def replies(actions: Sequence[MessageAction | ControlAction]) -> bool:
    """Whether a group answers others; a group that partly does would belong to two conversations."""
    found = [isinstance(each, MessageAction) and each.kind is MessageKind.REPLY for each in actions]
    if any(found) and not all(found):
        raise InvalidField("A group holds replies or follow-ups, not both.", field="actions.kind")
    return all(found)


def answered_by(reply: MessageAction | ControlAction) -> str:
    found = reply.reply_to_action_id if isinstance(reply, MessageAction) else None
    if found is None:
        raise InvalidField("A reply names what it answers in reply_to_action_id.", field="actions.reply_to_action_id")
    return found


def answering(found: Conversation | None, asked: ContextFields) -> Conversation:
    """The conversation that a reply belongs to; its owner is not the sender's to choose."""
    if found is None or asked.owner_id not in {None, found.owner_id}:
        owner = found.owner_id if found else None
        raise NotConversationOwner(f"That conversation belongs to '{owner}'.", owner_id=owner)
    return found


def check_follow_up(earlier: Action, found: Conversation) -> None:
    if earlier.context_id != found.context_id:
        raise InvalidField(
            f"'{earlier.action_id}' belongs to another conversation.", field="actions.reply_to_action_id"
        )


def check_reply(asked: Action, heads: QueueHeads, src: str, *, context_id: str | None, dst: str | None) -> None:
    """A reply answers, once, a user message that was delivered to the one who replies, and goes to who asked."""
    if asked.type is ActionType.MESSAGE and asked.kind is MessageKind.REPLY:
        raise ReplyChain(f"'{asked.action_id}' is a reply itself.", action_id=asked.action_id)
    if asked.type is not ActionType.MESSAGE or asked.dst != src:
        raise NotAsked(f"'{asked.action_id}' asked nothing of '{src}'.", action_id=asked.action_id)
    if dst is not None and dst != asked.src:
        raise NotAsked(f"'{asked.action_id}' was asked by '{asked.src}'.", action_id=asked.action_id, dst=asked.src)
    if context_id is not None and context_id != asked.context_id:
        raise InvalidField(f"'{asked.action_id}' belongs to another conversation.", field="context.context_id")
    if asked.replied:
        raise AlreadyReplied(f"'{asked.action_id}' has its reply.", action_id=asked.action_id)
    check_delivered(asked, heads)


def lane(command: ControlCommand | None) -> QueueLane:
    return QueueLane.INTERRUPT if command is ControlCommand.INTERRUPT else QueueLane.ORDINARY


def check_queue(dst: str, waiting: int, more: int) -> None:
    if waiting + more > QUEUE_LIMIT:
        raise QueueFull(f"{waiting} actions wait for '{dst}'; at most {QUEUE_LIMIT} may.", dst=dst, limit=QUEUE_LIMIT)


def deliverable(heads: QueueHeads) -> Action | None:
    """The one action that may be handed to a target now: an open interrupt comes first and holds up the rest."""
    first = heads.interrupt or heads.ordinary
    return first if first and not first.answered else None


def releases(type: ActionType, status: ActionStatus) -> bool:
    """Whether the next action may follow one with this status: at once after an accepted message, else at its end."""
    return status.terminal or (type is ActionType.MESSAGE and status is ActionStatus.ACCEPTED)


def check_result(action: Action, heads: QueueHeads, me: str, ask: ReportResult) -> None:
    """A result comes from the target, about what was delivered to it, and changes something."""
    if me != action.dst:
        raise NotTarget(f"'{action.action_id}' was sent to '{action.dst}', not to '{me}'.", dst=action.dst)
    for name in ("group_id", "action_index"):
        said, known = getattr(ask, name), getattr(action, name)
        if said is not None and said != known:
            raise InvalidField(f"'{action.action_id}' has {name} {known}, not {said}.", field=name)
    said = {"action_id": action.action_id, "status": action.status.value if action.status else None}
    if action.finished:
        raise ActionFinished(f"'{action.action_id}' is finished: {action.status}.", details=said)
    if action.status is ask.status:
        raise DuplicateResult(f"'{action.action_id}' is {action.status} already.", details=said)
    check_delivered(action, heads)


def check_delivered(action: Action, heads: QueueHeads) -> None:
    """Nothing is said of an action that others come before."""
    head = heads.of(action.lane)
    if not action.answered and (head is None or head.action_id != action.action_id):
        before = head.action_id if head else None
        said = {"action_id": action.action_id, "status": None, "next": before}
        raise NotDelivered(f"'{action.action_id}' comes after '{before}'.", details=said)


def new_context(data: Mapping[str, object] | None) -> str | None:
    """The conversation that a finished `new` has opened, if it says so."""
    for name in ("new_context_id", "new_task_id"):
        value = (data or {}).get(name)
        if value is not None and not (isinstance(value, str) and 0 < len(value) <= 200 and "\0" not in value):
            raise InvalidField(f"data.{name} is a text of 1 to 200 characters.", field=f"data.{name}")
    found = (data or {}).get("new_context_id")
    return found if isinstance(found, str) else None


def check_new_context(taken: Conversation | None, former: Conversation | None) -> None:
    """A conversation that replaces another keeps its owner, and so cannot be somebody else's."""
    if taken and former and taken.owner_id != former.owner_id:
        raise NotConversationOwner(
            f"The conversation '{taken.context_id}' belongs to '{taken.owner_id}'.", context_id=taken.context_id
        )
