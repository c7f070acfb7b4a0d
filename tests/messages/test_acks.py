"""Acknowledging: by the recipient itself, once, only what asked for it, and apart from reading."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from tests.messages.talk import ask_attention, counts, elsewhere, human, inbox, kinds, notify, principal, say
from tests.scene import Scene, refused


def test_an_ack_says_who_accepted_which_message(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    event = ask_attention(ada)
    scene.clock.forward(minutes=1)
    acked = bob.here("messages.ack", event_id=event["id"])
    assert acked == {
        "actor_id": "bob",
        "event_id": event["id"],
        "already": False,
        "acked_at": "2026-09-21T14:14:20.000Z",
    }
    (ack,) = ada.events(kinds=["chat.ack"])
    assert (ack["by"], ack["data"]) == ("bob", {"actor_id": "bob", "event_id": event["id"]})


def test_a_second_ack_appends_nothing_and_says_so(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    event = ask_attention(ada)
    first = bob.here("messages.ack", event_id=event["id"])
    scene.clock.forward(minutes=1)
    assert bob.here("messages.ack", event_id=event["id"], actor_id="bob") == {**first, "already": True}
    assert kinds(ada) == ["chat.message", "chat.ack"]


def test_two_acks_at_once_leave_one_event(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    event = ask_attention(ada)
    together = threading.Barrier(8)

    def ack() -> object:
        together.wait()
        return bob.here("messages.ack", event_id=event["id"])["already"]

    with ThreadPoolExecutor(8) as pool:
        already = [each.result() for each in [pool.submit(ack) for _ in range(8)]]
    assert sorted(map(str, already)) == ["False"] + ["True"] * 7
    assert kinds(ada) == ["chat.message", "chat.ack"]
    assert counts(bob) == (1, 0)


def test_nobody_acknowledges_for_another_recipient(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    cyd.appointed()
    event = ask_attention(ada)
    for other in (cyd, ada, human(scene, ada.room_id), principal(scene, ada.room_id, "system")):
        with refused("not_your_ack") as caught:
            other.here("messages.ack", event_id=event["id"], actor_id="bob")
        assert caught.value.details == {"actor_id": "bob"}
    assert kinds(ada) == ["chat.message"]
    assert counts(bob) == (1, 1)


def test_the_user_acknowledges_for_itself_under_any_of_its_names(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    eve = human(scene, ada.room_id)
    for name in ("user", "human:eve:pts1", None):
        event = ask_attention(ada, to=["@user"])
        assert eve.here("messages.ack", event_id=event["id"], actor_id=name)["actor_id"] == "user"
    assert [ack["by"] for ack in ada.events(kinds=["chat.ack"])] == ["user"] * 3


def test_only_a_message_that_asked_for_attention_can_be_acknowledged(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    normal, note = say(ada), notify(ada, requires_ack=True)
    joined = ada.events(kinds=["actor.add"])[0]
    for event in (normal, note, joined):
        with refused("not_an_attention_message") as caught:
            bob.here("messages.ack", event_id=event["id"])
        assert caught.value.details == {"event_id": event["id"]}


def test_what_is_acknowledged_must_be_an_event_of_the_room(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    foreign = ask_attention(elsewhere(ada), to=["@user"])
    for unknown in (foreign["id"], "nonsense"):
        with refused("event_not_found") as caught:
            bob.here("messages.ack", event_id=unknown)
        assert caught.value.details == {"room_id": bob.room_id, "event_id": unknown}


def test_nobody_owes_an_ack_for_what_was_addressed_to_others(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    event = ask_attention(ada, to=["bob"])
    assert counts(cyd) == (0, 0)
    for other in (cyd, human(scene, ada.room_id), scene.stranger(ada.room_id)):
        with refused("not_addressed"):
            other.here("messages.ack", event_id=event["id"])
    assert counts(bob) == (1, 1)


def test_nobody_acknowledges_a_message_of_its_own(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    event = ask_attention(ada, to=["ada", "bob"])
    assert counts(ada) == (1, 0)
    with refused("own_message"):
        ada.here("messages.ack", event_id=event["id"])
    assert inbox(ada)["awaiting"][0]["missing"] == ["bob"]


def test_every_other_recipient_of_an_attention_message_owes_an_ack(scene: Scene) -> None:
    ada, bob, _cyd = scene.joined("ada", "bob", "cyd")
    event = ask_attention(ada)
    say(ada, "just saying")
    awaited = {"event_id": event["id"], "seq": event["seq"], "sent_at": event["ts"], "missing": ["bob", "cyd", "user"]}
    assert inbox(ada)["awaiting"] == [awaited]
    assert counts(bob) == (2, 1)
    bob.here("messages.ack", event_id=event["id"])
    assert inbox(ada)["awaiting"] == [{**awaited, "missing": ["cyd", "user"]}]


def test_reading_leaves_the_ack_owed(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    event = ask_attention(ada)
    bob.here("messages.read", event_id=event["id"])
    assert counts(bob) == (0, 1)
    assert kinds(ada) == ["chat.message", "chat.read"]
    (owed,) = inbox(bob, owed=True)["messages"]
    assert (owed["event"], owed["read"], owed["needs_ack"], owed["acked_at"]) == (event, True, True, None)


def test_acknowledging_leaves_the_message_unread(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    event = ask_attention(ada)
    bob.here("messages.ack", event_id=event["id"])
    (received,) = inbox(bob)["messages"]
    assert counts(bob) == (1, 0)
    assert (received["read"], received["needs_ack"], received["acked_at"]) == (False, False, event["ts"])
    assert inbox(bob, owed=True)["messages"] == []


def test_neither_a_reaction_nor_a_reply_stands_for_an_ack(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    event = ask_attention(ada)
    bob.here("messages.react", event_id=event["id"], emoji="👍")
    say(bob, "will do", reply_to=event["id"])
    assert counts(bob) == (1, 1)


def test_messages_work_in_a_room_without_a_foreman(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    event = ask_attention(ada)
    bob.here("messages.ack", event_id=event["id"])
    bob.here("messages.read", event_id=event["id"])
    assert {member["role"] for member in ada.members()} == {"peer"}
    assert counts(bob) == (0, 0)


def test_a_reaction_is_kept_once_and_shown_with_the_message(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    event = say(ada, to=["bob"])
    given = {"event_id": event["id"], "emoji": "👍"}
    reacted = {"actor_id": "bob", **given}
    assert bob.here("messages.react", **given) == {**reacted, "already": False}
    assert bob.here("messages.react", **given) == {**reacted, "already": True}
    human(scene, ada.room_id).here("messages.react", **given)
    assert [each["data"] for each in ada.events(kinds=["chat.reaction"])] == [reacted, {**reacted, "actor_id": "user"}]
    assert inbox(bob)["messages"][0]["reactions"] == [
        {"actor_id": "bob", "emoji": "👍"},
        {"actor_id": "user", "emoji": "👍"},
    ]


def test_a_reaction_needs_an_event_of_the_room_and_a_principal(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    event = say(ada)
    with scene.refused("event_not_found"):
        bob.here("messages.react", event_id="nonsense", emoji="👍")
    with scene.refused("unknown_member"):
        scene.stranger(ada.room_id).here("messages.react", event_id=event["id"], emoji="👍")
    for emoji in ("", "x" * 65, "a\x00b"):
        with scene.refused("too_large" if len(emoji) > 64 else "invalid_input"):
            bob.here("messages.react", event_id=event["id"], emoji=emoji)
