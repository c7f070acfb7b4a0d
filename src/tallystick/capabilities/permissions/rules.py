"""Pure decisions about permissions: what the policy settles, who may answer, and which option an answer chooses."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from fnmatch import fnmatchcase

from msgspec import structs

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.permissions.contract import (
    AskPermission,
    PermissionRequest,
    PermissionState,
    PolicyVerdict,
    SetPermissionPolicy,
)
from tallystick.capabilities.permissions.events import (
    OptionKind,
    PermissionDecision,
    PermissionOption,
    PermissionPolicySet,
    UnansweredDefault,
)
from tallystick.kernel.caller import Caller, is_person
from tallystick.kernel.errors import Conflict, InvalidField, NotAllowed, NotFound
from tallystick.kernel.hints import step

OPEN_LIMIT = 100
"""So many requests of one agent may be open at once."""

_MORE_THAN_ONE_COMMAND = re.compile(r"[;&|<>$`()\n\\]")
"""What can make a second command, a file or another program of a command line: such a line is on no list."""


class PermissionNotFound(NotFound):
    """There is no such request for permission in this room."""

    hint = f"Name a request by its number: {step('permissions.list')} shows the open ones."


class PermissionSettled(Conflict):
    """That request is settled: the first answer counts."""

    hint = f"Nothing is to be done; {step('permissions.list')} shows what is still open."


class MayNotAnswer(NotAllowed):
    """Only a person, or an agent that the room's policy names, answers a request for permission."""

    hint = "Have the user answer it: `tally allow` and `tally deny` at a terminal, or the page."


class NotYourPermission(NotAllowed):
    """Only the agent that asked withdraws a request."""

    hint = f"Answer it instead, if you may: {step('permissions.list')} shows what is open."


class NotYourPolicy(NotAllowed):
    """Only a person says what agents may do unasked."""

    hint = "Have the user set the policy at a terminal, or use a token that may manage."


class TooManyPermissions(Conflict):
    """That agent has too many open requests."""

    hint = f"Withdraw those that nobody needs any more: {step('permissions.list')} shows them."


def verdict(
    policy: PermissionPolicySet, ask: AskPermission, *, taken: Sequence[str], inside: Sequence[str] | None
) -> PolicyVerdict | None:
    """What the policy says at once; None leaves it to the people.

    `taken` says who has reserved what would be changed; `inside` names those paths in the room, None when one lies
    outside of it. What somebody else has reserved is denied before any list is read.
    """
    if taken:
        return PolicyVerdict(allowed=False, rule=f"Reserved by somebody else: {'; '.join(taken)}.")
    if ask.command is not None:
        rule = next((each for each in policy.allow_commands if allows_command(each, ask.command)), None)
    else:
        rule = _for_all(policy.allow_paths, inside)
    if rule is not None:
        return PolicyVerdict(allowed=True, rule=f"This room allows {rule} unasked.")
    if policy.default is UnansweredDefault.DENY:
        return PolicyVerdict(allowed=False, rule="This room denies what it does not allow by name.")
    return None


def _for_all(patterns: Sequence[str], paths: Sequence[str] | None) -> str | None:
    """The patterns that allow every one of the paths; None where one is allowed by none."""
    if not paths:
        return None
    found = [next((each for each in patterns if fnmatchcase(path, each)), None) for path in paths]
    named = [each for each in found if each is not None]
    return " and ".join(dict.fromkeys(named)) if len(named) == len(found) else None


def allows_command(pattern: str, command: str) -> bool:
    """Whether one simple command fits a pattern, word by word; a last `*` stands for any further words."""
    if _MORE_THAN_ONE_COMMAND.search(command):
        return False
    try:
        words, wanted = shlex.split(command), shlex.split(pattern)
    except ValueError:
        return False
    if wanted and wanted[-1] == "*":
        wanted = wanted[:-1]
        words = words[: len(wanted)]
    # A program is named, not matched: `*` in front would allow any.
    return (
        bool(wanted)
        and len(words) == len(wanted)
        and words[0] == wanted[0]
        and all(fnmatchcase(word, each) for word, each in zip(words, wanted, strict=True))
    )


def check_open(count: int, agent_id: str) -> None:
    if count >= OPEN_LIMIT:
        raise TooManyPermissions(f"{count} requests of '{agent_id}' are open.", agent_id=agent_id, limit=OPEN_LIMIT)


