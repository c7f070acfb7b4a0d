"""Who answers a request for permission, whose answer counts, and what closes one that nobody answered."""

from __future__ import annotations

import pytest

from tallystick.hub import engine
from tallystick.kernel.caller import Caller, SessionKind
from tests.permissions.asking import answer, ask, person, run, show, waiting
from tests.scene import Actor, Scene, refused


def test_a_request_waits_until_a_person_allows_it(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    request = run(ada, "rm -rf build")
    assert request["state"] == "open"
    assert waiting(ada) == [request["permission"]]

    answered = answer(person(scene, ada.room_id), request, "allow")

    assert (answered["state"], answered["option_id"], answered["settled_by"]) == ("allowed", "yes", "user")
    assert show(ada, request) == answered
    assert waiting(ada) == []


def test_a_denied_agent_is_told_why(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    request = run(ada, "psql production")

    answered = answer(person(scene, ada.room_id), request, "deny", message="use the staging database")

    assert (answered["state"], answered["option_id"]) == ("denied", "no")
    assert answered["message"] == "use the staging database"


def test_the_first_answer_counts(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    request = run(ada, "make deploy")
    answer(person(scene, ada.room_id), request, "deny")

    with scene.refused("permission_settled"):
        answer(person(scene, ada.room_id, "human:bob:pts2"), request, "allow")

    assert show(ada, request)["state"] == "denied"


def test_an_option_for_ever_is_only_chosen_by_its_name(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    eve = person(scene, ada.room_id)
    request = run(ada, "make deploy")

    with scene.refused("invalid_input"):
        answer(eve, request, "deny", option_id="always")
    assert answer(eve, request, "allow", option_id="always")["option_id"] == "always"

    only_ever = ask(ada, options=[{"option_id": "a", "name": "Always", "kind": "allow_always"}])
    assert answer(eve, only_ever, "allow")["option_id"] is None


@pytest.mark.parametrize("decision", ["allow", "deny"])
def test_no_agent_answers_unless_the_policy_names_it(scene: Scene, decision: str) -> None:
    ada, bob = scene.joined("ada", "bob")
    request = run(ada, "make deploy")

    with scene.refused("may_not_answer"):
        answer(bob, request, decision)
    person(scene, ada.room_id).here("permissions.set_policy", answerers=["ada", "bob"])
    with scene.refused("may_not_answer"):
        answer(ada, request, decision)

    assert answer(bob, request, decision)["settled_by"] == "bob"


def test_a_command_without_a_terminal_denies_but_does_not_allow(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    script = person(scene, ada.room_id, "human:root:-")
    request = run(ada, "make deploy")

    with scene.refused("may_not_answer"):
        answer(script, request, "allow")

    assert answer(script, request, "deny")["state"] == "denied"


def test_a_request_asked_again_under_its_name_is_one(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    first = ask(ada, request_id="session:1")
    assert ask(ada, request_id="session:1")["permission"] == first["permission"]

    answer(person(scene, ada.room_id), first, "deny")

    assert ask(ada, request_id="session:1")["permission"] != first["permission"]


def test_its_agent_withdraws_it_and_nobody_else(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    request = ask(ada, request_id="session:1")

    with scene.refused("not_your_permission"):
        bob.here("permissions.withdraw", permission=request["permission"], reason="not needed")
    withdrawn = ada.here("permissions.withdraw", request_id="session:1", reason="answered at the terminal")

    assert (withdrawn["state"], withdrawn["message"]) == ("withdrawn", "answered at the terminal")
    with scene.refused("permission_settled"):
        answer(person(scene, ada.room_id), request, "allow")
    with scene.refused("permission_not_found"):
        ada.here("permissions.withdraw", request_id="session:1", reason="again")


def test_what_a_dead_agent_asked_is_not_allowed_any_more(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    request = run(ada, "make deploy")
    scene.kill(ada)
    eve = person(scene, ada.room_id)

    assert waiting(eve) == []
    assert show(eve, request)["message"] == "the agent that asked has ended"
    with refused("permission_settled"):
        answer(eve, request, "allow")

    assert show(eve, request)["settled_by"] == "system"


def test_leaving_and_closing_end_what_is_open(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    left, closed = run(ada, "make deploy"), run(bob, "make deploy")

    ada.here("rooms.leave")
    assert show(bob, left)["state"] == "withdrawn"
    assert show(bob, closed)["state"] == "open"
    bob.here("rooms.close")

    assert show(bob, closed)["state"] == "withdrawn"
    with scene.refused("room_closed"):
        answer(person(scene, ada.room_id), closed, "allow")


def test_those_who_may_answer_are_told(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    run(ada, "make deploy")
    eve = person(scene, ada.room_id)

    def told(actor: Actor) -> bool:
        with scene.hub.reading() as tx:
            return any("for permission" in sign for sign in engine.signs(tx, ada.room_id, actor.caller))

    assert told(eve)
    assert not told(bob)
    assert not told(ada)
    eve.here("permissions.set_policy", answerers=["bob"])
    assert told(bob)


def test_one_agent_cannot_ask_without_end(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    for number in range(100):
        run(ada, f"make {number}")

    with scene.refused("too_many_permissions"):
        run(ada, "make more")
    assert run(bob, "make more")["state"] == "open"


def test_a_token_that_may_not_manage_answers_nothing(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    token = Caller(agent_id="ada", session=SessionKind.NAMED, by_token=True)
    request = run(ada, "make deploy")

    with scene.refused("may_not_answer"):
        answer(Actor(scene, token, ada.room_id), request, "allow")
