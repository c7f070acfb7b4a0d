"""Acks that stay out: the sender is told once, by whoever looks first, and no timer is involved."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from tallystick.hub import maintenance
from tests.messages.talk import ask_attention, counts, inbox, kinds, notify, say
from tests.scene import Actor, Row, Scene


def nudges(actor: Actor) -> list[Row]:
    return [event for event in actor.events(kinds=["system.notify"]) if event["data"]["kind"] == "nudge"]


def test_the_sender_who_looks_after_the_time_is_told_who_has_not_acknowledged(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    event = ask_attention(ada, to=["bob", "cyd"])
    cyd.here("messages.ack", event_id=event["id"])
    scene.clock.forward(minutes=30)
    (received,) = inbox(ada)["messages"]
    assert received["event"] == nudges(bob)[0]
    assert received["event"]["by"] == "system"
    assert received["event"]["data"] == {
        "kind": "nudge",
        "priority": "high",
        "title": "Acknowledgement overdue",
        "message": "Your message of 2026-09-21T14:13:20.000Z still waits for the ack of bob.",
        "target_actor_id": "ada",
        "context": {"waiting_for": ["bob"]},
        "requires_ack": False,
        "related_event_id": event["id"],
        "recipients": ["ada"],
    }
    assert (counts(ada), counts(bob)) == ((1, 0), (1, 1))


def test_nobody_is_told_before_the_time(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    ask_attention(ada)
    scene.clock.forward(minutes=30, ms=-1)
    inbox(ada)
    assert nudges(ada) == []


def test_how_long_an_ack_may_stay_out_is_the_rooms_policy(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    ada.here("rooms.set_policy", ack_overdue_ms=60_000)
    ask_attention(ada)
    scene.clock.forward(minutes=1, ms=-1)
    inbox(ada)
    assert nudges(ada) == []
    scene.clock.forward(ms=1)
    inbox(ada)
    assert len(nudges(ada)) == 1


def test_the_sender_is_told_once_for_ever(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ask_attention(ada, to=["bob"])
    for _ in range(3):
        scene.clock.forward(minutes=31)
        inbox(ada)
        inbox(bob)
        say(bob, "something else")
    assert len(nudges(ada)) == 1
    assert maintenance.check(scene.hub) == []


def test_any_write_of_a_message_brings_it_about(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    for write in (lambda: say(bob, "hm"), lambda: notify(bob)):
        event = ask_attention(ada, to=["bob"])
        scene.clock.forward(minutes=31)
        write()
        assert nudges(ada)[-1]["data"]["related_event_id"] == event["id"]
    assert len(nudges(ada)) == 2


def test_an_ack_given_before_anybody_looked_leaves_nothing_to_tell(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    event = ask_attention(ada, to=["bob"])
    scene.clock.forward(minutes=60)
    bob.here("messages.ack", event_id=event["id"])
    inbox(ada)
    assert kinds(ada) == ["chat.message", "chat.ack"]


def test_each_overdue_message_is_told_of_by_itself(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    first, second = ask_attention(ada, to=["bob"]), ask_attention(bob, to=["ada"])
    scene.clock.forward(minutes=31)
    inbox(ada)
    told = [(note["data"]["target_actor_id"], note["data"]["related_event_id"]) for note in nudges(ada)]
    assert told == [("ada", first["id"]), ("bob", second["id"])]


def test_looking_at_the_same_moment_tells_the_sender_once(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ask_attention(ada, to=["bob"])
    scene.clock.forward(minutes=31)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(inbox, [ada, bob] * 4))
    assert len(nudges(ada)) == 1


def test_a_closed_room_tells_nobody(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    ask_attention(ada, to=["bob"])
    ada.here("rooms.close")
    scene.clock.forward(minutes=60)
    assert inbox(ada)["messages"] == []
    assert nudges(ada) == []


def test_a_nudge_written_by_hand_silences_nothing(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    event = ask_attention(ada, to=["bob"])
    notify(bob, "nudge", target_actor_id="ada", related_event_id=event["id"])
    scene.clock.forward(minutes=31)
    inbox(ada)
    assert [note["by"] for note in nudges(ada)] == ["bob", "system"]


def test_the_answer_to_a_nudge_is_the_ack_itself(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    event = ask_attention(ada, to=["bob"])
    scene.clock.forward(minutes=31)
    inbox(ada)
    bob.here("messages.ack", event_id=event["id"])
    assert inbox(ada)["awaiting"] == []
    scene.clock.forward(minutes=31)
    inbox(ada)
    assert len(nudges(ada)) == 1
