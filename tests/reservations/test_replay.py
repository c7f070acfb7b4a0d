"""What was reserved at a past moment, as the ledger tells it, is what was reserved at that moment."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.scene import Actor, Row, Scene, refused

FACTS = ("path", "agent_id", "mode", "task_id", "fence", "until", "granted_at", "reservation_id")


def facts(found: list[Row]) -> list[dict[str, Any]]:
    return sorted(({name: each[name] for name in FACTS} for each in found), key=lambda each: each["path"])


def held(actor: Actor) -> list[dict[str, Any]]:
    return facts(cast("list[Row]", actor.here("reservations.status")["reservations"]))


def remembered(actor: Actor, seq: int) -> list[dict[str, Any]]:
    return facts(cast("list[Row]", actor.here("reservations.replay", seq=seq)["reservations"]))


def test_every_past_moment_is_shown_as_it_was(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    diary: list[tuple[int, list[dict[str, Any]]]] = []

    def note() -> None:
        ada.here("notes.add", body="now")
        diary.append((cast("int", ada.here("rooms.show")["head"]), held(ada)))

    note()
    ada.here("reservations.reserve", path="src/a.py", task_id="T-1")
    note()
    bob.here("reservations.reserve", path="docs", mode="shared", ttl_minutes=5)
    note()
    ada.here("reservations.renew", path="src/a.py", ttl_minutes=600)
    note()
    scene.clock.forward(minutes=6)
    note()
    bob.here("reservations.reserve", path="docs")
    note()
    ada.here("reservations.release", path="src/a.py")
    note()
    bob.here("rooms.leave")
    note()
    ada.here("reservations.reserve", path="README.md")
    note()
    assert [remembered(ada, seq) for seq, _ in diary] == [facts for _, facts in diary]
    assert {len(facts) for _, facts in diary} == {0, 1, 2}


def test_a_takeover_ends_one_and_begins_another(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.here("reservations.reserve", path="src")
    before = cast("int", ada.here("rooms.show")["head"])
    scene.kill(ada)
    bob.here("reservations.reserve", path="src", takeover_stale=True)
    after = cast("int", bob.here("rooms.show")["head"])
    assert [each["agent_id"] for seq in (before, after) for each in remembered(bob, seq)] == ["ada", "bob"]


def test_a_closed_room_holds_nothing(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    ada.here("reservations.reserve", path="src")
    closed = cast("int", ada.here("rooms.close")["event_seq"])
    assert [len(remembered(ada, seq)) for seq in (closed - 1, closed)] == [1, 0]


def test_an_event_that_never_was_is_refused(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    with refused("event_not_found"):
        ada.here("reservations.replay", seq=99)


@pytest.mark.parametrize("seq", [0, -1, "7", 2**63, None])
def test_a_seq_that_cannot_be_is_refused(scene: Scene, seq: object) -> None:
    (ada,) = scene.joined("ada")
    with refused("invalid_input"):
        ada.here("reservations.replay", seq=seq)
