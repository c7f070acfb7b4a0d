"""What storage answers instead of rows. No driver's exception leaves this layer (see `driver_errors`).

Unavailable            try again
├── StoreBusy          somebody else holds the write lock, or two transactions collided
├── StoreUnreachable   the file or the server cannot be reached
├── OutcomeUnknown     the connection was lost while committing
└── DiskFull
Conflict
├── DuplicateRow       another transaction wrote the same thing first
└── BackupExists
NotAllowed
├── BackupUnsupported
└── ForeignDataDir
InvalidInput
├── UnstorableValue
└── InvalidDatabaseUrl
Fault
├── StoreReadOnly  NotOurFile  StoreDamaged  StoreGone  StoreTooNew
├── EngineTooOld  NetworkFilesystem  DiskFailed  DriverMissing
├── BadStatement  ConstraintBroken  WriteInRead
└── TransactionOver  TransactionFailed  ForkedStore  NestedWrite  StoreClosed
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from tallystick.kernel.errors import Conflict, Fault, InvalidInput, NotAllowed, Unavailable


class StoreBusy(Unavailable):
    """Somebody else is writing and has not finished in time; nothing was changed."""

    hint = "Try again. If it stays busy, find the process that holds the lock with `tally doctor`."


class StoreUnreachable(Unavailable):
    """The store cannot be reached; nothing was changed."""

    hint = "Check that the database server runs, or that the file can be opened, and try again."


class OutcomeUnknown(Unavailable):
    """The connection to the database was lost while committing: the change may or may not have been made."""

    hint = "Read the present state before repeating the call; a call with an idempotency key may simply be repeated."


class DiskFull(Unavailable):
    """The disk that holds the store is full; nothing was changed."""

    hint = "Free some space on that disk and try again."


class DuplicateRow(Conflict):
    """Another call has just written the same thing."""

    retryable = True
    hint = "Try again: the call will then see what the other one wrote."


class BackupExists(Conflict):
    """There is a file at the backup's target already; it was left alone."""

    hint = "Choose another name or move the old backup away."


class BackupUnsupported(NotAllowed):
    """Tallystick does not back up a PostgreSQL server."""

    hint = "Use `tally export` for the ledger, or pg_dump for the whole database."


class ForeignDataDir(NotAllowed):
    """Others may put files into that data directory, and a hub or a command would trust them."""

    hint = "Choose a folder of your own (TALLYSTICK_DATA_DIR), or take it back with `chown` and `chmod 700`."


class UnstorableValue(InvalidInput):
    """A value cannot be stored: text with a NUL or half a character, or a number beyond 64 bits."""

    hint = "Remove the character or number that the message names and send the request again."


class InvalidDatabaseUrl(InvalidInput):
    """TALLYSTICK_DATABASE_URL is not a PostgreSQL address."""

    hint = "Write it as postgresql://user@host:5432/database; special characters in a password are percent-encoded."


class StoreReadOnly(Fault):
    """The store cannot be written to."""

    hint = "Give this user write access to the data directory or database, or point TALLYSTICK_DATA_DIR elsewhere."


class NotOurFile(Fault):
    """The file in the store's place was not made by Tallystick; it was left alone."""

    hint = "Move that file away, or point TALLYSTICK_DATA_DIR at another directory."


class StoreDamaged(Fault):
    """The store is damaged."""

    hint = "Stop all agents, keep a copy of the data directory, and restore the newest backup."


class StoreGone(Fault):
    """The store's file was moved, deleted or replaced while this program had it open; nothing was changed."""

    hint = "Put the file back, or start this program again to use what is there now."


class StoreTooNew(Fault):
    """The store was last used by a newer Tallystick."""

    hint = "Upgrade Tallystick on this machine."


class EngineTooOld(Fault):
    """The SQLite library is too old: before 3.51.3 it can damage a file that several processes write."""

    hint = "Upgrade the apsw package."


class NetworkFilesystem(Fault):
    """The data directory is on a network file system, where SQLite's locks do not protect the store."""

    hint = (
        "Point TALLYSTICK_DATA_DIR at a local disk, or share a PostgreSQL server through TALLYSTICK_DATABASE_URL. "
        "TALLYSTICK_ALLOW_NETWORK_FS=1 uses this directory anyway; do that only if a single machine writes to it."
    )


class DiskFailed(Fault):
    """The disk reported an error."""

    hint = "Check the disk and the system log; then run `tally verify`."


class DriverMissing(Fault):
    """The PostgreSQL driver cannot be loaded."""

    hint = "Install it with: pip install 'psycopg[binary]'"


class BadStatement(Fault):
    """A database statement is wrong."""

    hint = "This is a bug in Tallystick: please report it with the message."


class ConstraintBroken(Fault):
    """A row would have broken a rule of the schema; nothing was changed."""

    hint = "This is a bug in Tallystick: please report it with the message."


class WriteInRead(Fault):
    """A statement tried to change rows inside a read transaction."""

    hint = "This is a bug in Tallystick: the operation must be declared with writes=True."


class TransactionOver(Fault):
    """A transaction was used after its end."""

    hint = "This is a bug in Tallystick: rows must be read inside the transaction's block."


class TransactionFailed(Fault):
    """A statement of this transaction has failed before, so the transaction can only be rolled back."""

    hint = "This is a bug in Tallystick: an error from the store must end the transaction."


class ForkedStore(Fault):
    """This process was forked from one that had opened the store, so it may not use that store."""

    hint = "Start the new process instead of forking it: subprocess, or multiprocessing with the spawn method."


class NestedWrite(Fault):
    """A write transaction was opened inside another one of the same thread."""

    hint = "This is a bug in Tallystick: pass the open transaction on instead of opening a second one."


class StoreClosed(Fault):
    """The store was used after this process closed it."""

    hint = "This is a bug in Tallystick: open the store again instead."


# What stands in the place of a transaction's statements once they may no longer run. A transaction calls through one
# attribute, so that refusing costs nothing while all is well: the attribute is exchanged.


def over(_statement: object, _values: object = None) -> NoReturn:
    raise TransactionOver


def failed(_statement: object, _values: object = None) -> NoReturn:
    raise TransactionFailed


def refuse_if_ended(execute: Callable[..., object]) -> None:
    """For what does not begin with a statement."""
    if execute in (over, failed):
        execute("")
