"""`tally archive`: a closed room into one file, and back."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.surfaces.cli.place import Place


@pytest.fixture
def place(alone: Place) -> Place:
    """Without a hub: rooms are taken out of the store here."""
    return alone


def test_a_closed_room_goes_into_a_file_and_comes_back(place: Place) -> None:
    room = str(place.as_("ann", "join").data["room_id"])
    place.as_("ann", "note", "words")
    still_open = place.run("--json", "archive", room)
    place.as_("ann", "close", "--yes")
    before = place.run("export").out

    kept = place.root / "kept.json"
    place.run("checkpoint", "export", str(kept))
    planned = place.run("--json", "archive", "--dry-run", room)
    untouched = place.run("export").out
    archived = place.run("--json", "archive", room, "--to", str(place.root))
    gone = place.run("--json", "events", "--room", room)
    (done,) = archived.rows("archived")
    kept_still = place.run("--json", "verify", "--checkpoint", str(kept))
    back = place.run("--json", "archive", "--restore", str(done["file"]))

    assert still_open.error["code"] == "room_still_open"
    assert planned.rows("planned") == [{"room_id": room, "events": 5, "blobs": 0, "missing_blobs": 0}]
    assert untouched == before
    sha256 = hashlib.sha256(Path(str(done["file"])).read_bytes()).hexdigest()
    assert (done["room_id"], done["events"], done["sha256"]) == (room, 5, sha256)
    assert sha256 in str(gone.error["message"])
    assert (gone.error["code"], gone.error["details"]) == ("cursor_gone", {"room_id": room, "archive_sha256": sha256})
    assert (kept_still.code, kept_still.data["problems"], kept_still.data["archived"]) == (0, [], {room: sha256})
    assert back.rows("restored")[0]["room_id"] == room
    assert place.run("export").out == before
    assert place.run("--json", "verify").data["ok"] is True


def test_what_was_closed_just_now_is_not_due(place: Place) -> None:
    place.as_("ann", "join")
    place.as_("ann", "close", "--yes")
    assert place.run("archive", "--closed-for", "30d").out == "No room has been closed for so long.\n"


def test_a_room_or_a_file_has_to_be_named(place: Place) -> None:
    place.as_("ann", "join")
    assert place.run("archive").code == 2
