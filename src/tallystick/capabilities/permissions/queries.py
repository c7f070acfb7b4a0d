"""Requests for permission and the policy of a room, read, and `x.tally.permission.*` events folded into them.

Leaving and closing settle what is open.
"""

from __future__ import annotations

from tallystick.capabilities.agents.events import MemberRemoved
from tallystick.capabilities.permissions.contract import ASK_FOR_EVERYTHING, PermissionRequest, PermissionState
from tallystick.capabilities.permissions.events import (
    PermissionAnswered,
    PermissionAsked,
    PermissionDecision,
    PermissionPolicySet,
    PermissionWithdrawn,
)
from tallystick.capabilities.permissions.rules import PermissionNotFound
from tallystick.capabilities.rooms.events import StickClosed
from tallystick.kernel.envelope import Event, or_none
from tallystick.ledger import reading
from tallystick.ledger.capability import fold
from tallystick.ledger.tx import Tx
from tallystick.storage.sql_files import Queries

SQL = Queries("tallystick.capabilities.permissions")


def request(tx: Tx, room_id: str, seq: int) -> PermissionRequest:
    found = tx.one(SQL["request"], PermissionRequest.of_row, room_id=room_id, seq=seq)
    if found is None:
        raise PermissionNotFound(f"{seq} is no request for permission.", permission=seq)
    return found


def named(tx: Tx, room_id: str, agent_id: str, request_id: str) -> PermissionRequest | None:
    """An agent's open request under its own name of it."""
    return tx.one(SQL["named"], PermissionRequest.of_row, room_id=room_id, agent_id=agent_id, request_id=request_id)


def listed(tx: Tx, room_id: str, *, agent_id: str = "", settled: bool = False, limit: int) -> list[PermissionRequest]:
    query = SQL["settled" if settled else "open"]
    return tx.all(query, PermissionRequest.of_row, room_id=room_id, agent_id=agent_id, limit=limit)


def policy(tx: Tx, room_id: str) -> PermissionPolicySet:
    seq = tx.one(SQL["policy"], _seq, room_id=room_id)
    return reading.event_at(tx, room_id, seq).read(PermissionPolicySet) if seq else ASK_FOR_EVERYTHING


def _seq(*, seq: int) -> int:
    return seq


@fold(PermissionAsked)
def _asked(tx: Tx, event: Event, body: PermissionAsked) -> None:
    tx.run(
        SQL["ask"],
        room_id=event.room_id,
        seq=event.seq,
        agent_id=body.agent_id,
        request_id=or_none(body.request_id),
    )


@fold(PermissionAnswered)
def _answered(tx: Tx, event: Event, body: PermissionAnswered) -> None:
    allowed = body.decision is PermissionDecision.ALLOW
    _settle(tx, event, body.permission, PermissionState.ALLOWED if allowed else PermissionState.DENIED)


@fold(PermissionWithdrawn)
def _withdrawn(tx: Tx, event: Event, body: PermissionWithdrawn) -> None:
    _settle(tx, event, body.permission, PermissionState.WITHDRAWN)


def _settle(tx: Tx, event: Event, seq: int, state: PermissionState) -> None:
    tx.run(SQL["settle"], room_id=event.room_id, seq=seq, state=state.value, settled_seq=event.seq)


@fold(MemberRemoved)
def _member_left(tx: Tx, event: Event, body: MemberRemoved) -> None:
    tx.run(SQL["settle_of_agent"], room_id=event.room_id, agent_id=body.actor_id, settled_seq=event.seq)


@fold(StickClosed)
def _room_closed(tx: Tx, event: Event, _body: StickClosed) -> None:
    tx.run(SQL["settle_all"], room_id=event.room_id, settled_seq=event.seq)


@fold(PermissionPolicySet)
def _policy_set(tx: Tx, event: Event, _body: PermissionPolicySet) -> None:
    tx.run(SQL["set_policy"], room_id=event.room_id, seq=event.seq)


FOLDS = (_asked, _answered, _withdrawn, _member_left, _room_closed, _policy_set)
TABLES = ("permissions", "permission_policies")
