"""Joining: which room a path leads to, what the answer tells, and who ends up where in the turn order."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from tests.scene import Actor, Row, Scene, refused


def names(actor: Actor) -> list[str]:
    return [member["agent_id"] for member in actor.members()]


def test_joining_a_workspace_without_a_room_creates_one_at_its_root(scene: Scene) -> None:
    ada = scene.agent("ada")
    joined = ada.join(scene.folder("packages/web/src"))
    assert joined == {
        "agent_id": "ada",
        "room_id": joined["room_id"],
        "canonical_path": str(scene.workspace),
        "requested_path": str(scene.workspace / "packages/web/src"),
        "workspace_root": str(scene.workspace),
        "joined_existing_room": False,
        "warning": None,
        "policy": {
            "owner_lease_ttl_ms": 2_700_000,
            "heartbeat_interval_ms": 300_000,
            "claim_ttl_ms": 1_200_000,
            "wait_for_turn_max_wait_ms": 30_000,
            "wait_for_turn_poll_ms": 250,
            "presence_ttl_ms": 14_400_000,
            "ack_overdue_ms": 1_800_000,
            "proof": "evidence",
            "mode": "turns",
        },
        "room_state": "idle",
        "owner": None,
        "members_here": 1,
        "members_gone": 0,
        "members": [
            {
                "agent_id": "ada",
                "name": "ada",
                "role": "peer",
                "ordinal": 0,
                "status": "active",
                "joined_at": "2026-09-21T14:13:20.000Z",
                "last_seen_at": "2026-09-21T14:13:20.000Z",
                "session_kind": "mcp_harness",
                "pid": 1000,
                "in_order": True,
            }
        ],
        "cursor": "3",
        "handoff_template": joined["handoff_template"],
    }
    assert [event["kind"] for event in ada.events()] == ["group.create", "group.attach", "actor.add"]


def test_the_handoff_template_is_the_same_everywhere_and_suggests_what_to_write(scene: Scene) -> None:
    ada = scene.agent("ada")
    outer = cast("Row", ada.join()["handoff_template"])
    inner = ada.join(scene.folder("nested"), force_new=True)["handoff_template"]
    assert outer == inner
    assert outer["status"] == "What I did:\nWhat I learned:\nOpen risks:"
    assert set(outer) == {"status", "next_action", "artifacts", "open_questions", "do_not"}


def test_agents_in_two_packages_of_one_repository_meet_in_its_room(scene: Scene) -> None:
    ada, bob = scene.agent("ada"), scene.agent("bob")
    first = ada.join(scene.folder("packages/web/src"))
    second = bob.join(scene.folder("packages/api"))
    assert (second["room_id"], second["joined_existing_room"]) == (first["room_id"], True)
    assert (second["canonical_path"], second["warning"]) == (str(scene.workspace), None)


def test_a_path_to_a_file_leads_to_the_room_of_its_folder(scene: Scene) -> None:
    file = scene.folder("src") / "main.py"
    file.touch()
    ada, bob = scene.agent("ada"), scene.agent("bob")
    assert bob.join(file)["room_id"] == ada.join()["room_id"]


def test_a_link_into_the_workspace_leads_to_its_room(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(scene.folder("src"))
    ada, bob = scene.agent("ada"), scene.agent("bob")
    assert bob.join(tmp_path / "link")["room_id"] == ada.join()["room_id"]


def test_a_nested_room_is_opened_only_on_purpose_and_with_a_warning(scene: Scene) -> None:
    ada, bob = scene.agent("ada"), scene.agent("bob")
    outer = ada.join()
    nested = scene.folder("packages/web")
    assert bob.join(nested)["room_id"] == outer["room_id"]
    inner = bob.join(nested, force_new=True)
    assert (inner["canonical_path"], inner["joined_existing_room"]) == (str(nested), False)
    assert inner["warning"] == f"A room exists above, at {scene.workspace}; its turns and this room's are separate."
    assert inner["room_id"] != outer["room_id"]


def test_the_deepest_room_above_a_path_is_the_one_joined(scene: Scene) -> None:
    ada, bob, cyd = scene.agent("ada"), scene.agent("bob"), scene.agent("cyd")
    outer = ada.join()
    middle = ada.join(scene.folder("packages"), force_new=True)
    deepest = ada.join(scene.folder("packages/web"), force_new=True)
    assert bob.join(scene.folder("packages/web/src/deep"))["room_id"] == deepest["room_id"]
    assert bob.join(scene.folder("packages/api"))["room_id"] == middle["room_id"]
    assert cyd.join(scene.folder("docs"))["room_id"] == outer["room_id"]


def test_force_new_at_the_exact_path_of_a_room_joins_that_room(scene: Scene) -> None:
    ada, bob = scene.agent("ada"), scene.agent("bob")
    nested = scene.folder("packages/web")
    inner = ada.join(nested, force_new=True)
    again = bob.join(nested, force_new=True)
    assert (again["room_id"], again["joined_existing_room"], again["warning"]) == (inner["room_id"], True, None)


def test_force_new_in_a_nested_room_warns_of_the_room_above_it_too(scene: Scene) -> None:
    ada, bob = scene.agent("ada"), scene.agent("bob")
    ada.join()
    nested = scene.folder("packages/web")
    inner = ada.join(nested, force_new=True)
    again = bob.join(nested, force_new=True)
    assert (again["room_id"], again["warning"]) == (inner["room_id"], inner["warning"])
    assert bob.join(nested)["warning"] is None


def test_force_new_with_no_room_above_opens_one_right_there_without_a_warning(scene: Scene) -> None:
    ada = scene.agent("ada")
    nested = scene.folder("packages/web")
    joined = ada.join(nested, force_new=True)
    assert (joined["canonical_path"], joined["warning"]) == (str(nested), None)


def test_a_room_above_the_workspace_root_is_not_on_the_way(scene: Scene, tmp_path: Path) -> None:
    ada, bob = scene.agent("ada"), scene.agent("bob")
    above = ada.call("rooms.create", title="everything", context_path=str(tmp_path))
    assert bob.join()["room_id"] != above["room_id"]


def test_joining_twice_changes_neither_the_order_nor_the_ledger(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    again = ada.join()
    assert (again["joined_existing_room"], again["cursor"]) == (True, "4")
    assert names(bob) == ["ada", "bob"]


def test_each_new_member_goes_to_the_end_of_the_order(scene: Scene) -> None:
    *_, cyd = scene.joined("bob", "ada", "cyd")
    assert names(cyd) == ["bob", "ada", "cyd"]


def test_a_room_can_be_joined_by_its_id_alone(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    bob = scene.agent("bob")
    joined = bob.call("rooms.join", room_id=ada.room_id)
    assert (joined["room_id"], joined["joined_existing_room"]) == (ada.room_id, True)
    assert (joined["requested_path"], joined["workspace_root"]) == (None, None)
    assert names(ada) == ["ada", "bob"]


def test_a_join_names_a_path_or_a_room_and_not_both(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    both = {"context_path": str(scene.workspace), "room_id": ada.room_id}
    for given in ({}, both):
        with refused("invalid_input") as caught:
            scene.agent("bob").call("rooms.join", **given)
        assert caught.value.message == "Give either context_path or room_id."


def test_a_room_that_is_not_there_cannot_be_joined(scene: Scene) -> None:
    with scene.refused("room_not_found"):
        scene.agent("ada").call("rooms.join", room_id="no-such-room")


def test_a_joiner_learns_who_holds_the_stick(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    ada.claim()
    joined = scene.agent("bob").join()
    assert (joined["room_state"], joined["owner"]) == ("owned", "ada")


def test_an_overridden_id_becomes_the_members_and_is_flagged_in_the_event_stream(scene: Scene) -> None:
    ada = scene.agent("ada")
    joined = ada.join(agent_id_override="probe-1")
    assert joined["agent_id"] == "probe-1"
    added = ada.events(kinds=["actor.add"])
    assert [(event["by"], event["data"]) for event in added] == [
        (
            "probe-1",
            {
                "actor_id": "probe-1",
                "name": "probe-1",
                "role": "peer",
                "harness": "",
                "ordinal": 0,
                "agent_id_override": True,
            },
        )
    ]


def test_an_id_of_ones_own_is_not_flagged(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    (added,) = ada.events(kinds=["actor.add"])
    assert added["data"] == {"actor_id": "ada", "name": "ada", "role": "peer", "harness": "", "ordinal": 0}


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("user", "reserved_name"),
        ("system", "reserved_name"),
        ("svc:deploy", "reserved_name"),
        ("human:wren:pts1", "reserved_name"),
        ("", "invalid_input"),
        ("two words", "invalid_input"),
        ("nul\0", "invalid_input"),
        ("x" * 129, "too_large"),
    ],
)
def test_an_override_may_not_pose_as_somebody_else_or_break_the_rules_of_names(
    scene: Scene, name: str, code: str
) -> None:
    ada = scene.agent("ada")
    with refused(code):
        ada.join(agent_id_override=name)
    assert ada.call("rooms.list")["rooms"] == []


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("relative/path", "invalid_input"),
        ("~/repo", "invalid_input"),
        ("/nul\0", "invalid_input"),
        ("/no/such/folder", "workspace_not_found"),
        ("/" + "x" * 4096, "too_large"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused_and_creates_nothing(scene: Scene, path: str, code: str) -> None:
    before = scene.dump()
    with refused(code):
        scene.agent("ada").call("rooms.join", context_path=path)
    assert scene.dump() == before


def test_one_canonical_path_has_at_most_one_open_room_and_the_store_itself_says_so(scene: Scene) -> None:
    ada = scene.agent("ada")
    room_id = ada.join()["room_id"]
    with scene.refused("duplicate_row"):
        scene.sql(
            "INSERT INTO scopes (room_id, scope_key, machine_id, root) SELECT 'other', scope_key, machine_id, root"
            " FROM scopes WHERE room_id = :room_id",
            room_id=str(room_id),
        )
