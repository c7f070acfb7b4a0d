"""Whom a message reaches: tokens, resolved when it is appended and never again."""

from __future__ import annotations

from typing import cast

import pytest

from tests.messages.talk import ask_attention, counts, human, inbox, kinds, notify, principal, say, texts
from tests.scene import Actor, Scene, refused


def reached(actor: Actor, *to: str) -> list[str]:
    return cast("list[str]", say(actor, to=list(to))["data"]["recipients"])


@pytest.fixture
def team(scene: Scene) -> tuple[Actor, Actor, Actor, Actor]:
    """A foreman, two peers and the user's own terminal, which has joined too."""
    lea, bob, cyd = scene.joined("lea", "bob", "cyd")
    lea.appointed()
    eve = human(scene, lea.room_id)
    eve.call("rooms.join", room_id=lea.room_id)
    return lea, bob, cyd, eve


def test_an_actor_id_reaches_that_actor_alone(team: tuple[Actor, ...]) -> None:
    lea, bob, cyd, eve = team
    assert reached(lea, "bob") == ["bob"]
    assert [texts(actor) for actor in (lea, bob, cyd, eve)] == [[], ["hello"], [], []]


def test_who_was_written_to_by_name_and_has_ended_is_said_and_gets_it_all_the_same(scene: Scene) -> None:
    ada, bob, _cyd = scene.joined("ada", "bob", "cyd")
    scene.kill(bob)

    sent = [ada.here("messages.send", text="look", to=to) for to in (["bob", "cyd"], ["cyd"], ["@all"])]

    assert [(each["recipients"], each["gone"]) for each in sent] == [
        (["bob", "cyd"], ["bob"]),
        (["cyd"], []),
        (["bob", "cyd", "user"], []),
    ]


