"""Facts about a store and its surroundings, for `tally doctor`. Looking creates no store and changes none."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec import structs

from tallystick.commandline.output import counted
from tallystick.harnesses import processes
from tallystick.hub import registry
from tallystick.hub.hub import Hub
from tallystick.hub.settings import FILE, Settings
from tallystick.kernel.clock import ahead, to_wire
from tallystick.kernel.envelope import Event
from tallystick.kernel.errors import TallyError
from tallystick.kernel.hints import CommandLine
from tallystick.ledger import reading, verification
from tallystick.ledger import rebuild as folding
from tallystick.ledger.tx import Tx
from tallystick.storage import sql_files
from tallystick.storage.errors import BadStatement, ForeignDataDir, StoreDamaged
from tallystick.storage.port import Store, open_store
from tallystick.storage.sql_files import Queries
from tallystick.storage.sqlite_file import Mount, refuse_foreign

RECENT = 200
"""So many events of each room a quick look verifies."""

MIB = 1024 * 1024
FULL, SCARCE = 4 * MIB, 200 * MIB
"""With less than this, a write may not fit; with less than that, it is time to look."""
NO_STORE = "no store yet: the first `tally join` creates it"
WAKE_SECONDS = 2.0

_SQL = Queries("tallystick.storage")


class CheckVerdict(StrEnum):
    OK = "ok"
    WARN = "warn"
    BAD = "bad"


class Check(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    found: str
    verdict: CheckVerdict = CheckVerdict.OK
    fix: str = ""

    @classmethod
    def failed(cls, name: str, error: TallyError) -> Check:
        return cls(name=name, verdict=CheckVerdict.BAD, found=error.message, fix=error.advice_in(CommandLine()))

    def data(self) -> dict[str, object]:
        return structs.asdict(self)


@contextmanager
def empty_hub() -> Generator[Hub]:
    """A hub whose store is empty, and gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="tallystick-") as folder:
        hub = Hub.open(Settings(data_dir=Path(folder)))
        try:
            yield hub
        finally:
            hub.close()


def examine(settings: Settings, *, deep: bool) -> Iterator[Check]:
    yield directory(settings.data_dir)
    yield from space(settings.data_dir)
    if settings.has_store:
        with closing(_opened(settings)) as store:
            yield from _store(store, deep=deep)
    else:
        yield Check(name="store", found=NO_STORE)
    yield running(settings.data_dir)


def _opened(settings: Settings) -> Store:
    return open_store(
        settings.database_url,
        settings.data_dir,
        full_sync=settings.full_sync,
        allow_network_fs=settings.allow_network_fs,
    )


def directory(folder: Path) -> Check:
    """The data directory, which only its owner may enter."""
    name = "data directory"
    if not folder.is_dir():
        return Check(name=name, found=f"{folder} is not there yet")
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        fix = f"Run `chmod u+rwx {folder}`, or use another directory with TALLYSTICK_DATA_DIR."
        if os.statvfs(folder).f_flag & os.ST_RDONLY:
            fix = "It is mounted read-only: mount it for writing, or use another directory with TALLYSTICK_DATA_DIR."
        return Check(name=name, verdict=CheckVerdict.BAD, found=f"{folder} cannot be written", fix=fix)
    try:
        refuse_foreign(folder)
    except ForeignDataDir as wrong:
        return Check.failed(name, wrong)
    mode = folder.stat().st_mode & 0o777
    if mode & 0o077:
        how = "tally doctor --repair" if (folder / FILE).exists() else f"chmod 700 {folder}"
        fix = f"Run `{how}`: whoever can open the store is trusted."
        return Check(name=name, verdict=CheckVerdict.WARN, found=f"{folder} has mode {mode:04o}", fix=fix)
    return Check(name=name, found=f"{folder}, mode {mode:04o}, writable")


