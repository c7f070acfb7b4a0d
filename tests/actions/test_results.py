"""Results: six statuses, from the target only, about what was delivered, each one a change."""

from __future__ import annotations

import pytest

from tallystick.capabilities.actions.events import ActionStatus
from tests.actions.calls import answer, control, ids, message, pending, submit, upcoming
from tests.scene import Actor, Row, Scene, refused


@pytest.fixture
def pair(scene: Scene) -> tuple[Actor, Actor]:
    boss, worker = scene.joined("boss", "worker")
    return boss, worker


def test_there_are_six_statuses_and_three_of_them_are_terminal() -> None:
    assert {status.value: status.terminal for status in ActionStatus} == {
        "accepted": False,
        "completed": True,
        "blocked": False,
        "queued": False,
        "rejected": True,
        "error": True,
    }


def test_a_result_is_an_event_that_names_its_group_and_its_index(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(boss, message("a0", "worker"), control("a1", "worker", "new"), group="g1")
    answer(worker, "a0", "completed")
    data = {"new_context_id": "c2", "new_task_id": "t2", "turns": 3}

    done = answer(worker, "a1", "completed", group_id="g1", action_index=1, detail="fresh", data=data)

    (event,) = boss.events(kinds=["x.tally.action.result"], newest=True, limit=1)
    assert (event["by"], event["data"]) == (
        "worker",
        {
            "group_id": "g1",
            "action_id": "a1",
            "action_index": 1,
            "status": "completed",
            "detail": "fresh",
            "data": data,
            "dst": "boss",
        },
    )
    assert done == {
        "room_id": boss.room_id,
        "group_id": "g1",
        "action_id": "a1",
        "action_index": 1,
        "status": "completed",
        "terminal": True,
        "seq": event["seq"],
    }


def test_only_the_target_says_what_became_of_an_action(scene: Scene, pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    (other,) = scene.joined("other")
    submit(boss, message("a1", "worker"))

    for somebody in (boss, other):
        with refused("not_target"):
            answer(somebody, "a1", "completed")
    with refused("unknown_member"):
        answer(scene.stranger(boss.room_id), "a1", "completed")

    assert upcoming(worker) == "a1"


@pytest.mark.parametrize("last", ["completed", "rejected", "error"])
@pytest.mark.parametrize("late", list(ActionStatus))
def test_nothing_follows_a_terminal_result(pair: tuple[Actor, Actor], last: str, late: ActionStatus) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"))
    answer(worker, "a1", last)

    with refused("action_finished") as caught:
        answer(worker, "a1", late.value)

    assert caught.value.details == {"action_id": "a1", "status": last}


@pytest.mark.parametrize("status", ["accepted", "queued", "blocked"])
def test_a_status_that_is_said_twice_is_a_duplicate(pair: tuple[Actor, Actor], status: str) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"))
    answer(worker, "a1", status)

    with refused("duplicate_result") as caught:
        answer(worker, "a1", status)

    assert caught.value.details == {"action_id": "a1", "status": status}


def test_an_action_that_has_not_been_delivered_cannot_be_answered(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"), message("a2", "worker"))

    with refused("not_delivered") as caught:
        answer(worker, "a2", "completed")

    assert caught.value.details == {"action_id": "a2", "status": None, "next": "a1"}


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"action_id": "a9"}, "action_not_found"),
        ({"action_id": ""}, "invalid_input"),
        ({"status": "done"}, "invalid_input"),
        ({"status": 1}, "invalid_input"),
        ({"group_id": "g2"}, "invalid_input"),
        ({"action_index": 1}, "invalid_input"),
        ({"detail": "x" * 16_385}, "too_large"),
        ({"data": {"new_context_id": ""}}, "invalid_input"),
        ({"data": {"new_context_id": 7}}, "invalid_input"),
        ({"data": {"new_task_id": "x" * 201}}, "invalid_input"),
        ({"data": {"much": "x" * 300_000}}, "too_large"),
        ({"data": []}, "invalid_input"),
        ({"staus": "completed"}, "unknown_field"),
    ],
)
def test_what_is_no_result_is_refused(pair: tuple[Actor, Actor], given: Row, code: str) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"), group="g1")

    with refused(code):
        worker.here("actions.result", **{"action_id": "a1", "status": "completed", **given})

    assert upcoming(worker) == "a1"


def test_a_keyed_result_that_is_sent_again_is_answered_as_before(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"))
    given = {"room_id": boss.room_id, "action_id": "a1", "status": "completed"}
    first = boss.scene.hub.call("actions.result", given, worker.caller, key="r1")

    assert boss.scene.hub.call("actions.result", given, worker.caller, key="r1") == first
    assert len(boss.events(kinds=["x.tally.action.result"])) == 1


def test_the_sender_sees_what_it_still_waits_for(scene: Scene, pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"), message("a2", "worker"), message("a3", "worker"))
    answer(worker, "a1", "accepted", "completed")
    answer(worker, "a2", "accepted")

    awaited = pending(boss)["awaited"]

    assert [(each["action_id"], each["status"]) for each in awaited] == [("a2", "accepted"), ("a3", None)]
    assert ids(pending(worker)["open"]) == ["a2", "a3"]


def test_a_new_context_belongs_to_the_owner_of_the_old_one(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(boss, control("a1", "worker", "new"), context={"context_id": "c1"})
    answer(worker, "a1", "completed", data={"new_context_id": "c2"})

    with refused("not_owner"):
        submit(worker, message("b1", "boss"), context={"context_id": "c2"})
    done = submit(boss, message("a2", "worker"), context={"context_id": "c2"})

    assert (done["context_id"], done["owner_id"]) == ("c2", "boss")


def test_a_new_context_cannot_be_somebody_elses(scene: Scene, pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    (other,) = scene.joined("other")
    submit(other, message("o1", "boss"), context={"context_id": "others"})
    submit(boss, control("a1", "worker", "new"))

    with scene.refused("not_owner"):
        answer(worker, "a1", "completed", data={"new_context_id": "others"})
