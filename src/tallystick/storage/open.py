"""Which store the settings ask for. Opening is lazy: nothing is read or connected until the store is used."""

from __future__ import annotations

from pathlib import Path

from tallystick.storage.errors import DriverMissing
from tallystick.storage.port import Store

FILE = "tally.sqlite"


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
