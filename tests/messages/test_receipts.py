"""Who got what, who read it and who accepted it: three facts about every recipient of every message."""

from __future__ import annotations

from typing import cast

import pytest

from tests.messages.talk import ask_attention, notify, say
from tests.scene import Actor, Row, Scene


def receipts(actor: Actor, first: int, last: int) -> list[Row]:
    return cast("list[Row]", actor.here("messages.receipts", first_seq=first, last_seq=last)["receipts"])


def test_a_receipt_tells_read_and_accepted_apart_for_every_recipient(scene: Scene) -> None:
    ada, bob, _cleo = scene.joined("ada", "bob", "cleo")
    asked = ask_attention(ada, to=["bob", "cleo"])
    bob.here("messages.read", event_id=asked["id"])
    scene.clock.forward(ms=5)
    bob.here("messages.ack", event_id=asked["id"])
    common = {"seq": asked["seq"], "event_id": asked["id"]}
    assert receipts(ada, asked["seq"], asked["seq"]) == [
        {**common, "recipient": "bob", "read": True, "needs_ack": False, "acked_at": "2026-09-21T14:13:20.005Z"},
        {**common, "recipient": "cleo", "read": False, "needs_ack": True, "acked_at": None},
    ]


def test_only_the_stretch_is_shown_and_notifications_are_part_of_it(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    say(ada, to=["bob"])
    told = notify(ada, target_actor_id="bob")
    say(ada, to=["bob"])
    assert [each["event_id"] for each in receipts(bob, told["seq"], told["seq"])] == [told["id"]]


def test_a_message_that_needs_no_ack_owes_none(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    event = say(ada, to=["bob"])
    assert [each["needs_ack"] for each in receipts(ada, event["seq"], event["seq"])] == [False]


def test_a_room_of_others_is_left_out(scene: Scene) -> None:
    ada, bob = scene.agent("ada"), scene.agent("bob")
    ada.join()
    bob.join(scene.folder("nested"), force_new=True)
    say(bob)
    assert receipts(ada, 0, 100) == []


@pytest.mark.parametrize(("first", "last"), [(0, 1000), (-1, 5), (0, 2**63)])
def test_a_stretch_that_is_too_long_or_no_stretch_is_refused(scene: Scene, first: int, last: int) -> None:
    (ada,) = scene.joined("ada")
    with scene.refused("invalid_input"):
        receipts(ada, first, last)


def test_an_unknown_room_is_refused(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    with scene.refused("room_not_found"):
        ada.call("messages.receipts", room_id="nowhere", first_seq=0, last_seq=1)
