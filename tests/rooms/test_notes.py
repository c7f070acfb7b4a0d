"""Notes: side remarks that never touch the stick."""

from __future__ import annotations

from typing import cast

import pytest

from tests.scene import Actor, Scene, refused


def bodies(actor: Actor, **given: object) -> list[object]:
    notes = cast("list[dict[str, object]]", actor.here("notes.list", **given)["notes"])
    return [note["body"] for note in notes]


def test_a_member_who_does_not_hold_the_stick_can_leave_a_note(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.claim()
    note = bob.here("notes.add", body="CI is red\0 on </main> ☂")
    assert note == {
        "ref": "notes@6",
        "seq": 6,
        "by": "bob",
        "ts": "2026-09-21T14:13:20.000Z",
        "body": "CI is red\0 on </main> ☂",
        "turn_id": 1,
    }
    assert ada.here("notes.list") == {"notes": [note], "cursor": 6}


@pytest.mark.parametrize("situation", ["idle", "owned", "reserved"])
def test_a_note_never_changes_the_stick(scene: Scene, situation: str) -> None:
    ada, bob = scene.joined("ada", "bob")
    if situation != "idle":
        turn = ada.claim()
        if situation == "reserved":
            ada.release(turn)
    sticks, leases, before = scene.rows("sticks"), scene.rows("leases"), bob.state()
    bob.here("notes.add", body="just saying")
    assert (scene.rows("sticks"), scene.rows("leases")) == (sticks, leases)
    assert bob.state() == {**before, "cursor": str(int(cast("str", before["cursor"])) + 1)}


def test_a_note_may_name_the_turn_it_is_about(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    ada.claim()
    assert ada.here("notes.add", body="about before", turn_id=0)["turn_id"] == 0


def test_notes_are_paged_without_loss(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    for number in range(5):
        ada.here("notes.add", body=f"note {number}")
        bob.here("events.append", kind="x.acme.noise", data={})
    first = ada.here("notes.list", limit=2)
    second = ada.here("notes.list", after_seq=first["cursor"], limit=2)
    third = ada.here("notes.list", after_seq=second["cursor"], limit=2)
    pages = [cast("list[dict[str, object]]", page["notes"]) for page in (first, second, third)]
    assert [[note["body"] for note in page] for page in pages] == [
        ["note 0", "note 1"],
        ["note 2", "note 3"],
        ["note 4"],
    ]
    assert ada.here("notes.list", after_seq=third["cursor"]) == {"notes": [], "cursor": third["cursor"]}


def test_a_stranger_may_read_notes_and_not_write_them(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    ada.here("notes.add", body="for all")
    stranger = scene.stranger(ada.room_id)
    assert bodies(stranger) == ["for all"]
    with refused("unknown_member"):
        stranger.here("notes.add", body="me too")


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"body": ""}, "invalid_input"),
        ({"body": "x" * 16_385}, "too_large"),
        ({"body": "\ud800"}, "invalid_input"),
        ({"body": "fine", "turn_id": -1}, "invalid_input"),
        ({"body": "fine", "turn_id": 2**63}, "invalid_input"),
    ],
)
def test_a_note_is_text_within_bounds(scene: Scene, given: dict[str, object], code: str) -> None:
    (ada,) = scene.joined("ada")
    with refused(code):
        ada.here("notes.add", **given)
    assert bodies(ada) == []


def test_notes_of_a_room_that_is_not_there_are_refused(scene: Scene) -> None:
    with scene.refused("room_not_found"):
        scene.agent("ada").call("notes.list", room_id="no-such-room")
