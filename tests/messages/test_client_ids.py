"""Sending again: a client_id makes a send count once, for a day, and never hides that the message was another."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from tests.messages.talk import elsewhere, human, kinds, say, texts
from tests.scene import Scene, refused

DAY = 24 * 60


def test_the_same_message_under_one_client_id_counts_once_and_names_the_first_event(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    first = ada.here("messages.send", text="hello", client_id="c1")
    scene.clock.forward(minutes=DAY - 1)
    again = ada.here("messages.send", text="hello", client_id="c1")
    assert again == {**first, "replayed": True}
    assert texts(bob) == ["hello"]


def test_a_repeat_is_recognised_although_the_clients_time_moved_on_and_members_left(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    first = ada.here("messages.send", text="hello", to=["bob"], client_id="c1", client_ts="2026-01-01T00:00:00Z")
    bob.here("rooms.leave")
    again = ada.here("messages.send", text="hello", to=["bob"], client_id="c1", client_ts="2026-01-01T00:00:09Z")
    assert again == {**first, "replayed": True}


def test_a_repeat_is_answered_after_the_room_was_closed(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    first = ada.here("messages.send", text="hello", client_id="c1")
    ada.here("rooms.close")
    assert ada.here("messages.send", text="hello", client_id="c1") == {**first, "replayed": True}


def test_the_same_client_id_with_another_message_is_refused(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    say(ada, "hello", client_id="c1")
    for other in ({"text": "goodbye"}, {"text": "hello", "to": ["bob"]}, {"text": "hello", "priority": "attention"}):
        with refused("client_id_conflict") as caught:
            ada.here("messages.send", client_id="c1", **other)
        assert caught.value.details == {"client_id": "c1"}
    assert texts(bob) == ["hello"]


def test_after_a_day_a_client_id_is_free_again(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    say(ada, "hello", client_id="c1")
    scene.clock.forward(minutes=DAY)
    assert ada.here("messages.send", text="another", client_id="c1")["replayed"] is False
    assert ada.here("messages.send", text="another", client_id="c1")["replayed"] is True
    assert texts(bob) == ["hello", "another"]


def test_a_client_id_belongs_to_one_author_in_one_room(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    there = elsewhere(ada)
    sent = [actor.here("messages.send", text=f"from {n}", client_id="c1") for n, actor in enumerate((ada, bob, there))]
    assert [each["replayed"] for each in sent] == [False, False, False]


def test_the_user_is_one_author_at_every_terminal(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    one, two = human(scene, ada.room_id, "pts1"), human(scene, ada.room_id, "pts2")
    assert one.here("messages.send", text="hello", client_id="c1")["replayed"] is False
    assert two.here("messages.send", text="hello", client_id="c1")["replayed"] is True


def test_without_a_client_id_the_same_text_twice_is_two_messages(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    say(ada)
    say(ada)
    assert texts(bob) == ["hello", "hello"]


def test_simultaneous_repeats_leave_one_event(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    together = threading.Barrier(8)

    def send() -> object:
        together.wait()
        return ada.here("messages.send", text="hello", client_id="c1")["replayed"]

    with ThreadPoolExecutor(8) as pool:
        replayed = [each.result() for each in [pool.submit(send) for _ in range(8)]]
    assert sorted(map(str, replayed)) == ["False"] + ["True"] * 7
    assert kinds(ada) == ["chat.message"]
