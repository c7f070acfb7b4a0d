"""A data directory with acknowledged events in it, seen as a user sees it: through a hub and through `tally`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import apsw
import msgspec

from tallystick.hub import maintenance
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.storage.sqlite_file import SqliteConnection

# Root may enter everything; without its capabilities it is a user like any other.
POWERLESS = ("setpriv", "--inh-caps=-all", "--bounding-set=-all") if os.geteuid() == 0 else ()

ADA = Caller(agent_id="ada", session=SessionKind.NAMED)


class Envelope(msgspec.Struct):
    """What `tally --json` printed."""

    ok: bool
    data: dict[str, object] | None = None
    error: dict[str, object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """How a command ended."""

    exit_code: int
    data: dict[str, object]
    error: dict[str, object]
    stderr: str

    def is_refusal(self, exit_code: int, code: str) -> bool:
        """Whether it is this refusal, in the form every refusal has, and nothing beside it."""
        told = self.error.get("message") and self.error.get("hint")
        return bool(told) and (self.exit_code, self.error["code"], self.stderr) == (exit_code, code, "")


@dataclass
class DataDirectory:
    folder: Path
    room_id: str = ""
    words: list[str] = field(default_factory=list[str])
    """What was appended and acknowledged, in order."""

    @property
    def settings(self) -> Settings:
        return Settings(data_dir=self.folder)

    @property
    def database(self) -> Path:
        return self.folder / "tally.sqlite"

    @property
    def log(self) -> Path:
        return self.folder / "tally.sqlite-wal"

    @contextmanager
    def hub(self) -> Generator[Hub]:
        hub = Hub.open(self.settings)
        try:
            yield hub
        finally:
            hub.close()

    @contextmanager
    def foreign(self) -> Generator[SqliteConnection]:
        """The database as another program opens it, past everything of ours."""
        connection = cast("SqliteConnection", apsw.Connection(str(self.database)))
        try:
            yield connection
        finally:
            connection.close()

    def fill(self, events: int = 20) -> None:
        """Create the store, a room with one member, and some events."""
        with self.hub() as hub:
            room = hub.call("rooms.create", {"title": "directory"}, ADA).to_data()
            self.room_id = cast("str", room["room_id"])
            hub.call("rooms.join", {"room_id": self.room_id}, ADA)
            for _ in range(events):
                self.append(hub)

    def append(self, hub: Hub, size: int = 0) -> None:
        """Append an event of about this size; it counts as said once it is acknowledged."""
        words = f"{len(self.words)} {'x' * size}"
        hub.call("events.append", {"room_id": self.room_id, "kind": "x.directory.word", "data": {"words": words}}, ADA)
        self.words.append(words)

    def read(self, hub: Hub) -> list[str]:
        """The words on the ledger, in order."""
        found: list[str] = []
        given: dict[str, object] = {
            "room_id": self.room_id,
            "kinds": ["x.directory.word"],
            "limit": 1000,
            "since_seq": 0,
        }
        while True:
            page = hub.call("events.list", given, ADA).to_data()
            found += [event["data"]["words"] for event in page["events"]]
            if not page["events"]:
                return found
            given["since_seq"] = page["cursor"]

    def flaws(self, hub: Hub) -> list[str]:
        """What `verify` finds, and if that is nothing, what a fresh fold of the ledger finds."""
        verdict = hub.call("events.verify", {}, ADA).to_data()
        return [room["problem"] for room in verdict["rooms"] if not room["ok"]] or maintenance.check(hub)

    def assert_whole(self) -> None:
        """Everything that was acknowledged is there, nothing else, and the store is sound and takes more."""
        with self.hub() as hub:
            assert self.read(hub) == self.words
            self.append(hub)
            assert self.read(hub) == self.words
            assert self.flaws(hub) == []

    def tally(self, *args: str) -> Said:
        """Run the command against this directory, with no right that a file's mode does not give."""
        done = subprocess.run(
            [*POWERLESS, sys.executable, "-m", "tallystick.surfaces.cli.main", "--json", *args],
            env={"PATH": os.environ["PATH"], "TALLYSTICK_DATA_DIR": str(self.folder)},
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            text=True,
        )
        said = msgspec.json.decode(done.stdout, type=Envelope)
        return Said(exit_code=done.returncode, data=said.data or {}, error=said.error or {}, stderr=done.stderr)
