"""Who may speak in a conversation, and why two agents cannot keep each other busy for ever."""

from __future__ import annotations

import pytest

from tallystick.capabilities.actions import rules
from tallystick.kernel.errors import Refused
from tests.actions.calls import answer, control, message, submit, upcoming
from tests.messages.talk import human, say, texts
from tests.scene import Actor, Row, Scene, refused


@pytest.fixture
def pair(scene: Scene) -> tuple[Actor, Actor]:
    boss, worker = scene.joined("boss", "worker")
    return boss, worker


def reply(action_id: str, dst: str, to: str) -> Row:
    return message(action_id, dst, "here it is", kind="reply", reply_to_action_id=to)


def test_whoever_opens_a_conversation_owns_it_and_only_the_owner_follows_up(
    scene: Scene, pair: tuple[Actor, Actor]
) -> None:
    boss, worker = pair
    (other,) = scene.joined("other")
    submit(boss, message("a1", "worker"), context={"context_id": "c1"})

    for somebody, target in ((worker, "boss"), (other, "worker")):
        with refused("not_owner") as caught:
            submit(somebody, message("b1", target), context={"context_id": "c1"})
        assert caught.value.details == {"context_id": "c1", "owner_id": "boss"}
        with refused("not_owner"):
            submit(somebody, control("b1", target, "interrupt"), context={"context_id": "c1"})
    submit(boss, message("a2", "other"), context={"context_id": "c1", "owner_id": "boss"})

    assert upcoming(other) == "a2"


def test_nobody_opens_a_conversation_for_somebody_else(pair: tuple[Actor, Actor]) -> None:
    boss, _ = pair

    with boss.refused("not_owner"):
        submit(boss, message("a1", "worker"), context={"context_id": "c1", "owner_id": "worker"})


