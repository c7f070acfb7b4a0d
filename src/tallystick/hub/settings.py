"""Where the hub keeps its data and what it may do, from the environment."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tallystick.kernel import places
from tallystick.kernel.errors import InvalidInput

FILE = "tally.sqlite"
MINUTE = 60_000
STALE_MS = 15 * MINUTE
STALE_MINUTES = ("TALLYSTICK_AGENT_STALE_MINUTES", "BB_AGENT_STALE_MINUTES")
"""How long an agent may stay silent before it is stale; the first that is set counts."""
_LONGEST_MINUTES = 7 * 24 * 60


class InvalidSetting(InvalidInput):
    """A variable of the environment has a value that cannot be used."""

    hint = "Correct the variable named in the message, or unset it."


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    data_dir: Path
    database_url: str | None = None
    full_sync: bool = False
    allow_network_fs: bool = False
    agent_stale_ms: int = STALE_MS
    checkpoint_key: Path | None = None
    """The key that signs checkpoints, where it is not the one in the data directory."""

    @classmethod
    def of(cls, environ: Mapping[str, str] = os.environ, *, platform: str = sys.platform) -> Settings:
        return cls(
            data_dir=Path(places.data_dir(environ, platform=platform)),
            database_url=environ.get("TALLYSTICK_DATABASE_URL") or None,
            full_sync=environ.get("TALLYSTICK_SYNC", "").lower() == "full",
            allow_network_fs=environ.get("TALLYSTICK_ALLOW_NETWORK_FS") == "1",
            agent_stale_ms=stale_ms(environ),
            checkpoint_key=Path(key).expanduser() if (key := environ.get("TALLYSTICK_CHECKPOINT_KEY")) else None,
        )

    @property
    def has_store(self) -> bool:
        """Whether there is a store, as far as can be told without opening it."""
        try:
            return bool(self.database_url) or (self.data_dir / FILE).exists()
        except PermissionError:
            # It cannot be told; opening it will say why.
            return True

    def make_data_dir(self) -> None:
        """Have a folder that nobody else may write to, before anything is put into it."""
        from tallystick.storage.sqlite_file import refuse_foreign  # Here: most commands only read where it is.

        self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        refuse_foreign(self.data_dir)
        modes = [each.lstat().st_mode for each in self.data_dir.iterdir()]
        if not modes:
            self.data_dir.chmod(0o700)
        elif not any(mode & 0o077 for mode in modes):
            self.close_data_dir()

    def close_data_dir(self) -> None:
        """Keep others out of a folder that holds our store, however it was made; another one is nothing of ours."""
        mode = self.data_dir.stat().st_mode if (self.data_dir / FILE).exists() else 0
        if mode & 0o077 and self.data_dir.stat().st_uid == os.geteuid():
            self.data_dir.chmod(stat.S_IMODE(mode) & ~0o077)


def stale_ms(environ: Mapping[str, str]) -> int:
    name = next((name for name in STALE_MINUTES if environ.get(name)), None)
    if name is None:
        return STALE_MS
    text = environ[name].strip()
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and 1 <= int(text) <= _LONGEST_MINUTES):
        raise InvalidSetting(
            f"{name} is '{text[:40]}'; it takes whole minutes from 1 to {_LONGEST_MINUTES}.", name=name
        )
    return int(text) * MINUTE
