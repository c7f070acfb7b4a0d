"""A closed room in one file: what is kept, what stays behind, and the way back."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tallystick.hub import maintenance
from tallystick.hub.blobs import BlobFolder
from tallystick.hub.signing import SigningKey
from tallystick.kernel.errors import TallyError
from tests.scene import Actor, Row, Scene, refused


@pytest.fixture
def scene(scene: Scene, tmp_path: Path) -> Scene:
    scene.blobs = tmp_path / "blobs"
    again = Scene(scene.store, scene.workspace, scene.clock, blobs=tmp_path / "blobs")
    assert isinstance(again.hub.blobs, BlobFolder)
    return again


@pytest.fixture
def closed(scene: Scene) -> Actor:
    """A member of a room that was lived in and closed; the next room of the same path is open."""
    ada, bob = scene.joined("ada", "bob")
    ada.release(ada.claim())
    ada.here("messages.send", text="findable words")
    ada.here("blobs.put", mime_type="text/plain", name="a.txt", content_base64=base64.b64encode(b"hello").decode())
    bob.here("jobs.create", title="x", prompt="p")
    old = ada.room_id
    ada.here("rooms.close")
    ada.join()
    ada.here("notes.add", body="in the next room")
    bob.room_id = old
    return bob


def written(scene: Scene, room_id: str, tmp_path: Path) -> Path:
    file = tmp_path / "room.jsonl"
    file.write_bytes(b"".join(maintenance.archive_lines(scene.hub, SigningKey(Ed25519PrivateKey.generate()), room_id)))
    return file


def test_an_archived_room_is_gone_but_for_a_stub_that_names_its_file(
    scene: Scene, closed: Actor, tmp_path: Path
) -> None:
    file = written(scene, closed.room_id, tmp_path)

    done = maintenance.prune_archived(scene.hub, file)

    for operation in ("events.list", "rooms.show", "turns.state", "messages.inbox", "jobs.list"):
        with refused("cursor_gone") as gone:
            closed.here(operation)
        assert gone.value.details == {"room_id": closed.room_id, "archive_sha256": done.sha256}
    with refused("cursor_gone"):
        closed.here("notes.add", body="too late")
    left = [
        table for table, rows in scene.dump().items() if any(dict(row).get("room_id") == closed.room_id for row in rows)
    ]
    assert set(left) <= {"heads", "leases", "presence", "signed_heads", "sends_of_agents"}
    assert not (tmp_path / "blobs" / next(iter(maintenance._read(file)[0].blobs))).exists()  # pyright: ignore[reportPrivateUsage]
    assert scene.agent("ada").call("events.verify")["ok"] is True
    assert maintenance.check(scene.hub) == []


def test_a_restored_room_is_what_it_was(scene: Scene, closed: Actor, tmp_path: Path) -> None:
    ledger, events = list(maintenance.export(scene.hub)), closed.events()
    file = written(scene, closed.room_id, tmp_path)
    maintenance.prune_archived(scene.hub, file)

    maintenance.restore_archive(scene.hub, file)

    assert (closed.events(), list(maintenance.export(scene.hub))) == (events, ledger)
    assert closed.call("events.verify")["ok"] is True
    assert maintenance.check(scene.hub) == []
    sha256 = cast("Row", next(event for event in events if "sha256" in event["data"])["data"])["sha256"]
    assert closed.here("blobs.get", sha256=sha256)["content_base64"] == base64.b64encode(b"hello").decode()
    with refused("room_closed"):
        closed.here("notes.add", body="still closed")


def test_a_room_that_is_open_is_not_archived(scene: Scene, closed: Actor) -> None:
    open_room = scene.agent("ada")
    open_room.join()
    with closed.refused("room_still_open"):
        maintenance.plan_archive(scene.hub, open_room.room_id)


DAMAGE: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "cut short": lambda lines: lines[:-1],
    "a changed event": lambda lines: [lines[0], lines[1].replace(b"ada", b"eve"), *lines[2:]],
    "a missing event": lambda lines: [*lines[:2], *lines[3:]],
    "a changed blob": lambda lines: [*lines[:-2], lines[-2].replace(b"aGVs", b"aGVt"), lines[-1]],
    "a changed signature": lambda lines: [*lines[:-1], lines[-1].replace(b'"signature":"', b'"signature":"00')],
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_file_that_does_not_fit_removes_nothing(scene: Scene, closed: Actor, tmp_path: Path, damage: str) -> None:
    file = written(scene, closed.room_id, tmp_path)
    lines = file.read_bytes().splitlines(keepends=True)
    changed = DAMAGE[damage](lines)
    assert changed != lines
    file.write_bytes(b"".join(changed))
    before = scene.dump()

    with pytest.raises(TallyError) as wrong:
        maintenance.prune_archived(scene.hub, file)

    assert wrong.value.code in {"bad_archive", "bad_checkpoint"}
    assert scene.dump() == before


def test_a_room_that_is_not_as_in_its_file_any_more_stays(scene: Scene, closed: Actor, tmp_path: Path) -> None:
    file = written(scene, closed.room_id, tmp_path)
    scene.sql("UPDATE heads SET hash = :hash WHERE room_id = :room_id", hash="0" * 64, room_id=closed.room_id)
    before = scene.dump()

    with closed.refused("bad_archive"):
        maintenance.prune_archived(scene.hub, file)

    assert scene.dump() == before


def test_another_file_does_not_bring_a_room_back(scene: Scene, closed: Actor, tmp_path: Path) -> None:
    file = written(scene, closed.room_id, tmp_path)
    maintenance.prune_archived(scene.hub, file)
    file.write_bytes(file.read_bytes() + b"\n")
    with closed.refused("not_archived"):
        maintenance.restore_archive(scene.hub, file)
