"""A message to an attached agent is a request: it stands in the agent's queue, and its answer finds whoever asked."""

from __future__ import annotations

from typing import cast

import pytest

from tallystick.capabilities.actions import rules
from tallystick.kernel.caller import Caller, SessionKind
from tests.actions.calls import answer, message, pending, submit, upcoming
from tests.messages.talk import file, human, say
from tests.scene import Actor, Row, Scene, refused


@pytest.fixture
def pair(scene: Scene) -> tuple[Actor, Actor]:
    boss, worker = scene.joined("boss", "worker")
    worker.here("actions.attach", program="claude")
    return boss, worker


def service(scene: Scene, room_id: str, *, may_work: bool = True) -> Actor:
    caller = Caller(agent_id="svc:ci", session=SessionKind.NAMED, by_token=True, may_work=may_work)
    return Actor(scene, caller, room_id)


def asked(sent: Row) -> list[tuple[str, int, bool]]:
    return [(each["agent_id"], each["before"], each["away"]) for each in cast("list[Row]", sent["asked"])]


def replied(worker: Actor, action: Row, text: str) -> Row:
    about = {"kind": "reply", "reply_to_action_id": action["action_id"], "context_id": action["context"]["context_id"]}
    return worker.here(
        "messages.send", text=text, to=[action["src"]], reply_to=action["message_id"], conversation=about
    )


def next_action(worker: Actor) -> Row:
    return cast("Row", pending(worker)["next"])


def outcome(actor: Actor, sent: Row) -> Row:
    found = actor.here("actions.outcomes", group_id=cast("Row", sent["event"])["id"])
    return cast("list[Row]", found["actions"])[0]


