"""The one place where exceptions of apsw, psycopg and the operating system become ours."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import apsw
import msgspec

from tallystick.kernel.errors import TallyError
from tallystick.storage.errors import (
    BadStatement,
    ConstraintBroken,
    DiskFailed,
    DiskFull,
    DuplicateRow,
    NotOurFile,
    OutcomeUnknown,
    StoreBusy,
    StoreDamaged,
    StoreGone,
    StoreReadOnly,
    StoreUnreachable,
    UnstorableValue,
    WriteInRead,
)
from tallystick.storage.sql_files import Query

BINDING_ERRORS = (KeyError, TypeError, ValueError, OverflowError)
"""What both drivers raise for a parameter that is missing or cannot be stored."""
SQLITE_ERRORS = (apsw.Error, *BINDING_ERRORS)
ROW_ERRORS = (TypeError, ValueError)
"""What a row's constructor raises for a column or a value that this program never writes."""

_FULL = "The disk that holds {path} is full; nothing was changed."
_SQLITE: Mapping[type[apsw.Error], tuple[type[TallyError], str]] = {
    apsw.AuthError: (StoreReadOnly, "{path} cannot be opened for writing: {wrong}."),
    apsw.ConstraintError: (ConstraintBroken, "A row would break the schema: {wrong}."),
    apsw.CorruptError: (StoreDamaged, "{path} is damaged: {wrong}."),
    apsw.FullError: (DiskFull, _FULL),
    apsw.InterruptError: (StoreUnreachable, "SQLite could not finish: {wrong}."),
    apsw.IOError: (DiskFailed, "Reading or writing {path} failed: {wrong}."),
    apsw.MismatchError: (UnstorableValue, "A value cannot be stored: {wrong}."),
    apsw.NoMemError: (StoreUnreachable, "SQLite could not finish: {wrong}."),
    apsw.NotADBError: (NotOurFile, "{path} is not a SQLite database; it was left alone."),
    apsw.PermissionsError: (StoreReadOnly, "{path} cannot be opened for writing: {wrong}."),
    apsw.ProtocolError: (StoreUnreachable, "SQLite could not finish: {wrong}."),
    apsw.ReadOnlyError: (StoreReadOnly, "{path} cannot be written to."),
    apsw.TooBigError: (UnstorableValue, "A value cannot be stored: {wrong}."),
}
_SQLITE_EXTENDED: Mapping[int, tuple[type[TallyError], str]] = {
    apsw.SQLITE_CONSTRAINT_PRIMARYKEY: (DuplicateRow, ""),
    apsw.SQLITE_CONSTRAINT_ROWID: (DuplicateRow, ""),
    apsw.SQLITE_CONSTRAINT_UNIQUE: (DuplicateRow, ""),
    apsw.SQLITE_IOERR_CORRUPTFS: (StoreDamaged, "{path} is damaged: {wrong}."),
    apsw.SQLITE_IOERR_DATA: (StoreDamaged, "{path} is damaged: {wrong}."),
    # The shared-memory file could not grow.
    apsw.SQLITE_IOERR_SHMSIZE: (DiskFull, _FULL),
    apsw.SQLITE_IOERR_SHORT_READ: (StoreDamaged, "{path} is damaged: {wrong}."),
}


def busy(holder: LockHolder | None, seconds: float) -> StoreBusy:
    """Name who holds the write lock, where that is known."""
    if holder is None:
        return StoreBusy(f"Somebody else has been writing for {seconds:g} s; nothing was changed.")
    hint = f"Continue it (kill -CONT {holder.pid}) or end it, then try again." if holder.stopped else None
    message = f"The store has been locked for {seconds:g} s by {holder}; nothing was changed."
    return StoreBusy(message, hint=hint, holder_pid=holder.pid)


def from_binding(wrong: Exception) -> TallyError:
    if isinstance(wrong, UnicodeEncodeError | OverflowError):
        return UnstorableValue(f"A value cannot be stored: {wrong}.")
    return BadStatement(f"A parameter of a database statement is wrong: {wrong!r}.")


def from_row(wrong: Exception, query: Query) -> TallyError:
    return StoreDamaged(f"The store is damaged: a row that `{query.name}` found cannot be read: {wrong}.")


def from_sqlite(
    wrong: Exception, path: Path, *, seconds: float = 5, reading: bool = False, schema_broken: bool = False
) -> TallyError:
    if isinstance(wrong, UnicodeDecodeError):
        return StoreDamaged(f"{path} is damaged: it holds text that is not UTF-8.")
    if not isinstance(wrong, apsw.Error):
        return from_binding(wrong)
    if isinstance(wrong, apsw.BusyError | apsw.LockedError):
        return busy(sqlite_writer(path), seconds)
    if isinstance(wrong, apsw.CantOpenError):
        return _cannot_open(wrong, path)
    if isinstance(wrong, apsw.ReadOnlyError) and reading:
        return WriteInRead()
    if isinstance(wrong, apsw.SQLError) and schema_broken:
        return StoreDamaged(f"{path} is damaged: its schema is not what was made there: {wrong}.")
    code = getattr(wrong, "extendedresult", 0)
    usual = _SQLITE.get(type(wrong), (BadStatement, "A database statement failed: {wrong}."))
    kind, message = _SQLITE_EXTENDED.get(code, usual)
    return kind(message.format(path=path, wrong=wrong))


