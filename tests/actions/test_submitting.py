"""Submitting a group: what it must have, whom it reaches, and what is refused as a whole."""

from __future__ import annotations

import pytest

from tests.actions.calls import control, message, pending, submit, upcoming
from tests.messages.talk import human, principal, say, texts
from tests.scene import Actor, Row, Scene, refused


@pytest.fixture
def pair(scene: Scene) -> tuple[Actor, Actor]:
    """An agent that asks and one that is asked."""
    boss, worker = scene.joined("boss", "worker")
    return boss, worker


def test_a_group_is_placed_in_order_and_says_where_each_action_stands(scene: Scene, pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    third = scene.joined("third")[0]

    done = submit(boss, message("a1", "worker"), control("a2", "worker", "compact"), message("a3", "third"), group="g1")

    seqs = [event["seq"] for event in boss.events(kinds=["x.tally.action.submit"])]
    assert done == {
        "room_id": boss.room_id,
        "group_id": "g1",
        "context_id": "g1",
        "owner_id": "boss",
        "actions": [
            {"action_id": "a1", "action_index": 0, "dst": "worker", "seq": seqs[0]},
            {"action_id": "a2", "action_index": 1, "dst": "worker", "seq": seqs[1]},
            {"action_id": "a3", "action_index": 2, "dst": "third", "seq": seqs[2]},
        ],
    }
    assert (upcoming(worker), upcoming(third)) == ("a1", "a3")


def test_a_target_gets_everything_that_was_submitted(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    first = say(boss, "hello", to=["worker"])
    parent = first["id"]
    plan = {"steps": ["read", "write"], "note": "slowly"}

    submit(
        boss,
        message("a1", "worker", "plan the release", plan=plan),
        group="g1",
        context={"context_id": "c1", "owner_id": "boss", "parent_message_id": parent},
        task_id="t1",
    )

    (said,) = boss.events(kinds=["chat.message"], since_seq=first["seq"])
    got = pending(worker)["next"]
    assert got == {
        "action_id": "a1",
        "group_id": "g1",
        "action_index": 0,
        "type": "message",
        "src": "boss",
        "dst": "worker",
        "kind": "user",
        "text": "plan the release",
        "plan": plan,
        "reply_to_action_id": None,
        "command": None,
        "args": None,
        "context": {"context_id": "c1", "owner_id": "boss", "parent_message_id": parent},
        "task_id": "t1",
        "message_id": said["id"],
        "status": None,
        "seq": said["seq"] + 1,
        "submitted_at": said["ts"],
    }


def test_a_message_action_is_a_message_in_its_targets_inbox(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair

    submit(boss, message("a1", "worker", "hello"), control("a2", "worker", "review", args="be strict"), task_id="t1")

    assert (texts(worker), texts(boss)) == (["hello"], [])
    (event,) = boss.events(kinds=["chat.message"])
    assert event["data"]["conversation"] == {
        "context_id": "g-a1",
        "owner_id": "boss",
        "kind": "user",
        "action_id": "a1",
        "task_id": "t1",
    }


def test_a_target_is_named_by_its_id_or_its_present_name(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    worker.here("agents.update", name="Willy")

    done = submit(boss, message("a1", "Willy"), message("a2", "worker"))

    assert [each["dst"] for each in done["actions"]] == ["worker", "worker"]


def test_a_name_that_two_agents_have_is_refused(scene: Scene, pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    (third,) = scene.joined("third")
    for name in ("worker", "third"):  # An older version let two agents have one name.
        scene.sql("UPDATE agents SET name = 'twin' WHERE agent_id = :agent_id", agent_id=name)
    assert third.room_id == worker.room_id

    with refused("ambiguous_agent") as caught:
        submit(boss, message("a1", "twin"))

    assert caught.value.details == {"name": "twin", "candidates": ["worker", "third"]}


@pytest.mark.parametrize("dst", ["nobody", "user", "human:eve:pts1"])
def test_a_target_that_is_no_agent_of_the_room_is_refused(scene: Scene, pair: tuple[Actor, Actor], dst: str) -> None:
    boss, _ = pair
    human(scene, boss.room_id).here("rooms.join")

    with scene.refused("agent_not_found"):
        submit(boss, message("a1", dst))


def test_nobody_sends_an_action_to_itself(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair

    with refused("self_target"):
        submit(boss, control("a1", "boss", "interrupt"))
    with refused("self_target"):
        submit(boss, message("a1", "worker"), message("a2", "boss"))

    assert (upcoming(boss), upcoming(worker)) == (None, None)


def test_one_refused_action_refuses_the_whole_group(pair: tuple[Actor, Actor]) -> None:
    boss, _ = pair
    before = boss.scene.dump()

    with refused("agent_not_found"):
        submit(boss, message("a1", "worker"), message("a2", "nobody"))

    assert boss.scene.dump() == before


def test_an_action_id_is_used_once_in_a_room(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"))

    with boss.refused("duplicate_action_id"):
        submit(boss, message("a1", "worker"), group="another")
    with boss.refused("duplicate_action_id"):
        submit(boss, message("a2", "worker"), message("a2", "worker"))
    with boss.refused("duplicate_action_id"):
        submit(worker, message("a1", "boss"), group="mine")


def test_a_group_id_is_used_once_by_its_submitter(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"), group="g1", context={"context_id": "c1"})

    with refused("duplicate_group"):
        submit(boss, message("a2", "worker"), group="g1")
    submit(worker, message("a3", "boss"), group="g1", context={"context_id": "c2"})

    assert upcoming(boss) == "a3"


def test_the_same_call_with_its_key_is_done_once_and_another_under_that_key_is_refused(
    pair: tuple[Actor, Actor],
) -> None:
    boss, worker = pair
    given = {"room_id": boss.room_id, "group_id": "g1", "actions": [message("a1", "worker")]}
    hub, caller = boss.scene.hub, boss.caller
    first = hub.call("actions.submit", given, caller, key="k1")

    again = hub.call("actions.submit", given, caller, key="k1")

    assert again == first
    assert pending(worker)["waiting"] == 1
    with refused("idempotency_conflict"):
        hub.call("actions.submit", {**given, "group_id": "g2"}, caller, key="k1")


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"group_id": ""}, "invalid_input"),
        ({"group_id": "x" * 201}, "too_large"),
        ({"actions": []}, "invalid_input"),
        ({"actions": [message("a1", "worker", kind="control")]}, "invalid_input"),
        ({"actions": [message("a1", "worker", "  \n ")]}, "invalid_input"),
        ({"actions": [message("a1", "worker", "")]}, "invalid_input"),
        ({"actions": [message("a1", "worker", "x" * 65_537)]}, "too_large"),
        ({"actions": [message("a1", "worker", "ü" * 40_000)]}, "too_large"),
        ({"actions": [message("", "worker")]}, "invalid_input"),
        ({"actions": [message("a1", "")]}, "invalid_input"),
        ({"actions": [message("a1", "worker", index=-1)]}, "invalid_input"),
        ({"actions": [{**message("a1", "worker"), "action_index": "0"}]}, "invalid_input"),
        ({"actions": [message("a1", "worker", payload_ref="blob")]}, "unknown_field"),
        ({"actions": [control("a1", "worker", "explode")]}, "invalid_input"),
        ({"actions": [control("a1", "worker", "new", args="please")]}, "invalid_input"),
        ({"actions": [control("a1", "worker", "new", text="hi")]}, "unknown_field"),
        ({"actions": [{"type": "dance", "dst": "worker", "action_id": "a1", "action_index": 0}]}, "invalid_input"),
        ({"actions": [message("a1", "worker", index=1), message("a2", "worker", index=1)]}, "invalid_input"),
        ({"actions": [message("a1", "worker", index=2), message("a2", "worker", index=1)]}, "invalid_input"),
        ({"actions": [message(f"a{n}", "worker", index=n) for n in range(101)]}, "too_large"),
        ({"context": {"context_id": ""}}, "invalid_input"),
        ({"context": {"parent_message_id": "nothing"}}, "event_not_found"),
        ({"context": {"contextid": "c1"}}, "unknown_field"),
        ({"task_id": "\0"}, "invalid_input"),
        ({"actions": [message("a1", "worker", reply_to_action_id="a0")]}, "action_not_found"),
    ],
)
def test_what_is_not_a_group_is_refused(pair: tuple[Actor, Actor], wrong: Row, code: str) -> None:
    boss, _ = pair
    before = boss.scene.rows("actions")

    with refused(code):
        boss.here("actions.submit", **{"group_id": "g1", "actions": [message("a1", "worker")], **wrong})

    assert boss.scene.rows("actions") == before


@pytest.mark.parametrize("missing", ["dst", "action_id", "action_index", "kind", "text", "type"])
def test_an_action_without_a_required_field_is_refused(pair: tuple[Actor, Actor], missing: str) -> None:
    boss, _ = pair
    action = message("a1", "worker")
    del action[missing]

    with refused("invalid_input") as caught:
        boss.here("actions.submit", group_id="g1", actions=[action])

    assert missing in caught.value.message


def test_a_group_needs_an_id(pair: tuple[Actor, Actor]) -> None:
    with refused("invalid_input") as caught:
        pair[0].here("actions.submit", actions=[message("a1", "worker")])

    assert "group_id" in caught.value.message


def test_who_is_not_in_the_room_submits_nothing_but_the_user_and_services_do(
    scene: Scene, pair: tuple[Actor, Actor]
) -> None:
    boss, worker = pair
    with refused("unknown_member"):
        submit(scene.stranger(boss.room_id), message("a1", "worker"))

    submit(human(scene, boss.room_id), message("a1", "worker"))
    submit(principal(scene, boss.room_id, "svc:ci"), message("a2", "worker"))

    assert [event["by"] for event in boss.events(kinds=["x.tally.action.submit"])] == ["user", "svc:ci"]
    assert pending(worker)["waiting"] == 2


def test_a_closed_room_takes_no_actions(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"))
    boss.here("rooms.close")

    with boss.refused("room_closed"):
        submit(boss, message("a2", "worker"))
    with boss.refused("room_closed"):
        worker.here("actions.result", action_id="a1", status="completed")


def test_a_queue_is_bounded_and_an_interrupt_still_gets_through(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    for group in range(10):
        submit(boss, *(message(f"a{group}-{n}", "worker", "x") for n in range(100)), context={"context_id": "c"})

    with refused("queue_full") as caught:
        submit(boss, message("one too many", "worker"), context={"context_id": "c"})
    submit(boss, control("stop", "worker", "interrupt"), context={"context_id": "c"})

    assert (caught.value.retryable, caught.value.details) == (True, {"dst": "worker", "limit": 1000})
    assert upcoming(worker) == "stop"