def test_a_message_to_an_attached_agent_is_put_into_its_queue(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair

    sent = boss.here("messages.send", text="plan it", to=["worker"])

    event = cast("Row", sent["event"])
    action = next_action(worker)
    assert asked(sent) == [("worker", 0, False)]
    assert {name: action[name] for name in ("src", "kind", "text", "message_id", "group_id")} == {
        "src": "boss",
        "kind": "user",
        "text": "plan it",
        "message_id": event["id"],
        "group_id": event["id"],
    }
    assert len(boss.events(kinds=["chat.message"])) == 1


def test_its_answer_is_a_reply_that_settles_the_question(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    sent = boss.here("messages.send", text="plan it", to=["worker"])
    action = next_action(worker)
    answer(worker, action["action_id"], "accepted")

    replied(worker, action, "here is the plan")
    answer(worker, action["action_id"], "completed")

    found = outcome(boss, sent)
    assert (found["status"], found["reply"]) == ("completed", "here is the plan")
    assert upcoming(boss) is None


@pytest.mark.parametrize("who", ["user", "svc:ci", "gone"])
def test_whoever_asked_finds_the_answer_in_its_inbox(scene: Scene, pair: tuple[Actor, Actor], who: str) -> None:
    boss, worker = pair
    if who == "user":
        asker = human(scene, boss.room_id)
    elif who == "svc:ci":
        asker = service(scene, boss.room_id)
    else:
        (asker,) = scene.joined("gone")
    asker.here("messages.send", text="plan it", to=["worker"])
    if who == "gone":
        asker.here("rooms.leave")
    action = next_action(worker)

    sent = replied(worker, action, "here is the plan")

    assert sent["recipients"] == [who]
    inbox = cast("list[Row]", asker.here("messages.inbox")["messages"])
    assert [each["event"]["data"]["text"] for each in inbox] == ["here is the plan"]


def test_an_attached_agent_that_is_away_is_asked_when_it_returns(scene: Scene, pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    worker.here("actions.detach", reason="told to end")
    assert asked(boss.here("messages.send", text="one", to=["worker"])) == [("worker", 0, True)]
    scene.kill(worker)
    reborn = scene.reborn("worker")
    reborn.room_id = boss.room_id
    reborn.here("actions.attach", program="claude")
    assert asked(boss.here("messages.send", text="two", to=["worker"])) == [("worker", 1, False)]
    scene.kill(reborn)
    third = boss.here("messages.send", text="three", to=["worker"])
    assert (asked(third), third["gone"]) == ([("worker", 2, True)], [])

    assert next_action(reborn)["text"] == "one"


def test_who_is_not_attached_gets_mail_and_no_work(scene: Scene, pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    scene.joined("other")
    assert asked(boss.here("messages.send", text="hello", to=["other"])) == []

    worker.here("rooms.leave")
    worker.join()

    assert asked(boss.here("messages.send", text="hello", to=["worker"])) == []


def test_what_is_said_to_nobody_in_particular_asks_nobody(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair

    assert asked(boss.here("messages.send", text="done with the parser")) == []
    assert asked(boss.here("messages.send", text="who can help?", to=["@peers"])) == [("worker", 0, False)]
    assert asked(worker.here("messages.send", text="to myself", to=["worker"])) == []


def test_attached_agents_ask_each_other_by_name_only(scene: Scene, pair: tuple[Actor, Actor]) -> None:
    _boss, worker = pair
    (second,) = scene.joined("second")
    second.here("actions.attach", program="codex")

    assert asked(second.here("messages.send", text="anybody?", to=["@peers"])) == []
    assert asked(second.here("messages.send", text="you?", to=["worker"])) == [("worker", 0, False)]
    assert upcoming(worker) is not None


def test_an_answer_is_no_request(scene: Scene, pair: tuple[Actor, Actor]) -> None:
    _boss, worker = pair
    (second,) = scene.joined("second")
    second.here("actions.attach", program="codex")
    sent = cast("Row", second.here("messages.send", text="you?", to=["worker"])["event"])

    by_hand = worker.here("messages.send", text="me", to=["second"], reply_to=sent["id"])
    replied(worker, next_action(worker), "still me")

    assert asked(by_hand) == []
    assert upcoming(second) is None


def test_who_replies_to_an_answer_goes_on_with_the_conversation(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    boss.here("messages.send", text="plan it", to=["worker"])
    first = next_action(worker)
    said = cast("Row", replied(worker, first, "here is the plan")["event"])
    answer(worker, first["action_id"], "completed")

    boss.here("messages.send", text="and build it", to=["worker"], reply_to=said["id"])

    second = next_action(worker)
    assert second["context"] == first["context"]
    assert second["context"]["owner_id"] == "boss"


def test_each_asker_has_a_conversation_of_its_own_with_an_agent(scene: Scene, pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    (other,) = scene.joined("other")
    contexts = set[str]()
    for asker in (boss, other, boss):
        asker.here("messages.send", text="plan it", to=["worker"])
        action = next_action(worker)
        contexts.add(action["context"]["context_id"])
        answer(worker, action["action_id"], "completed")

    assert len(contexts) == 2


def test_a_full_queue_refuses_the_sender_and_keeps_nothing(
    scene: Scene, pair: tuple[Actor, Actor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "QUEUE_LIMIT", 2)
    boss, _worker = pair
    say(boss, "one", to=["worker"])
    say(boss, "two", to=["worker"])

    with scene.refused("queue_full"):
        boss.here("messages.send", text="three", to=["worker"])


def test_replies_fill_no_queue(pair: tuple[Actor, Actor], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "QUEUE_LIMIT", 2)
    boss, worker = pair
    for number in range(5):
        submit(boss, message(f"a{number}", "worker"))
        submit(worker, message(f"r{number}", "boss", kind="reply", reply_to_action_id=f"a{number}"))
        answer(worker, f"a{number}", "completed")

    assert (pending(boss)["waiting"], pending(boss)["open"]) == (0, [])


def test_the_same_message_sent_again_asks_once(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    first = boss.here("messages.send", text="plan it", to=["worker"], client_id="c1")
    second = boss.here("messages.send", text="plan it", to=["worker"], client_id="c1")

    assert second["replayed"]
    assert [each["action_id"] for each in cast("list[Row]", second["asked"])] == [
        each["action_id"] for each in cast("list[Row]", first["asked"])
    ]
    assert pending(worker)["waiting"] == 1


def test_two_attached_agents_cannot_feed_each_other_for_ever(
    scene: Scene, pair: tuple[Actor, Actor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "EXCHANGE_LIMIT", 2)
    boss, worker = pair
    (second,) = scene.joined("second")
    second.here("actions.attach", program="codex")
    for asker in (boss, second):
        for _ in range(2):
            asker.here("messages.send", text="again", to=["worker"])
            action = next_action(worker)
            replied(worker, action, "yes")
            answer(worker, action["action_id"], "completed")

    assert asked(boss.here("messages.send", text="again", to=["worker"])) == [("worker", 0, False)]
    with scene.refused("conversation_exhausted"):
        second.here("messages.send", text="again", to=["worker"])


def test_a_token_that_may_only_speak_gives_no_work(scene: Scene, pair: tuple[Actor, Actor]) -> None:
    boss, _worker = pair
    speaker = service(scene, boss.room_id, may_work=False)

    with scene.refused("may_not_ask"):
        speaker.here("messages.send", text="plan it", to=["worker"])
    assert asked(speaker.here("messages.send", text="hello", to=["boss"])) == []


def test_a_request_names_the_files_that_come_with_it(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    path = file(boss)
    boss.here("messages.send", text="", to=["worker"], attachments=[{"path": path, "title": "notes.txt"}])

    assert next_action(worker)["text"] == f"Attached: notes.txt ({path})"


def test_only_a_member_attaches(scene: Scene, pair: tuple[Actor, Actor]) -> None:
    boss, _worker = pair

    with refused("unknown_member"):
        scene.stranger(boss.room_id).here("actions.attach", program="claude")