def test_the_users_conversation_is_one_from_every_terminal(scene: Scene, pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(human(scene, boss.room_id, "pts1"), message("a1", "worker"), context={"context_id": "c1"})

    submit(human(scene, boss.room_id, "pts2"), message("a2", "worker"), context={"context_id": "c1"})
    with refused("not_owner"):
        submit(boss, message("a3", "worker"), context={"context_id": "c1"})

    assert upcoming(worker) == "a1"


def test_a_target_replies_once_to_who_asked(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"), context={"context_id": "c1"})

    done = submit(worker, reply("b1", "boss", "a1"))

    assert (done["context_id"], done["owner_id"], upcoming(boss)) == ("c1", "boss", None)
    assert texts(boss) == ["here it is"]
    with refused("already_replied"):
        submit(worker, reply("b2", "boss", "a1"))


def test_what_was_not_delivered_yet_has_no_reply(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"), message("a2", "worker"))
    reply = message("r2", "boss", kind="reply", reply_to_action_id="a2")

    with refused("not_delivered"):
        submit(worker, reply)
    with refused("not_delivered"):
        about = {"kind": "reply", "reply_to_action_id": "a2"}
        worker.here("messages.send", text="done", conversation=about)
    answer(worker, "a1", "accepted")

    submit(worker, reply)


def test_nobody_replies_to_a_reply(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"))
    submit(worker, reply("b1", "boss", "a1"))

    with boss.refused("reply_chain"):
        submit(boss, reply("a2", "worker", "b1"))
    with boss.refused("reply_chain"):
        say(boss, "thanks", to=["worker"], conversation={"kind": "reply", "reply_to_action_id": "b1"})


def test_a_reply_goes_to_who_asked_and_to_nobody_else(scene: Scene, pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    (other,) = scene.joined("other")
    submit(boss, message("a1", "worker"))

    with refused("not_asked"):
        submit(worker, reply("b1", "other", "a1"))
    with refused("not_asked"):
        submit(other, reply("b1", "boss", "a1"))

    assert upcoming(other) is None


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (message("b1", "boss", kind="reply"), "invalid_input"),
        (reply("b1", "boss", "nothing"), "action_not_found"),
        (reply("b1", "boss", "a2"), "not_asked"),
    ],
)
def test_a_reply_names_the_message_that_it_answers(pair: tuple[Actor, Actor], wrong: Row, code: str) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"), control("a2", "worker", "new"))

    with boss.refused(code):
        submit(worker, wrong)


def test_a_reply_stays_in_the_conversation_of_what_it_answers(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"), context={"context_id": "c1"})
    submit(boss, message("a2", "worker"), context={"context_id": "c2"})

    with refused("invalid_input"):
        submit(worker, reply("b1", "boss", "a1"), context={"context_id": "c2"})
    with refused("invalid_input"):
        submit(worker, reply("b1", "boss", "a1"), reply("b2", "boss", "a2"))
    with refused("invalid_input"):
        submit(worker, reply("b1", "boss", "a1"), message("b2", "boss"))
    with refused("not_owner"):
        submit(worker, reply("b1", "boss", "a1"), context={"owner_id": "worker"})

    assert upcoming(boss) is None


def test_an_owner_may_follow_up_on_an_action_of_its_conversation_only(pair: tuple[Actor, Actor]) -> None:
    boss, _ = pair
    submit(boss, message("a1", "worker"), context={"context_id": "c1"})

    submit(boss, message("a2", "worker", reply_to_action_id="a1"), context={"context_id": "c1"})
    with boss.refused("invalid_input"):
        submit(boss, message("a3", "worker", reply_to_action_id="a1"), context={"context_id": "c2"})


def test_a_message_may_be_the_reply_and_then_no_action_can_be(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"))
    about = {"kind": "reply", "reply_to_action_id": "a1"}

    event = say(worker, "done", to=["boss"], conversation=about)

    assert (event["data"]["conversation"], texts(boss)) == (about, ["done"])
    with refused("already_replied"):
        submit(worker, reply("b1", "boss", "a1"))
    with refused("already_replied"):
        say(worker, "done again", to=["boss"], conversation=about)


def test_a_message_of_a_conversation_obeys_its_owner_too(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    say(boss, "we begin", conversation={"context_id": "c1", "kind": "user"})

    with boss.refused("not_owner"):
        say(worker, "no, I do", conversation={"context_id": "c1", "kind": "user"})
    with boss.refused("not_owner"):
        submit(worker, message("b1", "boss"), context={"context_id": "c1"})
    with boss.refused("invalid_input"):
        say(worker, "a reply to what?", conversation={"kind": "reply"})
    with boss.refused("event_not_found"):
        say(boss, "hm", conversation={"context_id": "c1", "parent_message_id": "nothing"})


def test_a_message_that_is_sent_again_with_its_client_id_is_no_second_reply(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"))
    given = {"text": "done", "to": ["boss"], "client_id": "k1"}
    about = {"kind": "reply", "reply_to_action_id": "a1"}
    worker.here("messages.send", **given, conversation=about)

    assert worker.here("messages.send", **given, conversation=about)["replayed"] is True


def test_two_agents_that_answer_everything_with_replies_fall_silent(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(boss, message("a0", "worker"))

    said = _answer_everything(boss, worker, kinds=["reply"])

    assert said == ["reply"]


def test_two_agents_that_answer_everything_in_any_way_cannot_ping_pong(
    pair: tuple[Actor, Actor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "EXCHANGE_LIMIT", 3)
    boss, worker = pair
    submit(boss, message("a0", "worker"), context={"context_id": "c1"})

    said = _answer_everything(boss, worker, kinds=["reply", "user"])

    assert said == ["reply", "user", "reply", "user", "reply"]
    with refused("conversation_exhausted") as caught:
        submit(boss, message("again", "worker"), context={"context_id": "c1"})
    assert caught.value.details == {"context_id": "c1", "limit": 3}


def _answer_everything(boss: Actor, worker: Actor, *, kinds: list[str]) -> list[str]:
    """Let each answer whatever it gets or hears in the first way that is allowed, until neither has anything more."""
    said: list[str] = []
    heard: list[tuple[Actor, str]] = []
    while asked := next(((me, found) for me in (boss, worker) if (found := upcoming(me))), None) or heard[:1]:
        me, action_id = asked if isinstance(asked, tuple) else heard.pop()
        other = worker if me is boss else boss
        if isinstance(asked, tuple):
            answer(me, action_id, "completed")
        for kind in kinds:
            action = message(f"a{len(said) + 1}", other.caller.agent_id, kind=kind)
            about = None if kind == "reply" else {"context_id": "c1"}
            try:
                submit(me, {**action, "reply_to_action_id": action_id if kind == "reply" else None}, context=about)
            except Refused:
                continue
            said.append(kind)
            if kind == "reply":
                heard.append((other, action["action_id"]))
            break
    return said