def _cannot_open(wrong: Exception, path: Path) -> TallyError:
    """SQLite does not say why; the file system does."""
    use = os.R_OK | os.W_OK
    for place, needed in ((path.parent, use | os.X_OK), (path, use)):
        if not os.access(place, os.F_OK):
            return StoreGone(f"{place} is not there any more; nothing was changed.")
        if not os.access(place, needed):
            return StoreReadOnly(f"{place} cannot be written to.")
    if path.is_dir():
        return NotOurFile(f"{path} is a directory, not a database.")
    return StoreUnreachable(f"{path} cannot be opened: {wrong}.")


@contextmanager
def os_errors(path: Path) -> Generator[None]:
    """Turn the operating system's refusals about `path` into ours."""
    try:
        yield
    except OSError as wrong:
        reason = wrong.strerror or str(wrong)
        match wrong.errno:
            case errno.EROFS | errno.EACCES | errno.EPERM:
                raise StoreReadOnly(f"{path} cannot be written to: {reason}.") from wrong
            case errno.ENOSPC | errno.EDQUOT:
                raise DiskFull(f"The disk that holds {path} is full; nothing was changed.") from wrong
            case errno.ENOTDIR | errno.EEXIST | errno.EISDIR:
                raise NotOurFile(f"Something else is in the place of {path}: {reason}.") from wrong
            case errno.EIO:
                raise DiskFailed(f"Reading or writing {path} failed: {reason}.") from wrong
            case _:
                raise StoreUnreachable(f"{path} cannot be opened: {reason}.") from wrong


_SQLSTATES: Mapping[str, type[TallyError]] = {
    "08": StoreUnreachable,
    "22": UnstorableValue,
    "23": ConstraintBroken,
    "23505": DuplicateRow,
    "25006": StoreReadOnly,
    "25P03": StoreUnreachable,
    "40001": StoreBusy,
    "40003": OutcomeUnknown,
    "40P01": StoreBusy,
    "42501": StoreReadOnly,
    "53": StoreUnreachable,
    "53100": DiskFull,
    "55P03": StoreBusy,
    "57": StoreUnreachable,
    "58": DiskFailed,
    "XX001": StoreDamaged,
    "XX002": StoreDamaged,
}
_SPEAK_FOR_THEMSELVES = (DuplicateRow, OutcomeUnknown, DiskFull)


def from_postgres(wrong: Exception, *, reading: bool = False) -> TallyError:
    """By SQLSTATE where the server answered, by psycopg's class where it did not."""
    import psycopg

    if not isinstance(wrong, psycopg.Error):
        return from_binding(wrong)
    reason = (wrong.diag.message_primary or str(wrong).strip()).partition("\n")[0].rstrip(".")
    state = wrong.sqlstate or ""
    if state == "25006" and reading:
        return WriteInRead()
    kind = _SQLSTATES.get(state) or _SQLSTATES.get(state[:2]) or BadStatement
    if not state and isinstance(wrong, psycopg.OperationalError | psycopg.InterfaceError):
        kind = StoreUnreachable
    elif not state and isinstance(wrong, psycopg.DataError):
        kind = UnstorableValue
    return kind() if kind in _SPEAK_FOR_THEMSELVES else kind(f"PostgreSQL: {reason}.")


WAL_WRITE_BYTE = 120
"""The byte of the `-shm` file that SQLite locks to write."""


class LockHolder(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds a lock, as far as /proc/locks tells: for the message of `StoreBusy`, never for a decision."""

    pid: int
    name: str
    stopped: bool

    def __str__(self) -> str:
        return f"process {self.pid} ({self.name}{', which is stopped' if self.stopped else ''})"


def flock_holder(path: Path) -> LockHolder | None:
    """The process that holds the file's flock."""
    return next((_holder(pid) for kind, pid, _ in _locks(path) if kind == "FLOCK"), None)


def sqlite_writer(database: Path) -> LockHolder | None:
    """The process that holds SQLite's write lock on a database in WAL mode."""
    shared = database.with_name(f"{database.name}-shm")
    held = (_holder(pid) for kind, pid, first in _locks(shared) if kind == "POSIX" and first == str(WAL_WRITE_BYTE))
    return next(held, None)


def _locks(path: Path) -> Iterator[tuple[str, int, str]]:
    """Kind, pid and first byte of every write lock that is held on a file."""
    try:
        about = path.stat()
        lines = Path("/proc/locks").read_text("utf-8").splitlines()
    except OSError:
        return
    file = f"{os.major(about.st_dev):02x}:{os.minor(about.st_dev):02x}:{about.st_ino}"
    for line in lines:
        words = line.split()
        if len(words) == 8 and words[3] == "WRITE" and words[5] == file:
            yield words[1], int(words[4]), words[6]


def _holder(pid: int) -> LockHolder:
    try:
        name, _, rest = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").partition("(")[2].rpartition(")")
    except OSError:
        return LockHolder(pid=pid, name="already gone", stopped=False)
    return LockHolder(pid=pid, name=name, stopped=rest.split()[0] in {"T", "t"})
