"""Finding rooms without joining them: list, show and create."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from tests.scene import Actor, Scene, refused


def listed(actor: Actor, path: Path | None = None, **given: object) -> list[dict[str, object]]:
    if path:
        given["context_path"] = str(path)
    return cast("list[dict[str, object]]", actor.call("rooms.list", **given)["rooms"])


def ids(rooms: list[dict[str, object]]) -> list[object]:
    return [room["room_id"] for room in rooms]


def test_a_listed_room_shows_its_place_its_state_and_who_is_in_it(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.claim()
    assert listed(bob, scene.workspace) == [
        {
            "room_id": ada.room_id,
            "title": "repo",
            "canonical_path": str(scene.workspace),
            "room_state": "owned",
            "owner": "ada",
            "reserved_for": None,
            "turn_id": 1,
            "members": ["ada", "bob"],
            "created_at": "2026-09-21T14:13:20.000Z",
            "closed_at": None,
        }
    ]


def test_a_path_lists_the_rooms_from_it_up_to_the_workspace_root_deepest_first(scene: Scene, tmp_path: Path) -> None:
    ada = scene.agent("ada")
    outer = ada.join()["room_id"]
    inner = ada.join(scene.folder("packages/web"), force_new=True)["room_id"]
    ada.join(scene.folder("packages/api"), force_new=True)
    ada.call("rooms.create", title="above the workspace", context_path=str(tmp_path))
    assert ids(listed(ada, scene.folder("packages/web/src"))) == [inner, outer]
    assert ids(listed(ada, scene.folder("docs"))) == [outer]
    assert ids(listed(ada, scene.folder("packages/web/src"), limit=1)) == [inner]


def test_without_a_path_every_room_is_listed_newest_first_and_closed_ones_too(scene: Scene) -> None:
    ada = scene.agent("ada")
    first = ada.join()["room_id"]
    ada.here("rooms.close")
    scene.clock.forward(minutes=1)
    second = ada.join()["room_id"]
    scene.clock.forward(minutes=1)
    third = ada.call("rooms.create", title="no path")["room_id"]
    rooms = listed(ada)
    assert ids(rooms) == [third, second, first]
    assert [(room["room_state"], room["closed_at"]) for room in rooms] == [
        ("dormant", None),
        ("idle", None),
        ("closed", "2026-09-21T14:13:20.000Z"),
    ]
    assert ids(listed(ada, limit=2)) == [third, second]


def test_a_closed_room_is_no_longer_found_by_its_path(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    ada.here("rooms.close")
    assert listed(ada, scene.workspace) == []


def test_another_machines_rooms_are_not_on_this_machines_paths(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    scene.sql("UPDATE scopes SET machine_id = 'elsewhere'")
    assert listed(ada, scene.workspace) == []
    assert ids(listed(ada)) == [ada.room_id]


def test_a_listing_shows_a_dead_owner_and_a_dormant_room(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    scene.clock.forward(minutes=241)
    assert listed(scene.stranger(""), scene.workspace)[0]["room_state"] == "dormant"
    ada.claim()
    scene.kill(ada)
    assert listed(scene.stranger(""), scene.workspace)[0]["room_state"] == "owner_gone"


def test_a_room_shows_its_paths_policy_members_and_where_its_ledger_ends(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    shown = bob.here("rooms.show")
    joined = bob.join()
    (scope,) = cast("list[dict[str, object]]", shown["scopes"])
    assert shown == {
        "room_id": ada.room_id,
        "title": "repo",
        "canonical_path": str(scene.workspace),
        "room_state": "idle",
        "created_at": "2026-09-21T14:13:20.000Z",
        "created_by": "ada",
        "closed_at": None,
        "policy": joined["policy"],
        "scopes": [{"scope_key": scope["scope_key"], "root": str(scene.workspace), "here": True}],
        "head": 4,
        "members_here": 2,
        "members_gone": 0,
        "members": joined["members"],
    }


def test_a_room_without_a_path_belongs_to_no_workspace(scene: Scene) -> None:
    ada = scene.agent("ada")
    created = ada.call("rooms.create", title="release 2.0")
    assert created == {
        "room_id": created["room_id"],
        "title": "release 2.0",
        "canonical_path": "",
        "scope_key": "",
    }
    assert ada.call("rooms.show", room_id=created["room_id"])["members"] == []


def test_a_room_created_for_a_path_is_joined_from_there_and_below(scene: Scene) -> None:
    ada, bob = scene.agent("ada"), scene.agent("bob")
    web = scene.folder("packages/web")
    created = ada.call("rooms.create", title="the web team", context_path=str(web))
    assert created["canonical_path"] == str(web)
    joined = bob.join(scene.folder("packages/web/src"))
    assert (joined["room_id"], joined["canonical_path"]) == (created["room_id"], str(web))


def test_a_second_room_for_the_same_path_is_refused(scene: Scene) -> None:
    ada = scene.agent("ada")
    ada.join()
    with refused("path_taken") as caught:
        ada.call("rooms.create", title="again", context_path=str(scene.workspace))
    assert caught.value.details == {"canonical_path": str(scene.workspace)}


@pytest.mark.parametrize(("title", "code"), [("", "invalid_input"), ("x" * 201, "too_large"), ("a\0", "invalid_input")])
def test_a_title_is_bounded_and_storable(scene: Scene, title: str, code: str) -> None:
    with refused(code) as caught:
        scene.agent("ada").call("rooms.create", title=title)
    assert caught.value.details["field"] == "title"


def test_a_room_that_is_not_there_cannot_be_shown(scene: Scene) -> None:
    with refused("room_not_found") as caught:
        scene.agent("ada").call("rooms.show", room_id="no-such-room")
    assert caught.value.details == {"room_id": "no-such-room"}
