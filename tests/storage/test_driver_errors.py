"""Every answer of a driver or of the operating system has its one counterpart here."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import apsw
import psycopg
import pytest

from tallystick.kernel.errors import Fault, Refused, TallyError, Unavailable, every_error
from tallystick.storage import errors
from tallystick.storage.driver_errors import from_postgres, from_sqlite, os_errors
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
    StoreReadOnly,
    StoreUnreachable,
    UnstorableValue,
    WriteInRead,
)

PATH = Path("/somewhere/tally.sqlite")


@pytest.mark.parametrize("kind", [each for each in every_error() if each.__module__ == errors.__name__])
def test_every_refusal_says_what_happened_and_what_to_do(kind: type[TallyError]) -> None:
    assert kind().message.endswith(".")
    assert kind().advice
    assert issubclass(kind, Refused | Unavailable | Fault)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (apsw.SQLITE_BUSY, StoreBusy),
        (apsw.SQLITE_BUSY_RECOVERY, StoreBusy),
        (apsw.SQLITE_LOCKED, StoreBusy),
        (apsw.SQLITE_FULL, DiskFull),
        (apsw.SQLITE_IOERR_SHMSIZE, DiskFull),
        (apsw.SQLITE_IOERR_READ, DiskFailed),
        (apsw.SQLITE_IOERR_SHORT_READ, StoreDamaged),
        (apsw.SQLITE_CORRUPT, StoreDamaged),
        (apsw.SQLITE_NOTADB, NotOurFile),
        (apsw.SQLITE_READONLY_DIRECTORY, StoreReadOnly),
        (apsw.SQLITE_PERM, StoreReadOnly),
        (apsw.SQLITE_CANTOPEN, StoreUnreachable),
        (apsw.SQLITE_NOMEM, StoreUnreachable),
        (apsw.SQLITE_CONSTRAINT_UNIQUE, DuplicateRow),
        (apsw.SQLITE_CONSTRAINT_CHECK, ConstraintBroken),
        (apsw.SQLITE_TOOBIG, UnstorableValue),
        (apsw.SQLITE_ERROR, BadStatement),
        (apsw.SQLITE_MISUSE, BadStatement),
    ],
)
def test_codes_of_sqlite(code: int, expected: type[TallyError], tmp_path: Path) -> None:
    path = tmp_path / "tally.sqlite"
    path.touch()

    assert type(from_sqlite(apsw.exception_for(code), path)) is expected


@pytest.mark.parametrize(
    ("sqlstate", "expected"),
    [
        ("40001", StoreBusy),
        ("40P01", StoreBusy),
        ("55P03", StoreBusy),
        ("40003", OutcomeUnknown),
        ("57P01", StoreUnreachable),
        ("57014", StoreUnreachable),
        ("53300", StoreUnreachable),
        ("25P03", StoreUnreachable),
        ("08006", StoreUnreachable),
        ("53100", DiskFull),
        ("58030", DiskFailed),
        ("XX001", StoreDamaged),
        ("25006", StoreReadOnly),
        ("42501", StoreReadOnly),
        ("23505", DuplicateRow),
        ("23503", ConstraintBroken),
        ("22003", UnstorableValue),
        ("42601", BadStatement),
        ("42P01", BadStatement),
    ],
)
def test_states_of_postgres(sqlstate: str, expected: type[TallyError]) -> None:
    assert type(from_postgres(psycopg.errors.lookup(sqlstate)("told by the server"))) is expected


def test_a_write_inside_a_read_is_told_apart_from_a_read_only_store() -> None:
    assert type(from_sqlite(apsw.ReadOnlyError(), PATH, reading=True)) is WriteInRead
    assert type(from_postgres(psycopg.errors.ReadOnlySqlTransaction(), reading=True)) is WriteInRead


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (psycopg.OperationalError("gone"), StoreUnreachable),
        (psycopg.InterfaceError("closed"), StoreUnreachable),
        (psycopg.DataError("NUL"), UnstorableValue),
        (psycopg.ProgrammingError("parameter"), BadStatement),
        (KeyError("name"), BadStatement),
        (OverflowError("large"), UnstorableValue),
    ],
)
def test_what_psycopg_raises_without_asking_the_server(wrong: Exception, expected: type[TallyError]) -> None:
    assert type(from_postgres(wrong)) is expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (errno.EROFS, StoreReadOnly),
        (errno.EACCES, StoreReadOnly),
        (errno.ENOSPC, DiskFull),
        (errno.EDQUOT, DiskFull),
        (errno.ENOTDIR, NotOurFile),
        (errno.EIO, DiskFailed),
        (errno.EMFILE, StoreUnreachable),
    ],
)
def test_numbers_of_the_operating_system(number: int, expected: type[TallyError]) -> None:
    with pytest.raises(TallyError) as refused, os_errors(PATH):
        raise OSError(number, os.strerror(number))

    assert type(refused.value) is expected
    assert str(PATH) in refused.value.message