def space(folder: Path) -> Iterator[Check]:
    """What the disk of the data directory has left, for this user."""
    if not folder.is_dir():
        return
    about = os.statvfs(folder)
    free = about.f_bavail * about.f_frsize
    found = f"{free // MIB:,} MiB on the disk of {folder}"
    fix = "Free some there: on a full disk the hub reads, and refuses writes until there is space again."
    verdict = CheckVerdict.BAD if free < FULL else CheckVerdict.WARN if free < SCARCE else CheckVerdict.OK
    yield Check(name="free space", verdict=verdict, found=found, fix="" if verdict is CheckVerdict.OK else fix)


def _store(store: Store, *, deep: bool) -> Iterator[Check]:
    """Each check builds on the one before; the first that fails is the last."""
    name = "engine"
    try:
        facts = store.describe()
        yield from _engine(facts)
        name = "schema"
        schema, pending = _schema(store)
        yield schema
        if pending:
            return
        name = "write lock"
        with store.write():
            yield Check(name=name, found="can be had")
        name = "ledger"
        with Hub(store).reading() as tx:
            rooms = reading.every_room(tx)
            yield _ledger(tx, rooms, deep=deep)
            name = "clock"
            yield from _clock(tx)
            name = "bodies"
            yield from _bodies(tx, rooms, deep=deep)
        name = "wake"
        if rooms:
            yield _wake(store, rooms[0])
    except TallyError as error:
        yield Check.failed(name, error)


def _engine(facts: dict[str, object]) -> Iterator[Check]:
    rest = {name: value for name, value in facts.items() if name not in {"engine", "version", "file_system"}}
    known = ", ".join(f"{name} {value}" for name, value in rest.items())
    yield Check(name="engine", found=f"{facts['engine']} {facts.get('version', '')}; {known}")
    if (kind := facts.get("file_system")) is None:
        return
    if Mount(point="", kind=str(kind)).network:
        fix = "Make sure that a single machine writes to it, or share a PostgreSQL server instead."
        yield Check(name="file system", verdict=CheckVerdict.WARN, found=f"{kind}, a network file system", fix=fix)
    else:
        yield Check(name="file system", found=f"{kind}, local")


def _schema(store: Store) -> tuple[Check, int]:
    """What the store's tables were made by, and how many migrations they lack."""
    known = registry.schema()
    try:
        with store.read() as rows:
            applied = dict(rows.all(_SQL["applied"], sql_files.applied_migration))
    except BadStatement:
        if _has_rooms(store):
            raise StoreDamaged("The store is damaged: its list of migrations is gone, its rooms are not.") from None
        # A database that nobody has used yet.
        return Check(name="schema", found=NO_STORE), len(known)
    if pending := len(sql_files.missing_migrations(known, applied)):
        fix = "The next command applies them."
        return Check(
            name="schema", verdict=CheckVerdict.WARN, found=f"{pending} migrations are missing", fix=fix
        ), pending
    # Nothing is left to apply; now the store knows its schema, and tells one that is broken from a fault of ours.
    store.migrate(known)
    return Check(name="schema", found=f"{len(known)} migrations, all applied"), 0


def _has_rooms(store: Store) -> bool:
    try:
        with Hub(store).reading() as tx:
            reading.count_rooms(tx)
    except BadStatement:
        return False
    return True


def _wake(store: Store, room_id: str) -> Check:
    """A room's own wake file is touched: those who wait there look once more, and nothing is left behind."""
    with closing(store.watch(room_id)) as watch:
        with store.write() as rows:
            rows.wake(room_id)
        if watch.wait(WAKE_SECONDS):
            return Check(name="wake", found="arrives")
    fix = "Waiting still works, up to 250 ms slower; a limit on file watches may be used up on this machine."
    return Check(name="wake", verdict=CheckVerdict.WARN, found="does not arrive", fix=fix)