def check_answerer(policy: PermissionPolicySet, asked_by: str, me: Caller, decision: PermissionDecision) -> None:
    """A person answers from a session of their own, an agent if the policy names it; nobody for itself.

    Denying is safe from wherever a person's name comes; allowing takes a terminal or the page.
    """
    if me.agent_id == asked_by:
        raise MayNotAnswer(f"'{asked_by}' asked and cannot answer itself.", agent_id=asked_by)
    if agent_rules.persons_session(me) or me.agent_id in policy.answerers:
        return
    if is_person(me.agent_id) and decision is PermissionDecision.DENY:
        return
    if is_person(me.agent_id):
        raise MayNotAnswer("This command has no terminal, so nobody knows that a person typed it.")
    raise MayNotAnswer(f"The policy of this room does not let '{me.agent_id}' answer.", agent_id=me.agent_id)


def may_answer(policy: PermissionPolicySet, me: Caller) -> bool:
    """Whether requests for permission are this caller's business."""
    return is_person(me.agent_id) or me.agent_id in policy.answerers


def check_policy_setter(me: Caller) -> None:
    """A person, or whoever was given a token that may manage: an agent of this machine would allow itself anything."""
    if not agent_rules.persons_session(me) and not me.by_token:
        raise NotYourPolicy(f"You are '{me.agent_id}'.", agent_id=me.agent_id)


def settled(request: PermissionRequest, by: str) -> PermissionSettled:
    text = f"Request {request.seq} was {request.state} by {by}."
    return PermissionSettled(text, permission=request.seq, state=request.state.value, by=by)


def check_open_still(request: PermissionRequest, by: str) -> None:
    if request.state is not PermissionState.OPEN:
        raise settled(request, by)


def check_withdrawer(request: PermissionRequest, me: Caller) -> None:
    if request.agent_id != agent_rules.principal(me.agent_id):
        raise NotYourPermission(f"'{request.agent_id}' asked that.", permission=request.seq, agent_id=request.agent_id)


_KINDS = {
    PermissionDecision.ALLOW: (OptionKind.ALLOW_ONCE, OptionKind.ALLOW_ALWAYS),
    PermissionDecision.DENY: (OptionKind.REJECT_ONCE, OptionKind.REJECT_ALWAYS),
}


def chosen(
    options: Sequence[PermissionOption], decision: PermissionDecision, option_id: str | None = None
) -> str | None:
    """The option that an answer stands for: the one named, else the one for this once.

    Never one for ever that nobody named: None where the harness offers nothing else.
    """
    kinds = _KINDS[decision]
    if option_id is None:
        return next((each.option_id for each in options if each.kind is kinds[0]), None)
    found = next((each for each in options if each.option_id == option_id), None)
    if found is None or found.kind not in kinds:
        fitting = [each.option_id for each in options if each.kind in kinds]
        raise InvalidField(
            f"'{option_id}' is no option to {decision} it; there are {', '.join(fitting) or 'none'}.",
            field="option_id",
            valid=fitting,
        )
    return found.option_id


def changed(policy: PermissionPolicySet, ask: SetPermissionPolicy) -> PermissionPolicySet:
    """The policy with what is given replaced."""
    for pattern in ask.allow_commands or ():
        check_command_pattern(pattern)
    return structs.replace(
        policy,
        default=ask.default or policy.default,
        allow_commands=_given(ask.allow_commands, policy.allow_commands),
        allow_paths=_given(ask.allow_paths, policy.allow_paths),
        answerers=_given(ask.answerers, policy.answerers),
    )


def _given(new: list[str] | None, old: list[str]) -> list[str]:
    return old if new is None else new


def check_command_pattern(pattern: str) -> None:
    try:
        words = shlex.split(pattern)
    except ValueError:
        words = []
    if not words or any(mark in words[0] for mark in "*?[") or _MORE_THAN_ONE_COMMAND.search(pattern):
        raise InvalidField(
            f"'{pattern}' is no pattern for one simple command: begin with the program's name, as in 'pytest *'.",
            field="allow_commands",
        )


def summary(policy: PermissionPolicySet) -> str:
    """The policy in a sentence."""
    otherwise = "asked of a person" if policy.default is UnansweredDefault.ASK else "denied"
    free = [*policy.allow_commands, *policy.allow_paths]
    listed = f"{', '.join(free)} need no asking; " if free else ""
    also = f" {', '.join(policy.answerers)} may answer too." if policy.answerers else ""
    return f"{listed}everything else is {otherwise}, and what somebody else reserved is always denied.{also}"
