"""What a message carries: attachments with their hash, references, and fields of either that we do not know."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import cast

import pytest

from tallystick.hub.hub import Hub
from tests.messages.talk import counts, elsewhere, file, inbox, kinds, say
from tests.scene import Row, Scene, refused

SHA = hashlib.sha256(b"a log").hexdigest()
BLOB = f"blobs/{SHA}"


def carried(scene: Scene, name: str, *what: Row) -> list[Row]:
    """Send a message with attachments or references, and give them as they were stored."""
    ada, _bob = scene.joined("ada", "bob")
    assert file(ada) == BLOB
    return cast("list[Row]", say(ada, **{name: list(what)})["data"][name])


def test_an_attachment_is_a_file_unless_it_says_otherwise_and_carries_its_hash(scene: Scene) -> None:
    assert carried(scene, "attachments", {"path": BLOB}) == [{"kind": "file", "path": BLOB, "sha256": SHA}]


def test_what_an_attachment_says_of_itself_is_kept_with_fields_we_do_not_know(scene: Scene) -> None:
    whole = {
        "kind": "image",
        "path": BLOB,
        "title": "the screen",
        "mime_type": "image/png",
        "bytes": 12,
        "sha256": SHA,
        "x_color": {"depth": [8, None]},
    }
    assert carried(scene, "attachments", whole) == [whole]


@pytest.mark.parametrize("kind", ["text", "image", "file"])
def test_an_attachment_is_text_an_image_or_a_file(scene: Scene, kind: str) -> None:
    assert carried(scene, "attachments", {"path": BLOB, "kind": kind})[0]["kind"] == kind


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"path": "/etc/passwd"},
        {"path": f"../{BLOB}"},
        {"path": f"blobs/../blobs/{SHA}"},
        {"path": f"blobs/{SHA}\n"},
        {"path": f"blobs/{SHA.upper()}"},
        {"path": "blobs/short"},
        {"path": f"https://example.org/{SHA}"},
        {"path": BLOB, "kind": "video"},
        {"path": BLOB, "sha256": "cd" * 32},
        {"path": BLOB, "sha256": "short"},
        {"path": BLOB, "bytes": -1},
        {"path": BLOB, "bytes": "12"},
    ],
)
def test_an_attachment_that_leads_anywhere_else_is_refused(scene: Scene, wrong: Row) -> None:
    with refused("invalid_input") as caught:
        carried(scene, "attachments", wrong)
    assert str(caught.value.details["field"]).startswith("attachments.0")


def test_a_file_that_is_not_in_the_room_cannot_be_attached(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    elsewhere_only = file(elsewhere(ada))
    here = file(ada, "another log")
    snapshot = {"kind": "presentation_ref", "slot_id": "main", "snapshot": {"path": elsewhere_only}}
    for given in ({"attachments": [{"path": here}, {"path": elsewhere_only}]}, {"refs": [snapshot]}):
        with refused("blob_not_found") as caught:
            say(ada, **given)
        assert caught.value.details == {"sha256": SHA}
    assert kinds(ada) == []


def test_the_path_of_an_attachment_leads_to_its_bytes(scene: Scene, tmp_path: Path) -> None:
    ada, bob = scene.joined("ada", "bob")
    scene.hub = Hub(scene.store, clock=scene.clock, machine_id="test-machine", blobs=tmp_path / "blobs")
    put = ada.here("blobs.put", content_base64=base64.b64encode(b"a log").decode())
    say(ada, attachments=[{"path": put["path"]}])
    (attached,) = inbox(bob)["messages"][0]["event"]["data"]["attachments"]
    got = bob.here("blobs.get", sha256=attached["sha256"])
    assert (attached["path"], base64.b64decode(cast("str", got["content_base64"]))) == (BLOB, b"a log")


def test_a_reference_is_a_url_unless_it_says_otherwise(scene: Scene) -> None:
    found = carried(scene, "refs", {"url": "https://example.org"}, {})
    assert found == [{"kind": "url", "url": "https://example.org"}, {"kind": "url"}]


@pytest.mark.parametrize("kind", ["file", "url", "commit", "text"])
def test_a_plain_reference_is_kept_with_fields_we_do_not_know(scene: Scene, kind: str) -> None:
    whole = {"kind": kind, "url": "u", "path": "src/a.py", "title": "t", "sha": "1f", "bytes": 3, "lines": [1, 2]}
    assert carried(scene, "refs", whole) == [whole]


def test_a_reference_into_the_presentation_is_kept_whole(scene: Scene) -> None:
    whole = {
        "kind": "presentation_ref",
        "v": 1,
        "slot_id": "main",
        "label": "l",
        "locator_label": "page 3",
        "title": "t",
        "card_type": "pdf",
        "status": "needs_user",
        "href": "h",
        "excerpt": "e",
        "locator": {"page": 3, "scroll": 0.5},
        "snapshot": {
            "path": BLOB,
            "mime_type": "image/png",
            "bytes": 9,
            "sha256": SHA,
            "width": 10,
            "height": 20,
            "captured_at": "2026-01-01T00:00:00Z",
            "source": "pdf_viewer",
            "zoom": 2,
        },
        "extra": True,
    }
    assert carried(scene, "refs", whole, {"kind": "presentation_ref", "slot_id": "main"}) == [
        whole,
        {"kind": "presentation_ref", "slot_id": "main"},
    ]


def test_a_reference_to_a_task_is_kept_whole(scene: Scene) -> None:
    whole = {"kind": "task_ref", "task_id": "bd-7", "title": "parser", "status": "somewhere else", "extra": 1}
    assert carried(scene, "refs", whole) == [whole]


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "nonsense"},
        {"kind": None},
        {"kind": "presentation_ref"},
        {"kind": "presentation_ref", "slot_id": ""},
        {"kind": "presentation_ref", "slot_id": "main", "v": 2},
        {"kind": "presentation_ref", "slot_id": "main", "status": "done"},
        {"kind": "presentation_ref", "slot_id": "main", "locator": "page 3"},
        {"kind": "presentation_ref", "slot_id": "main", "snapshot": {}},
        {"kind": "presentation_ref", "slot_id": "main", "snapshot": {"path": "/tmp/shot.png"}},
        {"kind": "task_ref"},
        {"kind": "task_ref", "task_id": ""},
        {"kind": "url", "url": 7},
        "https://example.org",
    ],
)
def test_a_reference_outside_the_standard_is_refused(scene: Scene, wrong: Row) -> None:
    with refused("invalid_input") as caught:
        carried(scene, "refs", wrong)
    assert str(caught.value.details["field"]).startswith("refs.0")


def test_the_status_a_reference_shows_changes_no_obligation(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    say(ada, priority="attention", refs=[{"kind": "presentation_ref", "slot_id": "main", "status": "resolved"}])
    assert counts(bob) == (1, 1)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800"])
def test_an_unknown_field_that_json_cannot_carry_is_refused(scene: Scene, value: object) -> None:
    with refused("invalid_input"):
        carried(scene, "refs", {"extra": value})


def test_an_unknown_field_that_is_nested_without_end_is_refused(scene: Scene) -> None:
    deep: object = 1
    for _ in range(200):
        deep = [deep]
    with refused("too_large"):
        carried(scene, "refs", {"extra": deep})


def test_too_many_attachments_or_references_are_refused(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    for name, limit in (("attachments", 50), ("refs", 100)):
        with refused("too_large") as caught:
            say(ada, **{name: [{"path": BLOB}] * (limit + 1)})
        assert caught.value.details == {"field": name, "limit": limit}
