"""What agents need of capabilities above them: what each holds and works on, and the room it is in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tallystick.capabilities.agents.model import OwnedTask
from tallystick.kernel.caller import Caller
from tallystick.ledger.capability import Holding
from tallystick.ledger.tx import Tx
from tallystick.workspace.room_paths import RoomRoots


class Holdings(Protocol):
    """All that is held in a room; gathered by the hub from every capability that has something to hold."""

    def held(self, tx: Tx, room_id: str) -> Sequence[Holding]: ...


class Ownership(Protocol):
    """Which tasks an agent works on; answered by `tasks`."""

    def in_progress(self, tx: Tx, room_id: str, agent_id: str) -> Sequence[OwnedTask]: ...


class RoomAccess(Protocol):
    """The room that an agent goes on in; answered by `rooms`."""

    def roots_here(self, tx: Tx, room_id: str, scope_key: str) -> RoomRoots:
        """The room's roots on this machine."""
        ...

    def check_leaving(self, tx: Tx, room_id: str, me: Caller) -> None:
        """Refuse while the caller holds the stick: nobody leaves with it."""
        ...
