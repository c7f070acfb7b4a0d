"""Pure decisions about rooms: which one a path belongs to, and which changes are allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import structs

from tallystick.capabilities.agents.model import Participant
from tallystick.capabilities.rooms.events import PolicyChanged, RoomCreated, ScopeAttached, SequenceChanged
from tallystick.capabilities.rooms.model import Policy, Scope
from tallystick.kernel.envelope import Draft
from tallystick.kernel.errors import Conflict, InvalidInput
from tallystick.kernel.hints import step
from tallystick.kernel.ids import digest
from tallystick.workspace.room_paths import Workspace

HANDOFF_TEMPLATE: Mapping[str, object] = {
    "status": "What I did:\nWhat I learned:\nOpen risks:",
    "next_action": "What the next agent should do first.",
    "artifacts": [{"path": "src/example.py", "lines": [10, 42], "role": "review", "note": "why to look here"}],
    "open_questions": ["What is still undecided?"],
    "do_not": ["What must the next agent leave alone?"],
}


class PathTaken(Conflict):
    """That path already belongs to another open room."""

    hint = f"Join that room instead with {step('rooms.join')}, or close it first."


class InvalidSequence(InvalidInput):
    """The new sequence must name every member exactly once."""

    hint = f"{step('turns.state')} lists the members: name all of them in the order you want."


class InvalidPolicy(InvalidInput):
    """These timeouts do not fit together."""

    hint = "Keep the heartbeat interval below the owner lease, and every value within its bounds."


class JoinTarget(msgspec.Struct, frozen=True, kw_only=True):
    """Where a join ends up: an existing room, or a root to create one at."""

    room_id: str | None
    root: str = ""
    scope_key: str = ""
    warning: str | None = None


def join_target(workspace: Workspace, above: Sequence[Scope], machine_id: str, *, force_new: bool) -> JoinTarget:
    """Join the deepest room on the way up to the workspace root, unless a nested one is asked for."""
    deepest = above[0] if above else None
    if deepest and (not force_new or deepest.root == workspace.canonical):
        further = above[1] if force_new and len(above) > 1 else None
        return JoinTarget(
            room_id=deepest.room_id, root=deepest.root, scope_key=deepest.scope_key, warning=_separate(further)
        )
    root = workspace.canonical if force_new else workspace.root
    return JoinTarget(room_id=None, root=root, scope_key=scope_key(machine_id, root), warning=_separate(deepest))


def _separate(above: Scope | None) -> str | None:
    """What somebody should know who asked for a room of its own below another."""
    return f"A room exists above, at {above.root}; its turns and this room's are separate." if above else None


def scope_key(machine_id: str, root: str) -> str:
    return f"s_{digest(machine_id, root, length=16)}"


def creation(*, title: str, root: str, policy: Policy) -> Draft:
    return Draft.of(RoomCreated(title=title, canonical_path=root, policy=policy.data()))


def attachment(machine_id: str, root: str) -> Draft:
    return Draft.of(ScopeAttached(machine_id=machine_id, root=root), scope_key=scope_key(machine_id, root))


def policy_change(policy: Policy, changes: Mapping[str, int | str]) -> Draft | None:
    """The event that sets a new policy, or None when nothing changes."""
    wanted = structs.replace(policy, **changes)
    if wanted.heartbeat_interval_ms >= wanted.owner_lease_ttl_ms:
        raise InvalidPolicy("heartbeat_interval_ms must be below owner_lease_ttl_ms.", field="heartbeat_interval_ms")
    return None if wanted == policy else Draft.of(PolicyChanged(policy=wanted.data()))


def reordering(
    members: Sequence[Participant], sequence: Sequence[str], *, present: Sequence[Participant]
) -> Draft | None:
    """The event that sets a new turn order, or None when it is the present one; who is gone may be left out."""
    order, here = [member.agent_id for member in members], [member.agent_id for member in present]
    if len(set(sequence)) != len(sequence) or not set(here) <= set(sequence):
        raise InvalidSequence(members=here)
    wanted = [*sequence, *(each for each in order if each not in sequence)]
    return None if wanted == order else Draft.of(SequenceChanged(sequence=wanted))
