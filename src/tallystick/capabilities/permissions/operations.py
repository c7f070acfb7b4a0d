"""`permissions.*`: an agent asks, the policy or a person answers, and the answer is told where it was asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.messages import rules as message_rules
from tallystick.capabilities.messages.model import SYSTEM
from tallystick.capabilities.permissions import queries, rules
from tallystick.capabilities.permissions.contract import (
    AnswerPermission,
    AskPermission,
    ListPermissions,
    PermissionList,
    PermissionPolicyView,
    PermissionRequest,
    PermissionState,
    PermissionView,
    SetPermissionPolicy,
    ShowPermission,
    WithdrawPermission,
)
from tallystick.capabilities.permissions.events import (
    PermissionAnswered,
    PermissionAsked,
    PermissionDecision,
    PermissionOption,
    PermissionPolicySet,
    PermissionWithdrawn,
)
from tallystick.capabilities.permissions.queries import FOLDS, TABLES
from tallystick.capabilities.reservations import queries as reservations
from tallystick.capabilities.reservations import rules as reservation_rules
from tallystick.capabilities.reservations.model import PathAccess
from tallystick.capabilities.rooms import queries as rooms
from tallystick.kernel import envelope
from tallystick.kernel.caller import Caller, ProcessState
from tallystick.kernel.envelope import Draft, or_none, or_unset
from tallystick.kernel.errors import InvalidField
from tallystick.kernel.hints import step
from tallystick.kernel.operation import Declined, Pending, Reach, moment, operation
from tallystick.kernel.scopes import RoomPath
from tallystick.ledger import reading
from tallystick.ledger.capability import Capability
from tallystick.ledger.tx import Tx
from tallystick.workspace import room_paths
from tallystick.workspace.room_paths import RoomRoots

GONE = "the agent that asked has ended"


class _Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What would be changed, as it is called in the room."""

    places: list[RoomPath]
    """As written and where links lead."""
    inside: list[str] | None
    """The same by name; None when something lies outside of the room."""


def _survey(tx: Tx, me: Caller, ask: AskPermission) -> RoomRoots:
    tx.head(ask.room_id)
    member = agents.participant(tx, ask.room_id, agents.acting(tx, ask.room_id, me).agent_id)
    return rooms.roots_here(tx, ask.room_id, member.scope_key if member else "")


def _changes(ask: AskPermission, survey: Callable[[], RoomRoots]) -> _Changes:
    if not ask.paths:
        return _Changes(places=[], inside=[])
    at = survey()
    places = [place for path in ask.paths for place in room_paths.names_in_room(path, at)]
    leads_out = any(room_paths.file_in_room(path, at) is None for path in ask.paths)
    return _Changes(places=places, inside=None if leads_out else [place.path for place in places])


@operation(
    "permissions.ask",
    reach=Reach.WORK,
    writes=True,
    read_before=_survey,
    io_before=_changes,
    examples=({"room_id": "ROOM", "tool": "Bash", "title": "Run the tests", "command": "pytest -q"},),
)
def ask(tx: Tx, me: Caller, ask: AskPermission, changes: _Changes) -> PermissionView:
    """Ask for permission to do something. The room's policy may settle it at once; otherwise people are asked.

    It stays open until somebody answers or you withdraw it: wait with permissions.show. Silence allows nothing.
    """
    room = rooms.open_room(tx, ask.room_id)
    author = message_rules.author(agents.roster(tx, room.room_id), me)
    agent_id = author.principal
    if ask.request_id and (known := queries.named(tx, room.room_id, agent_id, ask.request_id)):
        return _view(tx, room.room_id, known)
    waiting = queries.listed(tx, room.room_id, agent_id=agent_id, limit=rules.OPEN_LIMIT)
    rules.check_open(len(waiting), agent_id)
    options = [PermissionOption(option_id=each.option_id, name=each.name, kind=each.kind) for each in ask.options]
    body = PermissionAsked(
        agent_id=agent_id,
        tool=ask.tool,
        title=ask.title,
        command=or_unset(ask.command),
        paths=ask.paths,
        diff=or_unset(ask.diff),
        options=options,
        action_id=or_unset(ask.action_id),
        request_id=or_unset(ask.request_id),
    )
    draft = Draft.of(body, scope_key=author.scope_key, text=envelope.check_body(body))
    (event,) = tx.append(room.room_id, agent_id, [draft])
    taken = _taken(tx, room.room_id, agent_id, changes.places)
    verdict = rules.verdict(queries.policy(tx, room.room_id), ask, taken=taken, inside=changes.inside)
    if verdict:
        decision = PermissionDecision.ALLOW if verdict.allowed else PermissionDecision.DENY
        settled = PermissionAnswered(
            permission=event.seq,
            agent_id=agent_id,
            decision=decision,
            option_id=or_unset(rules.chosen(options, decision)),
            policy=verdict.rule,
        )
        tx.append(room.room_id, SYSTEM, [Draft.of(settled)])
    return _view(tx, room.room_id, queries.request(tx, room.room_id, event.seq))


