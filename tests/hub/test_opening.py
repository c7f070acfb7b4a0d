"""Opening a hub: where its store is, with which settings, and that a write locks out other writers from its start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.kernel.caller import Caller, SessionKind

ADA = Caller(agent_id="ada", session=SessionKind.NAMED)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    """A hub in a data directory that does not exist yet."""
    hub = Hub.open(Settings.of({"TALLYSTICK_DATA_DIR": str(tmp_path / "deep" / "data")}))
    yield hub
    hub.close()


def test_the_data_directory_is_created_at_first_use(hub: Hub, tmp_path: Path) -> None:
    hub.call("hub.health", {}, ADA)
    assert (tmp_path / "deep" / "data" / "tally.sqlite").is_file()


def test_the_embedded_store_runs_with_the_settings_that_the_specification_demands(hub: Hub) -> None:
    about = hub.store.describe()
    names = ("engine", "journal_mode", "synchronous", "busy_timeout", "foreign_keys")
    assert [about[name] for name in names] == ["sqlite", "wal", "normal", 5000, 1]


def test_all_rooms_share_one_database(hub: Hub, tmp_path: Path) -> None:
    for title in ("one", "two", "three"):
        hub.call("rooms.create", {"title": title}, ADA)
    assert hub.call("hub.health", {}, ADA).to_data() == {"ok": True, "rooms": 3}
    assert [file.name for file in (tmp_path / "deep" / "data").glob("*.sqlite")] == ["tally.sqlite"]


def test_a_write_locks_other_writers_out_before_its_first_statement(hub: Hub, tmp_path: Path) -> None:
    other: Any = apsw.Connection(str(tmp_path / "deep" / "data" / "tally.sqlite"))
    try:
        with hub.writing(), pytest.raises(apsw.BusyError):
            other.execute("BEGIN IMMEDIATE")
        other.execute("BEGIN IMMEDIATE")
    finally:
        other.close()


def test_what_was_written_is_there_when_the_hub_is_opened_again(tmp_path: Path) -> None:
    settings = Settings.of({"TALLYSTICK_DATA_DIR": str(tmp_path)})
    first = Hub.open(settings)
    first.call("rooms.create", {"title": "kept"}, ADA)
    first.close()
    second = Hub.open(settings)
    assert second.call("hub.health", {}, ADA).to_data() == {"ok": True, "rooms": 1}
    second.close()
