"""An owner drives others by name, without ids of its own, and waits for what comes of it."""

from __future__ import annotations

import threading
from typing import cast

import pytest

from tallystick.hub import maintenance
from tests.actions.calls import answer, pending, upcoming, work_off
from tests.scene import Actor, Row, Scene, refused

NEW = {"type": "control", "dst": "worker", "command": "new"}


def ask(text: str, dst: str = "worker", **more: object) -> Row:
    return {"type": "message", "dst": dst, "text": text, **more}


@pytest.fixture
def pair(scene: Scene) -> tuple[Actor, Actor]:
    boss, worker = scene.joined("boss", "worker")
    return boss, worker


def outcomes(actor: Actor, relayed: Row, **given: object) -> Row:
    return actor.here("actions.outcomes", group_id=relayed["group_id"], **given)


def test_a_relay_reaches_its_targets_in_order_and_says_where_each_action_stands(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair

    relayed = boss.here("actions.relay", actions=[NEW, ask("plan it", plan={"steps": ["read"], "note": "briefly"})])

    first, second = cast("list[Row]", relayed["actions"])
    assert relayed == {
        "room_id": boss.room_id,
        "context_id": relayed["group_id"],
        "task_id": relayed["group_id"],
        "group_id": relayed["group_id"],
        "actions": [first, second],
        "done": False,
    }
    assert [(each["action_index"], each["dst"]) for each in (first, second)] == [(0, "worker"), (1, "worker")]
    assert upcoming(worker) == first["action_id"]
    answer(worker, first["action_id"], "completed")
    got = cast("Row", pending(worker)["next"])
    assert (got["action_id"], got["kind"], got["text"], got["plan"], got["context"]["owner_id"]) == (
        second["action_id"],
        "user",
        "plan it",
        {"steps": ["read"], "note": "briefly"},
        "boss",
    )


def test_several_messages_reach_several_targets(scene: Scene, pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    (other,) = scene.joined("other")

    boss.here("actions.relay", actions=[ask("a"), ask("b", "other")])

    assert (len(work_off(worker)), len(work_off(other))) == (1, 1)


def test_outcomes_show_status_reason_data_and_the_reply(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    relayed = boss.here("actions.relay", actions=[NEW, ask("plan it")])
    new, question = cast("list[Row]", relayed["actions"])
    answer(worker, new["action_id"], "completed", data={"new_context_id": "c2"})
    answer(worker, question["action_id"], "accepted")
    reply = {
        "type": "message",
        "dst": "boss",
        "action_id": "r1",
        "action_index": 0,
        "kind": "reply",
        "text": "three steps",
        "reply_to_action_id": question["action_id"],
    }
    worker.here("actions.submit", group_id="r", actions=[reply])
    answer(worker, question["action_id"], "completed", detail="planned")

    assert outcomes(boss, relayed) == {
        "group_id": relayed["group_id"],
        "settled": True,
        "actions": [
            {
                "action_id": new["action_id"],
                "action_index": 0,
                "dst": "worker",
                "status": "completed",
                "detail": None,
                "data": {"new_context_id": "c2"},
                "reply": None,
            },
            {
                "action_id": question["action_id"],
                "action_index": 1,
                "dst": "worker",
                "status": "completed",
                "detail": "planned",
                "data": None,
                "reply": "three steps",
            },
        ],
    }


@pytest.mark.parametrize(
    ("status", "settled"),
    [
        ("completed", True),
        ("rejected", True),
        ("error", True),
        ("blocked", True),
        ("accepted", False),
        ("queued", False),
    ],
)
def test_what_is_finished_or_blocked_is_settled(pair: tuple[Actor, Actor], status: str, settled: bool) -> None:
    boss, worker = pair
    relayed = boss.here("actions.relay", actions=[ask("plan it")])

    answer(worker, cast("list[Row]", relayed["actions"])[0]["action_id"], status)

    assert outcomes(boss, relayed)["settled"] is settled


def test_a_wait_for_outcomes_ends_with_the_last_of_them(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    relayed = boss.here("actions.relay", actions=[ask("a"), ask("b")])
    found: list[Row] = []
    thread = threading.Thread(target=lambda: found.append(outcomes(boss, relayed, max_wait_ms=60_000)), daemon=True)
    thread.start()

    work_off(worker)
    thread.join(60)

    assert [each["status"] for each in found[0]["actions"]] == ["completed", "completed"]


def test_a_group_that_nobody_submitted_has_no_outcomes(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    relayed = boss.here("actions.relay", actions=[NEW])

    with refused("action_group_not_found"):
        outcomes(worker, relayed)

    assert outcomes(worker, relayed, agent_id="boss")["settled"] is False


def test_the_owner_ends_the_relay_with_or_without_a_summary(pair: tuple[Actor, Actor]) -> None:
    boss, _ = pair
    relayed = boss.here("actions.relay", actions=[NEW])
    context_id = relayed["context_id"]

    over = boss.here("actions.relay", context_id=context_id, done={"summary": "planned"})
    boss.here("actions.relay", context_id=context_id, task_id="TASK-1", done={})

    assert over == {
        "room_id": boss.room_id,
        "context_id": context_id,
        "task_id": context_id,
        "group_id": None,
        "actions": [],
        "done": True,
    }
    context = {"context_id": context_id, "owner_id": "boss"}
    assert [event["data"] for event in boss.events(kinds=["x.tally.action.task_done"])] == [
        {"task_id": context_id, "status": "done", "context": context, "summary": "planned"},
        {"task_id": "TASK-1", "status": "done", "context": context},
    ]


def test_a_conversation_whose_relay_ended_may_be_taken_up_again_by_its_owner(pair: tuple[Actor, Actor]) -> None:
    boss, _ = pair
    context_id = boss.here("actions.relay", actions=[NEW])["context_id"]
    boss.here("actions.relay", context_id=context_id, done={"summary": "planned"})

    more = boss.here("actions.relay", context_id=context_id, actions=[NEW])

    assert (more["context_id"], more["done"]) == (context_id, False)


def test_only_the_owner_goes_on_with_a_relay_or_ends_it(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    context_id = boss.here("actions.relay", actions=[NEW])["context_id"]

    with boss.refused("not_owner"):
        worker.here("actions.relay", context_id=context_id, actions=[ask("you", "boss")])
    with boss.refused("not_owner"):
        worker.here("actions.relay", context_id=context_id, done={})
    with boss.refused("not_owner"):
        boss.here("actions.relay", context_id="unknown", done={})


@pytest.mark.parametrize(
    ("code", "given"),
    [
        ("invalid_input", {"actions": []}),
        ("invalid_input", {}),
        ("invalid_input", {"actions": [NEW], "done": {}}),
        ("invalid_input", {"done": {}}),
        ("invalid_input", {"done": {"summary": 3}}),
        ("invalid_input", {"actions": [{"type": "message", "dst": "worker"}]}),
        ("invalid_input", {"actions": [{"type": "message", "text": "x"}]}),
        ("invalid_input", {"actions": [ask("")]}),
        ("invalid_input", {"actions": [ask(" \n")]}),
        ("invalid_input", {"actions": [ask("x", plan={"note": "no steps"})]}),
        ("invalid_input", {"actions": [ask("x", plan={"steps": [1]})]}),
        ("invalid_input", {"actions": [{"type": "control", "dst": "worker"}]}),
        ("invalid_input", {"actions": [{**NEW, "command": "stop"}]}),
        ("invalid_input", {"actions": [{**NEW, "args": "only review has any"}]}),
        ("invalid_input", {"actions": [{"type": "wait", "dst": "worker"}]}),
        ("invalid_input", {"actions": ["worker"]}),
        ("unknown_field", {"actions": [ask("x", priority=1)]}),
        ("agent_not_found", {"actions": [ask("x", "nobody")]}),
        ("self_target", {"actions": [ask("x", "boss")]}),
    ],
)
def test_what_is_no_relay_is_refused_and_leaves_nothing(
    scene: Scene, pair: tuple[Actor, Actor], code: str, given: dict[str, object]
) -> None:
    boss, _ = pair
    before = scene.rows("actions")

    with refused(code):
        boss.here("actions.relay", **given)

    assert scene.rows("actions") == before


def test_a_review_may_have_instructions(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair

    boss.here("actions.relay", actions=[{"type": "control", "dst": "worker", "command": "review", "args": "the tests"}])

    assert cast("Row", pending(worker)["next"])["args"] == "the tests"


def test_outcomes_are_the_same_after_a_rebuild(scene: Scene, pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    relayed = boss.here("actions.relay", actions=[NEW, ask("plan it")])
    work_off(worker)
    before = outcomes(boss, relayed)

    maintenance.rebuild(scene.hub)

    assert outcomes(boss, relayed) == before
