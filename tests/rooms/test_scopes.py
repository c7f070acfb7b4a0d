"""More than one root for one room: a second checkout, another machine."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from tallystick.hub.hub import Hub
from tests.scene import Scene, refused


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A second working copy beside the scene's."""
    (tmp_path / "second" / ".git").mkdir(parents=True)
    (tmp_path / "second" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return (tmp_path / "second").resolve()


def test_a_second_root_leads_to_the_same_room(scene: Scene, checkout: Path) -> None:
    (ada,) = scene.joined("ada")
    attached = ada.here("rooms.attach_scope", context_path=str(checkout))
    assert attached == {
        "room_id": ada.room_id,
        "scope_key": attached["scope_key"],
        "root": str(checkout),
        "changed": True,
    }
    (checkout / "src").mkdir()
    joined = scene.agent("bob").join(checkout / "src")
    assert (joined["room_id"], joined["canonical_path"]) == (ada.room_id, str(scene.workspace))
    scopes = cast("list[dict[str, object]]", ada.here("rooms.show")["scopes"])
    assert {scope["root"] for scope in scopes} == {str(scene.workspace), str(checkout)}


def test_a_members_events_carry_the_scope_it_joined_through(scene: Scene, checkout: Path) -> None:
    (ada,) = scene.joined("ada")
    key = ada.here("rooms.attach_scope", context_path=str(checkout))["scope_key"]
    bob = scene.agent("bob")
    bob.join(checkout)
    bob.here("notes.add", body="from the second checkout")
    assert [event["scope_key"] == key for event in ada.events()] == [False, False, False, True, True, True]


def test_attaching_a_root_again_changes_nothing(scene: Scene, checkout: Path) -> None:
    (ada,) = scene.joined("ada")
    first = ada.here("rooms.attach_scope", context_path=str(checkout))
    before = scene.dump()
    assert ada.here("rooms.attach_scope", context_path=str(checkout)) == {**first, "changed": False}
    assert scene.dump() == before


def test_another_rooms_root_is_refused(scene: Scene, checkout: Path) -> None:
    (ada,) = scene.joined("ada")
    other = scene.agent("bob").join(checkout)["room_id"]
    with refused("path_taken") as caught:
        ada.here("rooms.attach_scope", context_path=str(checkout))
    assert caught.value.details == {"room_id": other}


def test_a_closed_rooms_root_is_free_to_attach(scene: Scene, checkout: Path) -> None:
    (ada,) = scene.joined("ada")
    bob = scene.agent("bob")
    bob.join(checkout)
    bob.here("rooms.close")
    assert ada.here("rooms.attach_scope", context_path=str(checkout))["changed"] is True


def test_a_stranger_cannot_attach(scene: Scene, checkout: Path) -> None:
    (ada,) = scene.joined("ada")
    with scene.refused("unknown_member"):
        scene.stranger(ada.room_id).here("rooms.attach_scope", context_path=str(checkout))


def test_the_same_root_on_another_machine_is_another_scope(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    far = Hub(scene.store, clock=scene.clock, machine_id="far-machine")
    bob = scene.agent("bob", host="far-host").caller
    created = far.call("rooms.join", {"context_path": str(scene.workspace)}, bob).to_data()
    assert created["room_id"] != ada.room_id
    far.call("rooms.close", {"room_id": created["room_id"]}, bob)
    far.call("rooms.join", {"room_id": ada.room_id}, bob)
    far.call("rooms.attach_scope", {"room_id": ada.room_id, "context_path": str(scene.workspace)}, bob)
    cyd = scene.agent("cyd", host="far-host").caller
    joined = far.call("rooms.join", {"context_path": str(scene.workspace)}, cyd).to_data()
    assert joined["room_id"] == ada.room_id
    shown = cast("list[dict[str, object]]", ada.here("rooms.show")["scopes"])
    assert sorted(cast("bool", scope["here"]) for scope in shown) == [False, True]
