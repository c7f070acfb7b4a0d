"""What the ledger says of permissions: what an agent wanted to do, and who allowed or denied it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import UNSET, UnsetType

from tallystick.kernel.envelope import Body
from tallystick.kernel.operation import Record


class OptionKind(StrEnum):
    """What choosing an option means, as harnesses tell them apart."""

    ALLOW_ONCE = "allow_once"
    ALLOW_ALWAYS = "allow_always"
    REJECT_ONCE = "reject_once"
    REJECT_ALWAYS = "reject_always"


class PermissionDecision(StrEnum):
    ALLOW = "allow"
    DENY = "deny"


class UnansweredDefault(StrEnum):
    """What becomes of a request that no list of the policy allows."""

    ASK = "ask"
    DENY = "deny"


class PermissionOption(Record):
    """One of the answers that the harness offers."""

    option_id: str
    name: str
    kind: OptionKind


class PermissionAsked(Body, kind="x.tally.permission.ask"):
    """An agent wants to do something that it may not do unasked."""

    agent_id: str
    tool: str
    title: str
    """What it would do, in a line."""
    command: str | UnsetType = UNSET
    paths: list[str]
    """What it would change."""
    diff: str | UnsetType = UNSET
    options: list[PermissionOption]
    action_id: str | UnsetType = UNSET
    """The request that it works on."""
    request_id: str | UnsetType = UNSET
    """The agent's own name of it."""


class PermissionAnswered(Body, kind="x.tally.permission.answer"):
    """A request was allowed or denied, by somebody or by the room's policy; the first answer counts."""

    permission: int
    """The number of the event that asked."""
    agent_id: str
    """Who had asked."""
    decision: PermissionDecision
    option_id: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    """What the agent is told."""
    policy: str | UnsetType = UNSET
    """The rule that decided, where nobody did."""


class PermissionWithdrawn(Body, kind="x.tally.permission.withdraw"):
    """A request that nobody needs to answer any more."""

    permission: int
    agent_id: str
    reason: str


class PermissionPolicySet(Body, kind="x.tally.permission.policy"):
    """From now on the room settles requests for permission like this."""

    default: UnansweredDefault
    allow_commands: list[str]
    allow_paths: list[str]
    answerers: list[str]
    """The agents that may answer besides the people."""
