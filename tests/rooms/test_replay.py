"""The room as it was: what the ledger says of a past moment is what was true at that moment."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.scene import Actor, Row, Scene


def then(actor: Actor, seq: int) -> Row:
    return actor.here("rooms.replay", seq=seq)


def seen(actor: Actor) -> dict[str, Any]:
    """What is true now of that which the ledger remembers."""
    state = actor.state()
    names = ("owner", "reserved_for", "turn_id")
    members = [member["agent_id"] for member in cast("list[Row]", actor.here("agents.list")["agents"])]
    return {**{name: state[name] for name in names}, "members": members}


def remembered(actor: Actor, seq: int) -> dict[str, Any]:
    found = then(actor, seq)
    names = ("owner", "reserved_for", "turn_id")
    return {**{name: found[name] for name in names}, "members": [each["agent_id"] for each in found["members"]]}


def test_every_past_moment_is_shown_as_it_was(scene: Scene) -> None:
    ada, bob, cleo = scene.joined("ada", "bob", "cleo")
    diary: list[tuple[int, dict[str, Any]]] = []

    def note() -> None:
        diary.append((cast("int", ada.here("rooms.show")["head"]), seen(ada)))

    note()
    turn = ada.claim()
    note()
    ada.release(turn)
    note()
    bob.here("rooms.leave")
    note()
    turn = cleo.claim()
    note()
    ada.here("rooms.reorder", sequence=["cleo", "ada"])
    note()
    scene.kill(cleo)
    note()
    ada.take_over(cast("int", ada.state()["turn_id"]))
    note()
    assert [remembered(ada, seq) for seq, _ in diary] == [facts for _, facts in diary]


def test_it_says_which_event_it_stands_after_and_which_handoff_is_in_force(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    released = ada.release(ada.claim())
    assert then(ada, cast("int", released["event_seq"])) == {
        "room_id": ada.room_id,
        "seq": released["event_seq"],
        "ts": "2026-09-21T14:13:20.000Z",
        "kind": "x.tally.stick.release",
        "by": "ada",
        "state": "reserved",
        "turn_id": 1,
        "owner": None,
        "reserved_for": "bob",
        "handoff_event_seq": released["event_seq"],
        "members": [
            {"agent_id": "ada", "name": "ada", "role": "peer", "ordinal": 0},
            {"agent_id": "bob", "name": "bob", "role": "peer", "ordinal": 1},
        ],
    }


def test_before_anybody_joined_the_room_was_empty_and_free(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    assert remembered(ada, 1) == {"owner": None, "reserved_for": None, "turn_id": 0, "members": []}


def test_a_new_name_and_role_are_shown_from_then_on(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    before = cast("int", ada.here("rooms.show")["head"])
    ada.here("agents.update", name="Ada.L")
    assert [then(ada, seq)["members"][0]["name"] for seq in (before, before + 1)] == ["ada", "Ada.L"]


def test_a_closed_room_is_closed_after_its_last_event_only(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    closed = cast("int", ada.here("rooms.close")["event_seq"])
    assert [then(ada, seq)["state"] for seq in (closed - 1, closed)] == ["idle", "closed"]


@pytest.mark.parametrize("seq", [99, 2**40])
def test_an_event_that_never_was_is_refused(scene: Scene, seq: int) -> None:
    (ada,) = scene.joined("ada")
    with scene.refused("event_not_found"):
        then(ada, seq)


@pytest.mark.parametrize("seq", [0, -1, "7", 2**63])
def test_a_seq_that_cannot_be_is_refused(scene: Scene, seq: object) -> None:
    (ada,) = scene.joined("ada")
    with scene.refused("invalid_input"):
        ada.here("rooms.replay", seq=seq)
