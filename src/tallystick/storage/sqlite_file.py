"""Opening the SQLite file: what is refused, how a new one is made, and the settings of every connection."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Protocol, cast
from urllib.parse import quote

import apsw
import msgspec

from tallystick.kernel.errors import TallyError
from tallystick.storage.driver_errors import from_sqlite, os_errors
from tallystick.storage.errors import EngineTooOld, ForeignDataDir, NetworkFilesystem, NotOurFile, StoreDamaged
from tallystick.storage.pool import refuse_in_fork
from tallystick.storage.port import Value

NETWORK = frozenset(
    {
        "9p",
        "acfs",
        "afpfs",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "fhgfs",
        "gfs",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "panfs",
        "pvfs2",
        "smb2",
        "smb3",
        "smbfs",
        "vboxsf",
        "virtiofs",
        "vmhgfs",
        "webdav",
    }
)
NETWORK_FUSE = frozenset(
    {
        "afp",
        "beegfs",
        "ceph",
        "cifs",
        "curlftpfs",
        "davfs2",
        "gcsfuse",
        "glusterfs",
        "google-drive-ocamlfuse",
        "gvfsd-fuse",
        "juicefs",
        "moosefs",
        "mount-s3",
        "nfs",
        "rclone",
        "s3fs",
        "smbnetfs",
        "sshfs",
        "vmhgfs-fuse",
        "webdav",
    }
)
_ESCAPE = re.compile(r"\\([0-7]{3})")


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    point: str
    kind: str
    """The file system's name as the system gives it, such as `ext4` or `fuse.sshfs`."""

    @property
    def network(self) -> bool:
        family, _, program = self.kind.lower().partition(".")
        return program in NETWORK_FUSE if family == "fuse" and program else family in NETWORK


def mount_table() -> Sequence[Mount]:
    """All mounts, in the order they were made."""
    table = Path("/proc/self/mountinfo")
    if table.exists():
        return parse(table.read_text("utf-8", "surrogateescape"))
    import psutil

    return [Mount(point=each.mountpoint, kind=each.fstype) for each in psutil.disk_partitions(all=True)]


def parse(mountinfo: str) -> Sequence[Mount]:
    """Read the text of /proc/self/mountinfo: the mount point is the fifth word, the kind follows a lone dash."""
    mounts: list[Mount] = []
    for line in mountinfo.splitlines():
        place, _, rest = line.partition(" - ")
        point = _ESCAPE.sub(lambda found: chr(int(found[1], 8)), place.split(" ")[4])
        mounts.append(Mount(point=point, kind=rest.split(" ")[0]))
    return mounts


def mount_of(path: Path, mounts: Sequence[Mount]) -> Mount | None:
    """The mount that holds `path`, which need not exist yet; a later mount on the same point hides an earlier one."""
    real = path.resolve()
    above = {str(real), *map(str, real.parents)}
    holding = [each for each in mounts if each.point in above]
    return max(reversed(holding), key=lambda each: len(each.point), default=None)


def refuse_foreign(folder: Path) -> None:
    """Refuse a folder in which somebody else may leave a link, a socket or a store for us to find."""
    found = folder.stat()
    if found.st_uid != os.geteuid():
        raise ForeignDataDir(f"{folder} belongs to another user.", path=str(folder))
    if found.st_mode & 0o022:
        raise ForeignDataDir(f"Others may write to {folder}.", path=str(folder))


APPLICATION_ID = 0x54414C59
"""`TALY` in the file's header: how we know our own files."""
OLDEST_SQLITE = (3, 51, 3)
STATEMENTS = 250


PAGE_BYTES = 2048
"""Of a new file: a commit writes each page that it touches whole, and a message touches a dozen of them."""


_OPENED_BY: dict[Path, int] = {}
"""Which process first opened each file in this one or the one it was forked from."""
WAL_SIZE_LIMIT = 64 * 1024 * 1024


class SqliteCursor(Protocol):
    """What we use of apsw's cursors."""

    def execute(self, statements: str, bindings: Mapping[str, Value] | None = None, /) -> SqliteCursor: ...

    def fetchone(self) -> tuple[Value, ...] | None: ...

    def fetchall(self) -> list[tuple[Value, ...]]: ...

    def get_description(self) -> tuple[tuple[str, str], ...]: ...

    def close(self, force: bool = False) -> None: ...


class SqliteConnection(Protocol):
    """What we use of apsw's connections."""

    in_transaction: bool

    def cursor(self) -> SqliteCursor: ...

    def pragma(self, name: str, value: str | int | None = None, /) -> Value: ...

    def set_busy_timeout(self, milliseconds: int) -> None: ...

    def set_progress_handler(self, late: Callable[[], bool], steps: int, /) -> None: ...

    def set_wal_hook(self, committed: Callable[[SqliteConnection, str, int], int], /) -> None: ...

    def wal_checkpoint(self) -> tuple[int, int]: ...

    def config(self, option: int, value: int, /) -> int: ...

    def close(self, force: bool = False) -> None: ...


class SqliteSession:
    """A connection and the one cursor that runs everything but streams on it."""

    __slots__ = ("connection", "execute")

    def __init__(self, connection: SqliteConnection) -> None:
        self.connection = connection
        self.execute = connection.cursor().execute

    def close(self) -> None:
        self.connection.close(True)


