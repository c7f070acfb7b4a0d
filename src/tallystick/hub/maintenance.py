"""Care of the store as a whole: rebuild and its dry run, export, import, backup."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tallystick.hub import registry
from tallystick.hub.hub import Hub
from tallystick.hub.serving import Serving
from tallystick.kernel.errors import TallyError
from tallystick.ledger import chain, reading, transfer
from tallystick.ledger import rebuild as folding
from tallystick.ledger.errors import LedgerDamaged
from tallystick.ledger.tx import Tx
from tallystick.storage.sqlite import SqliteStore


def rebuild(hub: Hub) -> int:
    """Replace every projection by what the ledger says; returns the number of events folded."""
    with hub.writing() as tx:
        _refuse_damage(tx, reading.lock_every_room(tx))
        return folding.rebuild(tx, [*registry.tables(), *registry.deferred_tables()])


def repair(hub: Hub) -> list[folding.OversizedEvent]:
    """Deal with events that an older version let in out of bounds; returns those that were not dealt with before.

    The ledger stays as it is, and its hashes with it: what follows from such an event is folded again.
    """
    with hub.writing() as tx:
        return folding.repair(tx, [*registry.tables(), *registry.deferred_tables()])


def check(hub: Hub) -> list[str]:
    """The projection tables that differ from a fresh fold of the ledger; changes nothing."""
    with hub.reading() as live, scratch(hub) as folded:
        _refuse_damage(live, reading.every_room(live))
        with folded.writing() as tx:
            transfer.import_(tx, transfer.export(live), keep_oversized=True)
            for room_id in reading.every_room(tx):
                folding.catch_up(tx, room_id)
        with folded.reading() as tx:
            return [
                *folding.differences(live, tx, registry.tables()),
                *folding.deferred_differences(live, tx, registry.deferred_tables()),
            ]


def _refuse_damage(tx: Tx, rooms: Iterable[str]) -> None:
    """Nothing is folded from a ledger that does not verify: the projections may be all that is left of the truth."""
    for room_id in rooms:
        verdict = chain.verify(tx, room_id)
        if verdict.bad_seq:
            raise LedgerDamaged(f"Room {room_id}, event {verdict.bad_seq}: {verdict.problem}.", room_id=room_id)


@contextmanager
def scratch(hub: Hub) -> Generator[Hub]:
    """An empty hub in a temporary folder that folds events exactly as `hub` does."""
    with tempfile.TemporaryDirectory(prefix="tallystick-") as folder:
        store = SqliteStore(Path(folder) / "tally.sqlite")
        try:
            store.migrate(registry.schema())
            yield Hub(store, clock=hub.world.clock, machine_id=hub.world.machine_id)
        finally:
            store.close()


def export(hub: Hub) -> Iterator[bytes]:
    with hub.reading() as tx:
        yield from transfer.export(tx)


def import_(hub: Hub, lines: Iterable[bytes], *, keep_oversized: bool = False) -> transfer.ExportEnd:
    with hub.writing() as tx:
        return transfer.import_(tx, lines, keep_oversized=keep_oversized)


def backup(hub: Hub, target: Path) -> None:
    hub.store.backup(target)


LAG = 100
"""So many events are sooner read at a search than indexed."""
QUIET_MS = 1000
EVERY_SECONDS = 2.0


def catch_up(hub: Hub) -> bool:
    """Fold one step in the room that has been quiet for the longest time; whether there was one."""
    with hub.reading() as tx:
        room_id = reading.lagging_room(tx, lag=LAG, until=tx.now - QUIET_MS)
    if room_id is None:
        return False
    hub.write(lambda tx: tx.catch_up(room_id), room_id)
    return True


async def keep_indexed(serving: Serving, every_seconds: float = EVERY_SECONDS) -> None:
    """Do so now and then, until cancelled."""
    while True:
        await asyncio.sleep(every_seconds)
        # The store is busy, say: nobody waits for this, and there is another time.
        with suppress(TallyError):
            while await serving.read(lambda: catch_up(serving.hub)):
                pass
