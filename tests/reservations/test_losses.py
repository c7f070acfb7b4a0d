"""Who loses a path is told so at its next call, whatever that is about."""

from __future__ import annotations

from typing import cast

from tallystick.hub import maintenance
from tests.reservations.calls import reserve
from tests.scene import Actor, Row, Scene


def signs(actor: Actor) -> list[str]:
    """What stands beside the answer of any call."""
    return [sign for sign in actor.scene.hub.notices(actor.room_id, actor.caller) if "lost" in sign]


def taken_over(scene: Scene) -> tuple[Actor, Actor]:
    ada, bob = scene.joined("ada", "bob")
    reserve(ada, "src/*")
    scene.clock.forward(minutes=20)
    reserve(bob, "src/a.py", takeover_stale=True)
    return ada, bob


def test_a_takeover_is_a_sign_beside_every_answer_and_a_notification(scene: Scene) -> None:
    ada, bob = taken_over(scene)
    assert signs(ada) == ["you lost src/*: bob took it over. What is reserved now: <<reservations.status>>"]
    assert signs(bob) == []
    inbox = cast("Row", ada.here("messages.inbox"))
    (letter,) = inbox["messages"]
    assert (letter["event"]["by"], letter["event"]["data"]["title"]) == ("system", "You lost src/*")
    assert letter["event"]["data"]["message"] == ("You lost src/*: bob took it over at 2026-09-21T14:33:20.000Z.")
    (archived,) = ada.events(kinds=["x.tally.reservation.expire"])
    assert letter["event"]["data"]["related_event_id"] == archived["id"]
    assert maintenance.check(scene.hub) == []


def test_once_the_notification_is_read_or_noted_the_sign_is_gone(scene: Scene) -> None:
    ada, _bob = taken_over(scene)
    (letter,) = cast("list[Row]", ada.here("messages.inbox")["messages"])
    ada.here("messages.read", event_id=letter["event"]["id"])
    assert signs(ada) == []
    assert maintenance.check(scene.hub) == []


def test_taking_note_of_the_notification_settles_it_too(scene: Scene) -> None:
    ada, _bob = taken_over(scene)
    (letter,) = cast("list[Row]", ada.here("messages.inbox")["messages"])
    ada.here("notifications.ack", notify_event_id=letter["event"]["id"])
    assert signs(ada) == []
    assert maintenance.check(scene.hub) == []


def test_who_has_it_back_has_lost_nothing(scene: Scene) -> None:
    ada, bob = taken_over(scene)
    reserve(ada, "docs")
    assert len(signs(ada)) == 1
    bob.here("reservations.release", path="src/a.py")
    reserve(ada, "src")
    assert signs(ada) == []
    assert maintenance.check(scene.hub) == []


def test_one_that_ran_out_is_told_as_soon_as_anybody_comes_across_it(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    for path in ("a", "b", "c", "d"):
        reserve(ada, path, ttl_minutes=5)
    scene.clock.forward(minutes=5)
    assert signs(ada) == []
    reserve(bob, "elsewhere")
    told = "; ".join(f"you lost {path}: it ran out at 2026-09-21T14:18:20.000Z" for path in "dcb")
    assert signs(ada) == [f"{told}; and more. What is reserved now: <<reservations.status>>"]


def test_who_released_or_left_lost_nothing(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    reserve(ada, "src")
    ada.here("reservations.release", path="src")
    assert signs(ada) == []
    reserve(bob, "docs", ttl_minutes=5)
    scene.clock.forward(minutes=5)
    reserve(ada, "src")
    bob.here("rooms.leave")
    bob.join()
    assert signs(bob) == []
    assert maintenance.check(scene.hub) == []
