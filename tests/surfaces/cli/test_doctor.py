"""`tally doctor`: what is well, what is not, and how to put it right."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest

from tests.ledger.test_oversized import deep, export_with
from tests.surfaces.cli.place import Done, Place


@pytest.fixture
def place(alone: Place) -> Place:
    """Without a hub: what it finds is done to the files of the store."""
    return alone


def _verdicts(done: Done) -> dict[str, str]:
    return {str(check["name"]): str(check["verdict"]) for check in _checks(done)}


def _checks(done: Done) -> list[dict[str, object]]:
    return done.rows("checks")


def _check(done: Done, name: str) -> dict[str, object]:
    (found,) = [check for check in _checks(done) if check["name"] == name]
    return found


def test_a_fresh_machine_has_no_store_and_gets_none(place: Place) -> None:
    done = place.as_("ann", "doctor")

    assert (done.code, done.data["healthy"]) == (0, True)
    assert _verdicts(done) == {
        "data directory": "ok",
        "store": "ok",
        "hub": "ok",
        "identity": "ok",
        "harnesses": "ok",
    }
    assert _check(done, "store")["found"] == "no store yet: the first `tally join` creates it"
    assert place.files() == []


@pytest.mark.parametrize("deep", [[], ["--deep"]])
def test_a_store_in_use_is_well(place: Place, deep: list[str]) -> None:
    place.as_("ann", "join")

    done = place.as_("ann", "doctor", *deep)

    assert done.code == 0
    store = ["free space", "engine", "file system", "schema", "write lock", "ledger", "wake"]
    assert _verdicts(done) == dict.fromkeys(["data directory", *store, "hub", "identity", "harnesses"], "ok")


@pytest.mark.parametrize(
    ("change", "name"),
    [("ALTER TABLE events RENAME prev_hash TO pref_hash", "ledger"), ("DROP TABLE migrations", "schema")],
)
def test_a_broken_schema_is_damage_and_no_new_store(place: Place, change: str, name: str) -> None:
    place.as_("ann", "join")
    with closing(sqlite3.connect(place.data_dir / "tally.sqlite", isolation_level=None)) as other:
        other.execute(change)

    found = _check(place.as_("ann", "doctor"), name)

    assert (found["verdict"], "is damaged" in str(found["found"])) == ("bad", True)
    assert "restore the newest backup" in str(found["fix"])


def test_people_get_a_table_and_the_remedies(place: Place) -> None:
    place.as_("ann", "join")
    place.data_dir.chmod(0o755)

    done = place.run("doctor", "--as", "ann")

    assert done.code == 0
    assert done.out.splitlines()[1] == f"warn\tdata directory\t{place.data_dir} has mode 0755"
    assert done.out.splitlines()[-1] == (
        "data directory: Run `tally doctor --repair`: whoever can open the store is trusted."
    )
    assert place.run("doctor", "--repair", "--as", "ann").out.splitlines()[1] == (
        f"ok\tdata directory\t{place.data_dir}, mode 0700, writable"
    )


def _garbage(place: Place) -> None:
    (place.data_dir / "tally.sqlite").write_bytes(b"not a database at all" * 100)


def _dead_hub(place: Place) -> None:
    (place.data_dir / "hub.json").write_text(json.dumps({"url": "http://127.0.0.1:1", "pid": 2**22 + 1}), "utf-8")


def _live_hub(place: Place) -> None:
    (place.data_dir / "hub.json").write_text(json.dumps({"url": "http://127.0.0.1:1", "pid": os.getpid()}), "utf-8")


def _torn_hub(place: Place) -> None:
    (place.data_dir / "hub.json").write_text("{", "utf-8")


@pytest.mark.parametrize(
    ("harm", "name", "verdict", "code"),
    [
        (_garbage, "engine", "bad", 1),
        (_dead_hub, "hub", "warn", 0),
        (_torn_hub, "hub", "warn", 0),
        (_live_hub, "hub", "ok", 0),
    ],
)
def test_harm_is_found_and_comes_with_a_remedy(
    place: Place, harm: Callable[[Place], None], name: str, verdict: str, code: int
) -> None:
    place.as_("ann", "join")
    for file in place.data_dir.glob("tally.sqlite-*"):
        file.unlink()
    harm(place)

    done = place.as_("ann", "doctor")

    found = _check(done, name)
    assert (done.code, found["verdict"]) == (code, verdict)
    assert bool(found["fix"]) == (verdict != "ok")


def test_a_changed_event_is_found(place: Place) -> None:
    place.as_("ann", "join")
    with closing(sqlite3.connect(place.data_dir / "tally.sqlite", isolation_level=None)) as store:
        store.execute("UPDATE events SET body = replace(body, 'ann', 'eve') WHERE seq = 3")

    quick, deep, verified = place.as_("ann", "doctor"), place.as_("ann", "doctor", "--deep"), place.run("verify")

    assert [(done.code, _check(done, "ledger")["verdict"]) for done in (quick, deep)] == [(1, "bad"), (1, "bad")]
    assert "event 3: the event was changed after it was written" in str(_check(quick, "ledger")["found"])
    assert (verified.code, verified.out.splitlines()[-1]) == (4, "2 events in 1 room. The ledger is damaged.")


def test_an_event_that_an_older_version_let_in_too_deep_is_found_and_repaired(place: Place) -> None:
    export = place.root / "old.jsonl"
    export.write_bytes(b"".join(export_with(deep(300))))
    refused = place.run("--json", "import", str(export))
    taken = place.run("--json", "import", "--keep-oversized", str(export))

    found, repaired = place.as_("ann", "doctor", "--deep"), place.as_("ann", "doctor", "--repair")
    events = place.run("--json", "events", "--room", "old")

    assert (refused.code, refused.error["code"], taken.data) == (1, "bad_import", {"rooms": 1, "events": 2})
    assert str(refused.error["hint"]).endswith("`tally import --keep-oversized FILE`.")
    assert (found.code, _check(found, "bodies")["verdict"]) == (0, "warn")
    assert (repaired.code, _check(repaired, "bodies")["verdict"]) == (0, "ok")
    assert [event["seq"] for event in events.rows("events")] == [1, 2]


def test_a_bad_name_is_found_too(place: Place) -> None:
    done = place.as_("human:eve", "doctor")

    assert (done.code, _check(done, "identity")["verdict"]) == (1, "bad")


def test_a_ledger_that_was_written_in_the_future_is_told(place: Place) -> None:
    place.as_("ann", "join")
    with closing(sqlite3.connect(place.data_dir / "tally.sqlite", isolation_level=None)) as store:
        store.execute("UPDATE heads SET ts = ts + 86400000")

    found = _check(place.as_("ann", "doctor"), "clock")

    assert found["verdict"] == "warn"
    assert "24.0 h from now" in str(found["found"])