def _taken(tx: Tx, room_id: str, agent_id: str, places: Sequence[RoomPath]) -> list[str]:
    """Who else has reserved what would be changed."""
    found = list[str]()
    for scope in places:
        access, by = reservation_rules.verdict(
            reservations.overlapping(tx, room_id, scope), agent_id, scope, now=tx.now
        )
        if access is PathAccess.TAKEN and by:
            found.append(f"{by.reservation.scope.path} by {by.name}")
    return list(dict.fromkeys(found))


@operation(
    "permissions.answer",
    reach=Reach.MANAGE,
    writes=True,
    examples=(
        {"room_id": "ROOM", "permission": 12, "decision": "allow"},
        {"room_id": "ROOM", "permission": 12, "decision": "deny", "message": "use the staging database"},
    ),
)
def answer(tx: Tx, me: Caller, ask: AnswerPermission) -> PermissionView | Declined:
    """Allow or deny what an agent asked to do; it is told at once, with your words. The first answer counts.

    For people, and for agents that the room's policy names. Without an option_id it is for this once.
    """
    room = rooms.open_room(tx, ask.room_id)
    request = queries.request(tx, room.room_id, ask.permission)
    policy = queries.policy(tx, room.room_id)
    rules.check_answerer(policy, request.agent_id, me, ask.decision)
    rules.check_open_still(request, _settled_by(tx, room.room_id, request))
    if _is_gone(tx, room.room_id, request):
        _withdraw(tx, room.room_id, request, SYSTEM, GONE)
        return Declined(rules.settled(queries.request(tx, room.room_id, request.seq), SYSTEM))
    asked = reading.event_at(tx, room.room_id, request.seq).read(PermissionAsked)
    body = PermissionAnswered(
        permission=request.seq,
        agent_id=request.agent_id,
        decision=ask.decision,
        option_id=or_unset(rules.chosen(asked.options, ask.decision, ask.option_id)),
        message=or_unset(ask.message),
    )
    draft = Draft.of(body, text=envelope.check_body(body))
    tx.append(room.room_id, agent_rules.principal(me.agent_id), [draft])
    return _view(tx, room.room_id, queries.request(tx, room.room_id, request.seq))


@operation(
    "permissions.withdraw",
    reach=Reach.WORK,
    writes=True,
    examples=({"room_id": "ROOM", "permission": 12, "reason": "answered at the terminal"},),
)
def withdraw(tx: Tx, me: Caller, ask: WithdrawPermission) -> PermissionView:
    """Take a request of yours back that nobody needs to answer any more."""
    room = rooms.open_room(tx, ask.room_id)
    if (ask.permission is None) == (ask.request_id is None):
        raise InvalidField("Give either permission or request_id.", field="permission")
    mine = agent_rules.principal(me.agent_id)
    named = queries.named(tx, room.room_id, mine, ask.request_id) if ask.request_id else None
    request = named or queries.request(tx, room.room_id, ask.permission or 0)
    rules.check_withdrawer(request, me)
    rules.check_open_still(request, _settled_by(tx, room.room_id, request))
    _withdraw(tx, room.room_id, request, mine, ask.reason)
    return _view(tx, room.room_id, queries.request(tx, room.room_id, request.seq))


def _withdraw(tx: Tx, room_id: str, request: PermissionRequest, by: str, reason: str) -> None:
    body = PermissionWithdrawn(permission=request.seq, agent_id=request.agent_id, reason=reason)
    tx.append(room_id, by, [Draft.of(body)])


@operation("permissions.list", reach=Reach.READ, examples=({"room_id": "ROOM"}, {"room_id": "ROOM", "settled": True}))
def listed(tx: Tx, me: Caller, ask: ListPermissions) -> PermissionList:
    """Show what agents ask permission for and nobody has answered, or what was settled; and the room's policy."""
    room_id = rooms.room(tx, ask.room_id).room_id
    whom = agents.principal_named(tx, room_id, ask.agent_id) if ask.agent_id else ""
    policy = queries.policy(tx, room_id)
    found = [
        _view(tx, room_id, each)
        for each in queries.listed(tx, room_id, agent_id=whom, settled=ask.settled, limit=ask.limit)
    ]
    shown = found if ask.settled else [each for each in found if each.state is PermissionState.OPEN]
    return PermissionList(
        room_id=room_id,
        permissions=shown,
        open=len(_open(tx, room_id)),
        may_answer=rules.may_answer(policy, me),
        policy=_policy_view(policy),
    )