class SqliteFile(msgspec.Struct, frozen=True, kw_only=True):
    path: Path
    full_sync: bool
    allow_network_fs: bool
    busy_timeout_ms: int
    mounts: Callable[[], Sequence[Mount]] = mount_table
    sqlite_version: str = apsw.sqlite_lib_version()

    def prepare(self) -> None:
        """Check the place before anything is created in it, then make the data directory."""
        if tuple(map(int, self.sqlite_version.split("."))) < OLDEST_SQLITE:
            raise EngineTooOld(
                f"SQLite {self.sqlite_version} is too old: before 3.51.3 it may damage a file that many processes use."
            )
        mount = None if self.allow_network_fs else mount_of(self.path, self.mounts())
        if mount and mount.network:
            raise NetworkFilesystem(
                f"{self.path.parent} is on a network file system ({mount.kind}), where its locks protect nothing."
            )
        with os_errors(self.path.parent):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            refuse_foreign(self.path.parent)
            self._refuse_a_lost_file()

    def _refuse_a_lost_file(self) -> None:
        """SQLite would silently drop a log whose database is gone, and with it the newest writes."""
        log = self.path.with_name(f"{self.path.name}-wal")
        # The log first: while a store is being created, the database is never empty once there is a log.
        if log.exists() and log.stat().st_size and not (self.path.exists() and self.path.stat().st_size):
            raise StoreDamaged(
                f"{self.path} is missing or empty although its log {log.name} is there.",
                hint=f"Restore the file from a backup; to start afresh instead, move {log.name} away.",
            )

    @property
    def is_new(self) -> bool:
        with os_errors(self.path):
            return not self.path.exists() or self.path.stat().st_size == 0

    def create(self) -> None:
        """Make an empty file ours; the caller holds the write queue, and another process may have been faster."""
        # It takes its mode from the lock file beside it, so at no moment can others read it.
        like = self.path.with_name(f"{self.path.name}-writer").absolute()
        name = f"file:{quote(str(self.path.absolute()))}?modeof={quote(str(like))}"
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
        connection = self._connect(name, flags)
        try:
            if connection.pragma("page_count") == 0:
                connection.pragma("page_size", PAGE_BYTES)
                connection.pragma("application_id", APPLICATION_ID)
            connection.pragma("journal_mode", "wal")
        except apsw.Error as wrong:
            raise self.error(wrong) from wrong
        finally:
            connection.close()

    def reader(self) -> SqliteSession:
        return SqliteSession(self._open(query_only=1))

    def writer(self) -> SqliteConnection:
        return self._open(query_only=0)

    def error(self, wrong: Exception, *, reading: bool = False, schema_broken: bool = False) -> TallyError:
        seconds = self.busy_timeout_ms / 1000
        return from_sqlite(wrong, self.path, seconds=seconds, reading=reading, schema_broken=schema_broken)

    def _open(self, *, query_only: int) -> SqliteConnection:
        connection = self._connect(str(self.path))
        try:
            mine = connection.pragma("application_id") == APPLICATION_ID
            if mine:
                connection.pragma("journal_mode", "wal")
                connection.pragma("synchronous", "full" if self.full_sync else "normal")
                connection.pragma("foreign_keys", 1)
                connection.pragma("journal_size_limit", WAL_SIZE_LIMIT)
                connection.pragma("query_only", query_only)
        except apsw.Error as wrong:
            connection.close(True)
            # These settings are the same for every file, so what SQLite does not understand is the file.
            raise self.error(wrong, schema_broken=True) from wrong
        if not mine:
            connection.close()
            raise NotOurFile(f"{self.path} is a database of another program; it was left alone.")
        return connection

    def _connect(self, name: str, flags: int = apsw.SQLITE_OPEN_READWRITE) -> SqliteConnection:
        # A fork copies SQLite's bookkeeping of locks: the child would take the locks of its parent for its own.
        refuse_in_fork(_OPENED_BY.setdefault(self.path.absolute(), os.getpid()))
        try:
            connection = cast("SqliteConnection", apsw.Connection(name, flags=flags, statementcachesize=STATEMENTS))
        except apsw.Error as wrong:
            raise self.error(wrong) from wrong
        connection.set_busy_timeout(self.busy_timeout_ms)
        # Without it SQLite plans a join anew for every new parameter, which takes longer than most of our queries.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        return connection


class Schema:
    """What the migrations made of a file: how a damaged schema is told apart from a statement of ours that is wrong.

    SQLite says "no such column" in both cases. Nobody pays for the comparison before that has happened.
    """

    __slots__ = ("_made_by",)

    def __init__(self) -> None:
        self._made_by: tuple[str, ...] = ()

    def settle(self, statements: Iterable[str]) -> None:
        """From now on it is what these make; none while it is being changed, when anything may be missing."""
        self._made_by = tuple(statements)

    def is_broken(self, connection: SqliteConnection) -> bool:
        """Whether something that was made is no longer there, or no longer as it was made."""
        if not self._made_by:
            return False
        try:
            found = _objects(connection)
        except (apsw.Error, UnicodeDecodeError):
            return True
        with closing(cast("SqliteConnection", apsw.Connection(":memory:"))) as afresh:
            for statement in self._made_by:
                afresh.cursor().execute(statement)
            return not _objects(afresh) <= found


def _objects(connection: SqliteConnection) -> set[tuple[Value, ...]]:
    return set(connection.cursor().execute("SELECT type, name, tbl_name, sql FROM sqlite_schema").fetchall())
