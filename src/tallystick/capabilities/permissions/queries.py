"""Reads requests for permission and the policy of a room."""

from __future__ import annotations

from tallystick.capabilities.permissions.errors import PermissionNotFound
from tallystick.capabilities.permissions.events import PermissionPolicySet
from tallystick.capabilities.permissions.model import ASK_FOR_EVERYTHING, PermissionRequest
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx
from tallystick.storage.queries import Queries

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