@operation(
    "permissions.show",
    reach=Reach.READ,
    waits=True,
    examples=({"room_id": "ROOM", "permission": 12, "max_wait_ms": 30_000},),
)
def show(tx: Tx, me: Caller, ask: ShowPermission) -> PermissionView | Pending[PermissionView]:
    """Show one request for permission; with `max_wait_ms` wait until it is settled."""
    room_id = rooms.room(tx, ask.room_id).room_id
    view = _view(tx, room_id, queries.request(tx, room_id, ask.permission))
    return Pending(view, wait_ms=ask.max_wait_ms) if view.state is PermissionState.OPEN else view


@operation(
    "permissions.set_policy",
    reach=Reach.MANAGE,
    writes=True,
    examples=({"room_id": "ROOM", "default": "ask", "allow_commands": ["pytest *"], "allow_paths": ["docs/*"]},),
)
def set_policy(tx: Tx, me: Caller, ask: SetPermissionPolicy) -> PermissionPolicyView:
    """Say what agents may do here unasked, who may answer, and whether the rest is asked or denied.

    What is left out stays as it is. Nobody is ever allowed to change what somebody else has reserved.
    """
    room = rooms.open_room(tx, ask.room_id)
    author = message_rules.author(agents.roster(tx, room.room_id), me)
    rules.check_policy_setter(me)
    policy = queries.policy(tx, room.room_id)
    wanted = rules.changed(policy, ask)
    if wanted != policy:
        tx.append(room.room_id, author.principal, [Draft.of(wanted, text=envelope.check_body(wanted))])
    return _policy_view(wanted)


def _policy_view(policy: PermissionPolicySet) -> PermissionPolicyView:
    return PermissionPolicyView(
        default=policy.default,
        allow_commands=policy.allow_commands,
        allow_paths=policy.allow_paths,
        answerers=policy.answerers,
        summary=rules.summary(policy),
    )


def _view(tx: Tx, room_id: str, request: PermissionRequest) -> PermissionView:
    event = reading.event_at(tx, room_id, request.seq)
    body = event.read(PermissionAsked)
    gone = request.state is PermissionState.OPEN and _is_gone(tx, room_id, request)
    settled = reading.event_at(tx, room_id, request.settled_seq) if request.settled_seq else None
    said = settled.content if settled else None
    answered = said if isinstance(said, PermissionAnswered) else None
    why = said.reason if isinstance(said, PermissionWithdrawn) else "the agent left the room" if settled else None
    return PermissionView(
        room_id=room_id,
        permission=request.seq,
        agent_id=request.agent_id,
        tool=body.tool,
        title=body.title,
        command=or_none(body.command),
        paths=body.paths,
        diff=or_none(body.diff),
        options=body.options,
        action_id=or_none(body.action_id),
        request_id=or_none(body.request_id),
        asked_at=moment(event.ts),
        state=PermissionState.WITHDRAWN if gone else request.state,
        settled_at=moment(settled.ts) if settled else None,
        settled_by=settled.by if settled else None,
        option_id=or_none(answered.option_id) if answered else None,
        message=or_none(answered.message) if answered else GONE if gone else why,
        policy=or_none(answered.policy) if answered else None,
    )


def _settled_by(tx: Tx, room_id: str, request: PermissionRequest) -> str:
    return reading.event_at(tx, room_id, request.settled_seq).by if request.settled_seq else ""


def _is_gone(tx: Tx, room_id: str, request: PermissionRequest) -> bool:
    """Whether nobody is there any more who could do what was asked for."""
    asker = agents.member(tx, room_id, request.agent_id)
    return asker is not None and asker.process_state is ProcessState.GONE


def _open(tx: Tx, room_id: str) -> list[PermissionRequest]:
    waiting = queries.listed(tx, room_id, limit=rules.OPEN_LIMIT)
    return [each for each in waiting if not _is_gone(tx, room_id, each)]


def open_requests(tx: Tx, room_id: str) -> list[PermissionView]:
    """What agents of a room wait for somebody to answer."""
    return [_view(tx, room_id, each) for each in _open(tx, room_id)]


def notice(tx: Tx, room_id: str, me: Caller) -> str | None:
    """What those who may answer should know."""
    waiting = _open(tx, room_id)
    mine = [each for each in waiting if each.agent_id != me.agent_id]
    if not mine or not rules.may_answer(queries.policy(tx, room_id), me):
        return None
    what = "request for permission waits" if len(mine) == 1 else "requests for permission wait"
    return f"{len(mine)} {what} for an answer: {step('permissions.list')}"


CAPABILITY = Capability(
    name="permissions",
    package="tallystick.capabilities.permissions",
    operations=(ask, answer, withdraw, listed, show, set_policy),
    folds=FOLDS,
    tables=TABLES,
    notice=notice,
)
