"""A store of an earlier version: it moves unchanged, folds to what it was, verifies, and says what it said then."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tallystick.storage.port import Store
from tests.ledger.recorded.store import answer, exported, imported, later, recorded, unpacked
from tests.ledger.shapes.everything import FOREIGN, RETIRED, golden
from tests.places import Place

KINDS_THEN = 52
"""All that there were when the store was recorded."""
TALLY = str(Path(sys.executable).with_name("tally"))


def tally(place: Place, *arguments: str, stdin: bytes = b"") -> bytes:
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(place.data_dir.parent),
        "TALLYSTICK_DATA_DIR": str(place.data_dir),
        "TALLYSTICK_DATABASE_URL": place.database_url or "",
    }
    done = subprocess.run([TALLY, *arguments], input=stdin, env=environ, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def kept(tmp_path: Path) -> Place:
    """The store itself, as it was then."""
    return Place(data_dir=unpacked(tmp_path / "kept"), database_url=None)


def test_a_recorded_export_is_imported_and_exported_without_a_changed_byte(place: Place) -> None:
    tally(place, "import", "-", stdin=exported())
    assert tally(place, "export") == exported()
    assert tally(place, "rebuild", "--dry-run") == b"Differing from the ledger: nothing.\n"
    assert tally(place, "verify")


def test_a_recorded_store_is_opened_and_exported_without_a_changed_byte(kept: Place) -> None:
    assert tally(kept, "export") == exported()
    assert tally(kept, "rebuild", "--dry-run") == b"Differing from the ledger: nothing.\n"
    assert tally(kept, "verify")


def test_a_recorded_store_answers_every_question_as_it_did(kept: Place) -> None:
    with closing(kept.open()) as store:
        hub = later(store)
        for each in recorded():
            assert answer(hub, each.question) == each.kept, each.question


def test_a_recorded_export_answers_every_question_as_it_did_once_imported(store: Store) -> None:
    hub = imported(store)
    for each in recorded():
        assert answer(hub, each.question) == each.imported, each.question


def test_the_recording_holds_every_kind_of_event_that_there_was() -> None:
    text = exported().decode()
    kinds = {kind for kind, _body in golden()} | FOREIGN | RETIRED
    assert len([kind for kind in kinds if f'"kind":"{kind}","scope_key"' in text]) == KINDS_THEN
