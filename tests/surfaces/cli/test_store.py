"""`tally export|import|backup|rebuild`: the whole store."""

from __future__ import annotations

import json
import stat

import pytest

from tests.surfaces.cli.place import Place


@pytest.fixture
def place(alone: Place) -> Place:
    """Without a hub: whole stores are moved here."""
    return alone


def _lived_in(place: Place) -> str:
    """A room with a little history; the result is its export."""
    place.as_("ann", "join")
    place.as_("ann", "note", "grüße\x1b")
    return place.run("export").out


def test_an_export_is_imported_into_an_empty_store_unchanged(place: Place) -> None:
    exported = _lived_in(place)
    other = str(place.root / "other")

    done = place.run("--json", "--data-dir", other, "import", "-", stdin=exported)

    assert done.data == {"rooms": 1, "events": 4}
    assert place.run("--data-dir", other, "export").out == exported
    assert place.run("--json", "--data-dir", other, "verify").data["ok"] is True


def test_an_export_to_a_terminal_commands_nothing_there(place: Place) -> None:
    place.as_("ann", "join")
    place.as_("ann", "note", "grüße \x9b2J \u202e")

    with place.terminal("export", "-") as terminal:
        shown = terminal.rest()

    assert all(line.isprintable() for line in shown.splitlines())
    assert "grüße \\u009b2J \\u202e" in shown


def test_an_export_to_a_file_is_private_and_whole(place: Place) -> None:
    exported = _lived_in(place)
    file = place.root / "events.jsonl"

    done = place.run("--json", "export", str(file))

    assert done.data == {"file": str(file), "events": 4}
    assert file.read_text("utf-8") == exported
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [each.name for each in place.root.glob(".events*")] == []


def test_an_import_that_was_cut_short_takes_nothing(place: Place) -> None:
    exported = _lived_in(place).splitlines(keepends=True)
    other = str(place.root / "other")

    done = place.run("--json", "--data-dir", other, "import", "-", stdin="".join(exported[:-1]))

    assert (done.code, done.error["code"]) == (1, "bad_import")
    assert place.run("--json", "--data-dir", other, "rooms", "--all").data == {"rooms": []}


def test_importing_into_a_store_in_use_is_refused(place: Place) -> None:
    exported = _lived_in(place)

    done = place.run("--json", "import", "-", stdin=exported)

    assert (done.code, done.error["code"]) == (1, "not_empty")


def test_files_that_cannot_be_used_are_refused_by_name(place: Place) -> None:
    _lived_in(place)
    missing = str(place.root / "no" / "such")

    refused = [place.run("--json", command, missing) for command in ("export", "import", "backup")]

    assert [(done.code, done.error["code"]) for done in refused] == [(1, "file_unusable")] * 3
    assert all(missing in str(done.error["message"]) for done in refused)


def test_an_export_to_stdout_leaves_no_room_for_an_envelope(place: Place) -> None:
    done = place.run("--json", "export")

    assert (done.code, done.error["code"]) == (2, "usage")


def test_a_backup_is_a_store_of_its_own(place: Place) -> None:
    exported = _lived_in(place)
    copy = place.root / "copy"
    copy.mkdir(mode=0o700)

    first = place.run("backup", str(copy / "tally.sqlite"))
    again = place.run("--json", "backup", str(copy / "tally.sqlite"))

    assert (first.code, first.out) == (0, f"Backed up to {copy}/tally.sqlite.\n")
    assert (again.code, again.error["code"]) == (1, "file_unusable")
    assert place.run("--data-dir", str(copy), "export").out == exported


def test_a_rebuild_changes_nothing_that_was_right(place: Place) -> None:
    _lived_in(place)
    before = place.as_("ann", "rooms").data

    dry, wet = place.run("rebuild", "--dry-run"), place.run("rebuild")

    assert (dry.code, dry.out) == (0, "Differing from the ledger: nothing.\n")
    assert (wet.code, wet.out) == (0, "Folded 4 events.\n")
    assert place.as_("ann", "rooms").data == before


def test_care_of_a_store_that_is_not_there_creates_none(place: Place) -> None:
    refused = [place.run("--json", *args) for args in (["export", "x"], ["backup", "x"], ["rebuild"])]

    assert [(done.code, done.error["code"]) for done in refused] == [(1, "no_store")] * 3
    assert place.files() == []


def test_hostile_text_leaves_an_export_escaped(place: Place) -> None:
    exported = _lived_in(place)

    assert "\x1b" not in exported
    assert [json.loads(line) for line in exported.splitlines()][-1] == {"tallystick_export": 1, "rooms": 1, "events": 4}
