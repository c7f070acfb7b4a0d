"""Every capability, in one list. Adding one is one line here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tallystick.capabilities import actions, agents, blobs, jobs, messages, protocol, reservations, rooms, tasks, turns
from tallystick.capabilities.agents.model import Holdings
from tallystick.hub import operations as hub_operations
from tallystick.hub.bindings import BINDINGS
from tallystick.hub.holdings import AllHoldings
from tallystick.kernel.errors import UnknownOperation
from tallystick.kernel.operation import Operation
from tallystick.ledger import operations as ledger_operations
from tallystick.ledger.capability import Capability
from tallystick.ledger.tx import Projection
from tallystick.storage import migrations
from tallystick.storage.migrations import Migration

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
    protocol.CAPABILITY,
    hub_operations.CAPABILITY,
)

OPERATIONS: Mapping[str, Operation] = {
    operation.name: operation for capability in CAPABILITIES for operation in capability.operations
}


def find(name: str) -> Operation:
    found = OPERATIONS.get(name)
    if found is None:
        import difflib  # Here: only a misspelt name needs it.

        near = difflib.get_close_matches(name, OPERATIONS, n=1)
        meant = f" Did you mean '{near[0]}'?" if near else ""
        raise UnknownOperation(f"There is no operation '{name[:80]}'.{meant}", operation=name)
    return found


def projections() -> Mapping[str, Sequence[Projection]]:
    folds: dict[str, list[Projection]] = {}
    for capability in CAPABILITIES:
        for kind, fold in capability.projections.items():
            folds.setdefault(kind, []).append(fold)
    return folds


def deferred() -> Mapping[str, Projection]:
    return {kind: fold for capability in CAPABILITIES for kind, fold in capability.deferred.items()}


def offers() -> Mapping[type, object]:
    """What answers each protocol; of two that answer the same one, the later in the list."""
    holdings = AllHoldings([capability.holdings for capability in CAPABILITIES if capability.holdings])
    offered = {port: answer for capability in CAPABILITIES for port, answer in capability.offers.items()}
    return {**offered, Holdings: holdings, **BINDINGS}


def schema() -> Sequence[Migration]:
    return [migration for capability in CAPABILITIES for migration in migrations.load(capability.package)]


def tables() -> Sequence[str]:
    """Every projection table; a later capability's come first, since they may refer to an earlier one's."""
    return [table for capability in reversed(CAPABILITIES) for table in capability.tables]


def deferred_tables() -> Sequence[str]:
    """The tables of projections that may lag behind the ledger."""
    return [table for capability in CAPABILITIES for table in capability.deferred_tables]
