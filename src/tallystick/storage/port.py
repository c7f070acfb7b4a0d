"""The storage port: what every engine offers and all that the layers above may use; and which engine is meant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, TypeAlias, TypeVar

from tallystick.storage.errors import DriverMissing
from tallystick.storage.sql_files import Migration, Query

Value: TypeAlias = "str | int | float | bytes | None"
EVERY_ROOM = "every-room"
"""What to watch in place of a room's id to be woken by any of them."""
T = TypeVar("T")

FILE = "tally.sqlite"


class NotBrief(Exception):
    """What was to be brief is not, and has changed nothing: do it again without haste."""


class Read(Protocol):
    """A consistent view of the store."""

    def one(self, query: Query, into: Callable[..., T], /, **values: Value) -> T | None:
        """The first row as `into(**columns)`, or None."""
        ...

    def all(self, query: Query, into: Callable[..., T], /, **values: Value) -> list[T]: ...

    def stream(self, query: Query, into: Callable[..., T], /, **values: Value) -> Iterator[T]:
        """Rows as they are read, for results that do not fit in memory."""
        ...


class Write(Read, Protocol):
    """A transaction that may change rows: commits when its `with` block ends, rolls back when that block raises."""

    def run(self, query: Query, /, **values: Value) -> None:
        """Run a statement; an engine may tell that it failed only with the next read, or when the block ends."""
        ...

    def wake(self, room_id: str) -> None:
        """Wake those who watch this room, once this transaction has committed."""
        ...


class Watch(Protocol):
    """An armed watch on one room. Arm, read, then wait: a wake between the read and the wait is not lost."""

    def wait(self, timeout: float) -> bool:
        """Block until a wake (True) or the timeout in seconds. A spurious True is allowed, a lost wake is not."""
        ...

    def close(self) -> None: ...


class Store(Protocol):
    engine: str
    """`sqlite` or `postgres`."""

    def read(self) -> AbstractContextManager[Read]: ...

    def brief(self, seconds: float, /) -> AbstractContextManager[Read]:
        """A read that raises `NotBrief` rather than take longer or wait for anybody; always does so over a network."""
        ...

    def write(self, *, unhurried: bool = False) -> AbstractContextManager[Write]:
        """`unhurried` is for work on the whole store: a statement may take as long as it takes."""
        ...

    def brief_write(self, seconds: float, /) -> AbstractContextManager[Write]:
        """The same for a write: `NotBrief` where others write or queue, and when it is not ready to commit in time."""
        ...

    def watch(self, room_id: str) -> Watch: ...

    def migrate(self, migrations: Sequence[Migration]) -> None:
        """Apply what is missing, in order and atomically; refuse a store that a newer program has migrated."""
        ...

    def describe(self) -> dict[str, object]:
        """Facts for `tally doctor`: engine and library versions, location, settings in force."""
        ...

    def backup(self, target: Path) -> None: ...

    def close(self) -> None: ...


def open_store(
    database_url: str | None, data_dir: Path, *, full_sync: bool = False, allow_network_fs: bool = False
) -> Store:
    """PostgreSQL where a URL is given, else the SQLite file in the data directory."""
    if not database_url:
        from tallystick.storage.sqlite import SqliteStore

        return SqliteStore(data_dir / FILE, full_sync=full_sync, allow_network_fs=allow_network_fs)
    try:
        # Loading the driver takes longer than a whole call on SQLite.
        from tallystick.storage.postgres import PostgresStore
    except ImportError as missing:
        raise DriverMissing(f"The PostgreSQL driver cannot be loaded: {missing}.") from missing
    return PostgresStore(database_url)
