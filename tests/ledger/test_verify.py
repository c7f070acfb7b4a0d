"""Verification: whatever is done to the rows behind the hub's back is found, and where."""

from __future__ import annotations

from typing import cast

import pytest

from tallystick.kernel.envelope import GENESIS, Event
from tallystick.ledger import reading
from tests.scene import Actor, Row, Scene

CHANGED = "the event was changed after it was written"
MOVED = "prev_hash is not the hash of the event before"


@pytest.fixture
def ada(scene: Scene) -> Actor:
    """A member of a room with six events."""
    (ada,) = scene.joined("ada")
    for number in range(3):
        ada.here("events.append", kind="x.acme.tick", data={"number": number})
    return ada


def verdict(actor: Actor) -> Row:
    verified = actor.call("events.verify", room_id=actor.room_id)
    (room,) = cast("list[Row]", verified["rooms"])
    assert (verified["ok"], verified["events"]) == (room["ok"], room["events"])
    return room


def test_an_untouched_ledger_verifies(ada: Actor) -> None:
    room = verdict(ada)
    assert room == {
        "room_id": ada.room_id,
        "ok": True,
        "events": 6,
        "hash": room["hash"],
        "bad_seq": None,
        "problem": "",
        "expected_seq": None,
    }
    assert room["hash"] != GENESIS


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("id = 'another-id'", CHANGED),
        ("ts = ts + 1", CHANGED),
        ("kind = 'x.acme.tock'", CHANGED),
        ("scope_key = 's_other'", CHANGED),
        ("author = 'eve'", CHANGED),
        ("body = '{\"number\":99}'", CHANGED),
        ("body = '{\"number\": 1}'", CHANGED),
        ("body = 'no json'", CHANGED),
        ("v = 2", CHANGED),
        (f"hash = '{GENESIS}'", CHANGED),
        (f"prev_hash = '{GENESIS}'", MOVED),
        ("seq = 50", "expected seq 5, found 6: an event is missing or was moved"),
    ],
)
def test_a_change_of_any_column_is_found(scene: Scene, ada: Actor, change: str, problem: str) -> None:
    scene.sql(f"UPDATE events SET {change} WHERE room_id = :room AND seq = 5", room=ada.room_id)
    room = verdict(ada)
    assert (room["ok"], room["events"], room["bad_seq"], room["problem"]) == (False, 4, 5, problem)


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)  # PostgreSQL keeps a column's type itself
@pytest.mark.parametrize("change", ["ts = 'noon'", "body = x'7b7d'", "author = x'00ff'", "kind = x'ff'"])
def test_a_value_of_another_type_is_found_and_not_stumbled_over(scene: Scene, ada: Actor, change: str) -> None:
    scene.sql(f"UPDATE events SET {change} WHERE room_id = :room AND seq = 5", room=ada.room_id)
    assert (verdict(ada)["ok"], verdict(ada)["bad_seq"]) == (False, 5)


def test_a_change_of_the_room_is_found_in_both_rooms(scene: Scene, ada: Actor) -> None:
    bob = scene.agent("bob")
    bob.join(scene.folder("nested"), force_new=True)
    scene.sql("UPDATE events SET room_id = :to WHERE room_id = :room AND seq = 5", room=ada.room_id, to=bob.room_id)
    assert (verdict(ada)["bad_seq"], verdict(bob)["bad_seq"]) == (5, 4)


def test_a_rewritten_event_with_a_fitting_hash_breaks_the_next_one(scene: Scene, ada: Actor) -> None:
    with scene.hub.reading() as tx:
        event = reading.event_at(tx, ada.room_id, 5)
    forged = Event.sealed(
        room_id=event.room_id,
        seq=5,
        id=event.id,
        ts=event.ts,
        kind=event.kind,
        scope_key=event.scope_key,
        by="eve",
        body=event.body,
        prev_hash=event.prev_hash,
    )
    scene.sql("UPDATE events SET author = 'eve', hash = :hash WHERE seq = 5", hash=forged.hash)
    room = verdict(ada)
    assert (room["bad_seq"], room["problem"]) == (6, MOVED)


@pytest.mark.parametrize(("seq", "found"), [(1, 2), (3, 4), (5, 6)])
def test_a_deleted_event_is_found(scene: Scene, ada: Actor, seq: int, found: int) -> None:
    scene.sql("DELETE FROM events WHERE room_id = :room AND seq = :seq", room=ada.room_id, seq=seq)
    room = verdict(ada)
    problem = f"expected seq {seq}, found {found}: an event is missing or was moved"
    assert (room["ok"], room["events"], room["bad_seq"], room["problem"]) == (False, seq - 1, seq, problem)


@pytest.mark.parametrize("kept", [0, 3, 5])
def test_a_tail_that_was_cut_off_is_found(scene: Scene, ada: Actor, kept: int) -> None:
    scene.sql("DELETE FROM events WHERE room_id = :room AND seq > :kept", room=ada.room_id, kept=kept)
    room = verdict(ada)
    problem = f"the ledger ends at seq {kept}, but seq 6 was acknowledged"
    assert (room["ok"], room["events"], room["bad_seq"], room["problem"]) == (False, kept, kept + 1, problem)


def test_two_events_that_changed_places_are_found(scene: Scene, ada: Actor) -> None:
    for old, new in ((4, 40), (5, 4), (40, 5)):
        scene.sql(
            "UPDATE events SET seq = :new WHERE room_id = :room AND seq = :old", room=ada.room_id, old=old, new=new
        )
    room = verdict(ada)
    assert (room["bad_seq"], room["problem"]) == (4, MOVED)


def test_a_deleted_event_with_the_rest_moved_up_is_found(scene: Scene, ada: Actor) -> None:
    scene.sql("DELETE FROM events WHERE room_id = :room AND seq = 4", room=ada.room_id)
    for seq in (5, 6):
        scene.sql("UPDATE events SET seq = seq - 1 WHERE room_id = :room AND seq = :seq", room=ada.room_id, seq=seq)
    room = verdict(ada)
    assert (room["bad_seq"], room["problem"]) == (4, MOVED)


def test_an_event_inserted_at_the_end_is_found(scene: Scene, ada: Actor) -> None:
    scene.sql(
        "INSERT INTO events SELECT room_id, 7, 'forged', ts, kind, scope_key, author, body, hash, hash, v"
        " FROM events WHERE room_id = :room AND seq = 6",
        room=ada.room_id,
    )
    room = verdict(ada)
    assert (room["events"], room["bad_seq"], room["problem"]) == (6, 7, CHANGED)


def test_all_rooms_are_verified_when_none_is_named(scene: Scene, ada: Actor) -> None:
    bob = scene.agent("bob")
    bob.join(scene.folder("nested"), force_new=True)
    none: Row = {"count": 0, "newest_at": None, "keys": [], "problem": ""}
    assert {**ada.call("events.verify"), "rooms": []} == {"ok": True, "events": 9, "rooms": [], "checkpoints": none}
    scene.sql("UPDATE events SET author = 'eve' WHERE room_id = :room AND seq = 2", room=bob.room_id)
    verified = ada.call("events.verify")
    assert verified["ok"] is False
    found = {room["room_id"]: room["ok"] for room in cast("list[Row]", verified["rooms"])}
    assert found == {ada.room_id: True, bob.room_id: False}
