"""`x.tally.permission.*` events, folded into what waits for an answer; leaving and closing settle what is open."""

from __future__ import annotations

from tallystick.capabilities.agents.events import MemberRemoved
from tallystick.capabilities.permissions.events import (
    PermissionAnswered,
    PermissionAsked,
    PermissionDecision,
    PermissionPolicySet,
    PermissionWithdrawn,
)
from tallystick.capabilities.permissions.model import PermissionState
from tallystick.capabilities.permissions.queries import SQL
from tallystick.capabilities.rooms.events import StickClosed
from tallystick.kernel.envelope import Event, or_none
from tallystick.ledger.capability import fold
from tallystick.ledger.tx import Tx


@fold(PermissionAsked)
def asked(tx: Tx, event: Event, body: PermissionAsked) -> None:
    tx.run(
        SQL["ask"],
        room_id=event.room_id,
        seq=event.seq,
        agent_id=body.agent_id,
        request_id=or_none(body.request_id),
    )


@fold(PermissionAnswered)
def answered(tx: Tx, event: Event, body: PermissionAnswered) -> None:
    allowed = body.decision is PermissionDecision.ALLOW
    _settle(tx, event, body.permission, PermissionState.ALLOWED if allowed else PermissionState.DENIED)


@fold(PermissionWithdrawn)
def withdrawn(tx: Tx, event: Event, body: PermissionWithdrawn) -> None:
    _settle(tx, event, body.permission, PermissionState.WITHDRAWN)


def _settle(tx: Tx, event: Event, seq: int, state: PermissionState) -> None:
    tx.run(SQL["settle"], room_id=event.room_id, seq=seq, state=state.value, settled_seq=event.seq)


@fold(MemberRemoved)
def member_left(tx: Tx, event: Event, body: MemberRemoved) -> None:
    tx.run(SQL["settle_of_agent"], room_id=event.room_id, agent_id=body.actor_id, settled_seq=event.seq)


@fold(StickClosed)
def room_closed(tx: Tx, event: Event, _body: StickClosed) -> None:
    tx.run(SQL["settle_all"], room_id=event.room_id, settled_seq=event.seq)


@fold(PermissionPolicySet)
def policy_set(tx: Tx, event: Event, _body: PermissionPolicySet) -> None:
    tx.run(SQL["set_policy"], room_id=event.room_id, seq=event.seq)


FOLDS = (asked, answered, withdrawn, member_left, room_closed, policy_set)
TABLES = ("permissions", "permission_policies")
