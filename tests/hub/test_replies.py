"""A write with an idempotency key is done once, however often it is asked for."""

from __future__ import annotations

import pytest

from tallystick.hub.writing import KEPT_MS
from tallystick.kernel.errors import InvalidInput
from tests.scene import HANDOFF, Actor, Row, Scene, refused


def keyed(actor: Actor, key: str, operation: str, **given: object) -> Row:
    return actor.scene.hub.call(operation, given, actor.caller, key=key).to_data()


def test_the_same_request_with_the_same_key_is_done_once_and_answered_twice(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    first = keyed(ada, "k1", "notes.add", room_id=ada.room_id, body="once")
    again = keyed(ada, "k1", "notes.add", room_id=ada.room_id, body="once")
    assert again == first
    assert len(ada.events(kinds=["x.tally.note.add"])) == 1


def test_every_kind_of_answer_comes_back_whole(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    room: Row = {"room_id": ada.room_id}
    data = {"big": 10**30, "text": "ž\0", "list": [1, None, {"a": 1.5}]}
    turn = ada.claim()
    calls: list[tuple[str, Row]] = [
        ("rooms.join", {"context_path": str(scene.workspace)}),
        ("events.append", {**room, "kind": "x.acme.odd", "data": data}),
        ("turns.heartbeat", {**room, "lease_id": turn.lease_id, "expected_turn_id": 1}),
        ("rooms.set_policy", {**room, "claim_ttl_ms": 1000}),
        ("turns.release", {**room, "lease_id": turn.lease_id, "expected_turn_id": 1, "handoff": HANDOFF}),
        ("rooms.leave", room),
    ]
    for number, (operation, given) in enumerate(calls):
        first = keyed(ada, f"k{number}", operation, **given)
        before = scene.dump()
        assert keyed(ada, f"k{number}", operation, **given) == first
        assert scene.dump() == before


def test_another_request_with_a_used_key_is_refused(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    keyed(ada, "k1", "notes.add", room_id=ada.room_id, body="once")
    for operation, given in (("notes.add", {"body": "twice"}), ("rooms.leave", {})):
        with refused("idempotency_conflict") as caught:
            keyed(ada, "k1", operation, room_id=ada.room_id, **given)
        assert caught.value.details == {"key": "k1"}


def test_a_key_belongs_to_its_caller(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    keyed(ada, "k1", "notes.add", room_id=ada.room_id, body="once")
    keyed(bob, "k1", "notes.add", room_id=ada.room_id, body="once")
    assert len(ada.events(kinds=["x.tally.note.add"])) == 2


def test_a_refused_request_keeps_no_key(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    with refused("invalid_sequence"):
        keyed(ada, "k1", "rooms.reorder", room_id=ada.room_id, sequence=["bob"])
    assert keyed(ada, "k1", "rooms.reorder", room_id=ada.room_id, sequence=["bob", "ada"])["changed"] is True


def test_a_key_is_kept_for_a_day(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    keyed(ada, "k1", "notes.add", room_id=ada.room_id, body="once")
    scene.clock.forward(ms=KEPT_MS)
    keyed(ada, "k2", "notes.add", room_id=ada.room_id, body="other")
    keyed(ada, "k1", "notes.add", room_id=ada.room_id, body="once")
    assert len(ada.events(kinds=["x.tally.note.add"])) == 2
    scene.clock.forward(ms=1)
    keyed(ada, "k3", "notes.add", room_id=ada.room_id, body="third")
    keyed(ada, "k1", "notes.add", room_id=ada.room_id, body="once")
    assert len(ada.events(kinds=["x.tally.note.add"])) == 4


def test_a_body_that_is_no_json_is_refused_with_a_key_as_without(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    deep: Row = {}
    for _ in range(1000):
        deep = {"in": deep}
    for data in (deep, {"half": "\ud800"}):
        with pytest.raises(InvalidInput):
            keyed(ada, "k1", "events.append", room_id=ada.room_id, kind="x.acme.odd", data=data)


@pytest.mark.parametrize(
    ("key", "code"), [("x" * 201, "too_large"), ("nul\0", "invalid_input"), ("half \ud800", "invalid_input")]
)
def test_a_key_is_bounded_and_storable(scene: Scene, key: str, code: str) -> None:
    (ada,) = scene.joined("ada")
    with scene.refused(code):
        keyed(ada, key, "notes.add", room_id=ada.room_id, body="once")
