"""Care of the store as a whole: rebuild and its dry run, export, import, backup, archives, and the end of demo rooms.

A closed room is written to a file, read back and verified, and only then taken out of the store.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from tallystick.capabilities.blobs import queries as blobs
from tallystick.harnesses import identity
from tallystick.hub import registry
from tallystick.hub.hub import Hub
from tallystick.hub.serving import Serving
from tallystick.hub.settings import Settings
from tallystick.hub.signing import SigningKey
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.errors import Refused, TallyError
from tallystick.ledger import reading, transfer, verification
from tallystick.ledger import rebuild as folding
from tallystick.ledger.errors import LedgerDamaged, RoomClosed
from tallystick.ledger.transfer import Archive
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
        verdict = verification.verify(tx, room_id)
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


class ArchivePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What archiving a room would do."""

    room_id: str
    events: int
    blobs: int
    missing_blobs: int
    """Files that lie on another machine, or are gone: the archive cannot hold them."""


class ArchiveResult(msgspec.Struct, frozen=True, kw_only=True):
    room_id: str
    file: str
    sha256: str
    events: int
    blobs: int


def plan_archive(hub: Hub, room_id: str) -> ArchivePlan:
    with hub.reading() as tx:
        head = transfer.closed_head(tx, room_id)
        hashes = blobs.of_room(tx, room_id)
        found = _contents(hub, tx, hashes)
    return ArchivePlan(room_id=room_id, events=head.seq, blobs=len(found), missing_blobs=len(hashes) - len(found))


def due_for_archive(hub: Hub, closed_for_ms: int) -> list[str]:
    """The rooms that have been closed and quiet for so long."""
    with hub.reading() as tx:
        return reading.closed_rooms(tx, until=tx.now - closed_for_ms)


def archive_lines(hub: Hub, key: SigningKey, room_id: str) -> Iterator[bytes]:
    """The file of a room."""
    with hub.reading() as tx:
        head = transfer.closed_head(tx, room_id)
        contents = _contents(hub, tx, blobs.of_room(tx, room_id))
        yield from transfer.archive_lines(tx, head, contents, key.sign(0, verification.body_of_room(tx, room_id)))


def _contents(hub: Hub, tx: Tx, hashes: list[str]) -> dict[str, bytes]:
    found = ((sha256, hub.blobs.read(sha256) or blobs.shared_content(tx, sha256)) for sha256 in hashes)
    return {sha256: content for sha256, content in found if content is not None}


def prune_archived(hub: Hub, file: Path) -> ArchiveResult:
    """Take the room of a file out of the store, once the file was read back and fits."""
    archive, sha256 = _read(file)
    head = archive.head
    with hub.writing() as tx:
        transfer.prune(tx, archive, sha256, _tables())
        unused = [each for each in archive.blobs if not blobs.is_used(tx, each)]
        for each in unused:
            blobs.forget_content(tx, each)
    for each in unused:
        hub.blobs.remove(each)
    return ArchiveResult(room_id=head.room_id, file=str(file), sha256=sha256, events=head.seq, blobs=len(archive.blobs))


def restore_archive(hub: Hub, file: Path) -> ArchiveResult:
    archive, sha256 = _read(file)
    head = archive.head
    for content in archive.blobs.values():
        hub.blobs.keep(content)
    with hub.writing() as tx:
        transfer.restore(tx, archive, sha256, _tables())
    return ArchiveResult(room_id=head.room_id, file=str(file), sha256=sha256, events=head.seq, blobs=len(archive.blobs))


def _read(file: Path) -> tuple[Archive, str]:
    with file.open("rb") as content:
        archive = transfer.read_archive(content)
    with file.open("rb") as content:
        return archive, transfer.digest(content)


def _tables() -> list[str]:
    return [*registry.tables(), *registry.deferred_tables()]


def keeper() -> Caller:
    """The person at the keyboard, as the demo knows them."""
    return Caller(agent_id=f"human:{identity.user(os.environ, os.getuid())}:demo", session=SessionKind.HUMAN_CLI)


class DemoRooms(msgspec.Struct, frozen=True, kw_only=True):
    settings: Settings

    @property
    def folder(self) -> Path:
        """Holds the demo's repository; that it is there says that the demo was played, and it stays, empty."""
        return self.settings.data_dir / "demo"

    @property
    def played(self) -> bool:
        return self.folder.exists()

    @property
    def there(self) -> bool:
        """Whether something of it is left to remove."""
        with suppress(FileNotFoundError):
            return any(self.folder.iterdir())
        return False

    @property
    def _rooms(self) -> Path:
        return self.folder / "rooms.json"

    def keep(self, *room_ids: str) -> None:
        """Remember which rooms to remove."""
        self._rooms.write_text(json.dumps(room_ids))

    def remove(self, hub: Hub) -> None:
        """Delete the rooms from the store, and the repository."""
        with suppress(FileNotFoundError):
            room_ids = json.loads(self._rooms.read_text())
            while room_ids:
                self._delete(hub, room_ids.pop(0))
                self.keep(*room_ids)  # Whoever was interrupted goes on with the rest.
        shutil.rmtree(self.folder)
        self.folder.mkdir()

    def _delete(self, hub: Hub, room_id: str) -> None:
        why = {"room_id": room_id, "reason": "the demo is over"}
        turn = hub.call("turns.state", {"room_id": room_id}, keeper()).to_data()["turn_id"]
        with suppress(Refused):  # A person ends turns only where they are a member.
            hub.call("rooms.join", {"room_id": room_id}, keeper())
        for end in ("turns.revoke", "turns.takeover"):  # One is for a holder who lives, one for a holder who is gone.
            with suppress(Refused):
                hub.call(end, {**why, "expected_turn_id": turn}, keeper())
        with suppress(RoomClosed):
            hub.call("rooms.close", why, keeper())
        file = self.folder / f"{room_id}.jsonl"
        with file.open("wb") as target:
            for line in archive_lines(hub, SigningKey.of(self.settings), room_id):
                target.write(line)
        prune_archived(hub, file)