def _ledger(tx: Tx, rooms: Sequence[str], *, deep: bool) -> Check:
    problems = [found for room_id in rooms if (found := _whole(tx, room_id) if deep else _recent(tx, room_id))]
    if problems:
        fix = "Run `tally verify` for the first bad event of each room, then restore a backup taken before it."
        return Check(name="ledger", verdict=CheckVerdict.BAD, found="; ".join(problems), fix=fix)
    if deep:
        verification.check_engine(tx)
    part = "every event" if deep else f"the latest {RECENT} events of each"
    return Check(name="ledger", found=f"{counted(len(rooms), 'room')}, {part} as it was written")


def _clock(tx: Tx) -> Iterator[Check]:
    """Whether some room was written to in the future; nothing is said where none was."""
    newest = reading.newest_time(tx)
    if not ahead(newest, tx.now):
        return
    hours = (newest - tx.now) / 3_600_000
    found = f"the newest event is stamped {to_wire(newest)}, {hours:.1f} h from now: the clock was ahead, or is behind"
    fix = (
        "Check this machine's clock (`timedatectl`). If it is right now, events of that room carry that time until it"
        " has come; leases and tokens given meanwhile count as run out."
    )
    yield Check(name="clock", verdict=CheckVerdict.WARN, found=found, fix=fix)


def _bodies(tx: Tx, rooms: Sequence[str], *, deep: bool) -> Iterator[Check]:
    """Events that an older version let in out of bounds; nothing is said where there are none."""
    found = [
        each
        for room_id in rooms
        for each in folding.oversized(
            tx, room_id, reading.every_event(tx, room_id) if deep else _latest(tx, room_id, tx.head(room_id).seq)
        )
    ]
    if not found:
        return
    named = ", ".join(f"{each.room_id} event {each.seq}" for each in found)
    what = f"out of bounds, let in by an older version; what is nested too deep is read as text: {named}"
    if all(each.repaired for each in found):
        yield Check(name="bodies", found=what)
    else:
        fix = "Run `tally doctor --repair`: it folds again what follows from them and leaves the ledger as it is."
        yield Check(name="bodies", verdict=CheckVerdict.WARN, found=what, fix=fix)


def _latest(tx: Tx, room_id: str, seq: int) -> list[Event]:
    return reading.before(tx, room_id, seq + 1, limit=RECENT)


def _whole(tx: Tx, room_id: str) -> str:
    verdict = verification.verify(tx, room_id)
    return f"{room_id}: event {verdict.bad_seq}: {verdict.problem}" if verdict.bad_seq else ""


def _recent(tx: Tx, room_id: str) -> str:
    head = tx.head(room_id)
    events = _latest(tx, room_id, head.seq)
    if (events[-1].seq, events[-1].hash) != (head.seq, head.hash) if events else head.seq:
        return f"{room_id}: the newest event, {head.seq}, is not what was acknowledged"
    for before, event in zip([None, *events], events, strict=False):
        seq, prev_hash = (before.seq + 1, before.hash) if before else (event.seq, event.prev_hash)
        if problem := verification.flaw(event, seq, prev_hash):
            return f"{room_id}: event {event.seq}: {problem}"
    return ""


class RunningFacts(msgspec.Struct):
    """What a hub that runs says about itself in the data directory."""

    url: str
    pid: int


def running(folder: Path) -> Check:
    name = "hub"
    try:
        said = msgspec.json.decode((folder / "hub.json").read_bytes(), type=RunningFacts)
    except FileNotFoundError:
        return Check(name=name, found="none is running; commands use the store directly")
    except (OSError, msgspec.MsgspecError) as wrong:
        fix = "Restart it with `tally up`, which writes the file again."
        return Check(name=name, verdict=CheckVerdict.WARN, found=f"hub.json cannot be read: {wrong}", fix=fix)
    if processes.facts(said.pid) is None:
        fix = "Start it again with `tally up`, or remove hub.json."
        return Check(name=name, verdict=CheckVerdict.WARN, found=f"process {said.pid} of {said.url} is gone", fix=fix)
    return Check(name=name, found=f"process {said.pid} serves {said.url}")
