"""Every capability, in one list. Adding one is one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tallystick.capabilities.actions import operations as actions
from tallystick.capabilities.agents import operations as agents
from tallystick.capabilities.agents.model import Holdings
from tallystick.capabilities.attention import operations as attention
from tallystick.capabilities.blobs import operations as blobs
from tallystick.capabilities.jobs import operations as jobs
from tallystick.capabilities.messages import operations as messages
from tallystick.capabilities.permissions import operations as permissions
from tallystick.capabilities.protocol import operations as protocol
from tallystick.capabilities.reservations import operations as reservations
from tallystick.capabilities.rooms import operations as rooms
from tallystick.capabilities.tasks import operations as tasks
from tallystick.capabilities.turns import operations as turns
from tallystick.hub import operations as hub_operations
from tallystick.kernel.errors import UnknownOperation, did_you_mean
from tallystick.kernel.operation import AnyOperation
from tallystick.ledger import operations as ledger_operations
from tallystick.ledger.capability import Capability, Holding
from tallystick.ledger.tx import Fold, Tx
from tallystick.storage import sql_files
from tallystick.storage.sql_files import Migration

CAPABILITIES: Sequence[Capability] = (
    ledger_operations.CAPABILITY,
    agents.CAPABILITY,
    rooms.CAPABILITY,
    turns.CAPABILITY,
    messages.CAPABILITY,
    blobs.CAPABILITY,
    tasks.CAPABILITY,
    jobs.CAPABILITY,
    actions.CAPABILITY,
    reservations.CAPABILITY,
    permissions.CAPABILITY,
    protocol.CAPABILITY,
    attention.CAPABILITY,
    hub_operations.CAPABILITY,
)

OPERATIONS: Mapping[str, AnyOperation] = {
    operation.name: operation for capability in CAPABILITIES for operation in capability.operations
}


def find(name: str) -> AnyOperation:
    found = OPERATIONS.get(name)
    if found is None:
        meant = did_you_mean(name, OPERATIONS)
        raise UnknownOperation(f"There is no operation '{name[:80]}'.{meant}", operation=name)
    return found


def folds() -> Mapping[str, Sequence[Fold]]:
    """What turns each kind of event into rows, in the order of the capabilities."""
    found: dict[str, list[Fold]] = {}
    for capability in CAPABILITIES:
        for folding in capability.folds:
            for body in folding.bodies:
                found.setdefault(body.kind, []).append(folding.run)
    return found


def deferred() -> Mapping[str, Fold]:
    """The same of folds that may run some time after the event was written."""
    return {
        body.kind: folding.run
        for capability in CAPABILITIES
        for folding in capability.deferred_folds
        for body in folding.bodies
    }


def offers() -> Mapping[type, object]:
    """What answers each protocol; of two that answer the same one, the later in the list."""
    holdings = AllHoldings([capability.holdings for capability in CAPABILITIES if capability.holdings])
    offered = {port: answer for capability in CAPABILITIES for port, answer in capability.offers.items()}
    return {**offered, Holdings: holdings}


def schema() -> Sequence[Migration]:
    return [migration for capability in CAPABILITIES for migration in sql_files.load_migrations(capability.package)]


def tables() -> Sequence[str]:
    """Every projection table; a later capability's come first, since they may refer to an earlier one's."""
    return [table for capability in reversed(CAPABILITIES) for table in capability.tables]


def deferred_tables() -> Sequence[str]:
    """The tables of projections that may lag behind the ledger."""
    return [table for capability in CAPABILITIES for table in capability.deferred_tables]


class AllHoldings:
    def __init__(self, sources: Sequence[Callable[[Tx, str], Sequence[Holding]]]) -> None:
        self._sources = sources

    def held(self, tx: Tx, room_id: str) -> Sequence[Holding]:
        return [holding for source in self._sources for holding in source(tx, room_id)]