def test_whether_a_recipient_has_ended_is_looked_at_again_after_a_second(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    assert ada.here("messages.send", text="look", to=["bob"])["gone"] == []
    scene.kill(bob)
    scene.clock.now += 1000
    assert ada.here("messages.send", text="look", to=["bob"])["gone"] == ["bob"]


def test_all_reaches_every_actor_and_the_user(team: tuple[Actor, ...]) -> None:
    lea, bob, _cyd, eve = team
    assert reached(lea, "@all") == ["bob", "cyd", "user"]
    assert reached(bob, "@all") == ["cyd", "lea", "user"]
    assert reached(eve, "@all") == ["bob", "cyd", "lea"]


def test_peers_are_all_who_are_neither_foreman_nor_human(team: tuple[Actor, ...]) -> None:
    lea, bob, _cyd, _eve = team
    assert reached(lea, "@peers") == ["bob", "cyd"]
    assert reached(bob, "@peers") == ["cyd"]


def test_foreman_reaches_every_foreman(team: tuple[Actor, ...]) -> None:
    _lea, bob, cyd, eve = team
    assert reached(bob, "@foreman") == ["lea"]
    eve.here("agents.update", agent_id="cyd", role="foreman")
    assert reached(bob, "@foreman") == ["cyd", "lea"]
    assert reached(cyd, "@foreman") == ["lea"]


def test_a_human_foreman_is_the_user(team: tuple[Actor, ...]) -> None:
    lea, bob, _cyd, eve = team
    eve.appointed()
    lea.appointed("peer")
    assert reached(bob, "@foreman") == ["user"]


@pytest.mark.parametrize("token", ["@user", "user", "human:eve:pts1", "human:eve:pts9"])
def test_the_human_is_reached_as_the_user(team: tuple[Actor, ...], token: str) -> None:
    lea, _bob, _cyd, eve = team
    assert reached(lea, token) == ["user"]
    assert texts(eve) == ["hello"]


def test_the_user_is_reached_although_no_human_ever_joined(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    assert reached(ada, "@user") == ["user"]
    assert texts(principal(scene, ada.room_id, "user")) == ["hello"]


@pytest.mark.parametrize("given", [{}, {"to": []}, {"to": None}, {"to": ["@all"]}])
def test_without_recipients_a_message_is_a_broadcast(team: tuple[Actor, ...], given: dict[str, object]) -> None:
    lea, *_others = team
    assert say(lea, **given)["data"]["recipients"] == ["bob", "cyd", "user"]


def test_tokens_add_up_and_nobody_gets_a_message_twice(team: tuple[Actor, ...]) -> None:
    lea, bob, _cyd, _eve = team
    event = say(lea, to=["bob", "@peers", "bob", "user", "@user"])
    assert event["data"]["recipients"] == ["bob", "cyd", "user"]
    assert event["data"]["to"] == ["bob", "@peers", "bob", "user", "@user"]
    assert texts(bob) == ["hello"]


def test_a_sender_gets_its_own_message_only_when_it_names_itself(team: tuple[Actor, ...]) -> None:
    lea, _bob, _cyd, eve = team
    assert reached(lea, "lea") == ["lea"]
    assert reached(lea, "lea", "@all") == ["bob", "cyd", "lea", "user"]
    assert reached(lea, "@all") == ["bob", "cyd", "user"]
    assert reached(eve, "@user") == ["user"]
    assert counts(lea) == (2, 0)


@pytest.mark.parametrize(
    "token", ["nobody", "@everyone", "@", "@ALL", "svc:", "system", "BOB", "bob ", "\x00", "lea,bob", "@user "]
)
def test_an_unknown_recipient_is_refused_and_nothing_is_sent(team: tuple[Actor, ...], token: str) -> None:
    lea, bob, _cyd, _eve = team
    with refused("unknown_recipient" if token.startswith("@") else "agent_not_found") as caught:
        say(lea, to=["bob", token])
    assert caught.value.details == {
        "recipient": token,
        "known": ["@all", "@foreman", "@peers", "@user", "bob", "cyd", "lea", "user"],
    }
    assert texts(bob) == []
    assert kinds(lea) == []


def test_the_refusal_of_a_recipient_names_the_nearest_one(team: tuple[Actor, ...]) -> None:
    lea, *_others = team
    with refused("unknown_recipient") as caught:
        say(lea, to=["@formen"])
    assert caught.value.message == "'@formen' is not in this room. Did you mean '@foreman'?"


def test_a_selector_that_matches_nobody_is_refused(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    with refused("unknown_recipient") as caught:
        say(ada, to=["bob", "@foreman"])
    assert caught.value.message == "There is no foreman in this room."
    ada.appointed()
    bob.appointed()
    with refused("unknown_recipient") as caught:
        say(ada, to=["@peers"])
    assert caught.value.message == "There is no peer in this room."


def test_a_selector_that_matches_only_the_sender_is_refused(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    ada.appointed()
    with refused("unknown_recipient") as caught:
        say(ada, to=["@foreman"])
    assert caught.value.message == "Nobody but you is here to receive it."
    assert reached(ada, "@foreman", "bob") == ["bob"]


def test_the_user_alone_in_a_room_reaches_nobody(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    ada.here("rooms.leave")
    with scene.refused("unknown_recipient"):
        say(principal(scene, ada.room_id, "user"))


def test_who_joins_later_gets_nothing_of_what_was_said_before(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    event = ask_attention(ada)
    (cyd,) = scene.joined("cyd")
    assert inbox(cyd)["messages"] == []
    assert counts(cyd) == (0, 0)
    with refused("not_addressed"):
        cyd.here("messages.ack", event_id=event["id"])
    assert counts(bob) == (1, 1)


def test_who_leaves_still_owes_what_was_asked_before_and_may_still_give_it(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    event = ask_attention(ada, to=["bob"])
    bob.here("rooms.leave")
    assert inbox(ada)["awaiting"][0]["missing"] == ["bob"]
    assert bob.here("messages.ack", event_id=event["id"])["already"] is False
    assert inbox(ada)["awaiting"] == []


def test_a_change_of_role_changes_no_earlier_recipients(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    event = ask_attention(ada, to=["@peers"])
    bob.appointed()
    assert ada.events(kinds=["chat.message"])[0]["data"]["recipients"] == ["bob"]
    assert bob.here("messages.ack", event_id=event["id"])["already"] is False


def test_too_many_recipient_tokens_are_refused(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    with refused("too_large") as caught:
        say(ada, to=["bob"] * 101)
    assert caught.value.details == {"field": "to", "limit": 100}


def test_a_notification_without_a_target_reaches_everyone_else(team: tuple[Actor, ...]) -> None:
    lea, *_others = team
    assert notify(lea)["data"]["recipients"] == ["bob", "cyd", "user"]
    assert notify(lea, target_actor_id="bob")["data"]["recipients"] == ["bob"]
    assert notify(lea, target_actor_id="@user")["data"]["recipients"] == ["user"]
    with refused("agent_not_found"):
        notify(lea, target_actor_id="nobody")


def test_the_user_who_joined_is_no_peer_and_no_target_of_actions_or_turns(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    user = principal(scene, ada.room_id, "user")
    user.here("rooms.join")
    assert reached(ada, "@peers") == ["bob"]
    with refused("agent_not_found"):
        ada.here(
            "actions.submit",
            group_id="g1",
            actions=[
                {"type": "message", "dst": "user", "action_id": "a1", "action_index": 0, "kind": "user", "text": "x"}
            ],
        )
    turn = ada.claim()
    with refused("observer_cannot_hold"):
        ada.pass_to(turn, "user")
    assert ada.release(turn)["reserved_for"] == "bob"
