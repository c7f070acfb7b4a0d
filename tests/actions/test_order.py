"""One queue per target: one at a time, in the order submitted; an interrupt overtakes."""

from __future__ import annotations

from typing import cast

import pytest

from tests.actions.calls import answer, control, ids, message, pending, submit, upcoming, work_off
from tests.scene import Actor, Row, Scene, refused

TERMINAL = ["completed", "rejected", "error"]


@pytest.fixture
def pair(scene: Scene) -> tuple[Actor, Actor]:
    boss, worker = scene.joined("boss", "worker")
    return boss, worker


@pytest.mark.parametrize("status", ["accepted", *TERMINAL])
def test_the_next_message_follows_when_the_last_was_accepted_or_is_finished(
    pair: tuple[Actor, Actor], status: str
) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"), message("a2", "worker"))
    assert upcoming(worker) == "a1"

    answer(worker, "a1", status)

    assert upcoming(worker) == "a2"


@pytest.mark.parametrize("status", ["queued", "blocked"])
def test_a_queued_or_blocked_message_holds_up_what_follows(pair: tuple[Actor, Actor], status: str) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"), message("a2", "worker"))

    answer(worker, "a1", status)
    assert upcoming(worker) is None
    answer(worker, "a1", "accepted")

    assert upcoming(worker) == "a2"


@pytest.mark.parametrize("command", ["new", "compact", "review"])
@pytest.mark.parametrize("status", TERMINAL)
def test_after_a_control_the_next_follows_only_when_that_is_finished(
    pair: tuple[Actor, Actor], command: str, status: str
) -> None:
    boss, worker = pair
    submit(boss, control("a1", "worker", command), message("a2", "worker"))

    answer(worker, "a1", "accepted")
    assert upcoming(worker) is None
    answer(worker, "a1", status)

    assert upcoming(worker) == "a2"


def test_groups_of_different_senders_follow_each_other(scene: Scene, pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    (other,) = scene.joined("other")
    submit(boss, message("a1", "worker"), message("a2", "worker"))
    submit(other, message("b1", "worker"))
    submit(boss, message("a3", "worker"))

    assert work_off(worker) == ["a1", "a2", "b1", "a3"]


def test_one_targets_queue_does_not_hold_up_another(scene: Scene, pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    (other,) = scene.joined("other")
    submit(boss, control("a1", "worker", "new"), message("a2", "other"), message("a3", "worker"))

    assert (upcoming(worker), upcoming(other)) == ("a1", "a2")
    answer(other, "a2", "completed")

    assert (upcoming(worker), upcoming(other)) == ("a1", None)


def test_an_interrupt_overtakes_everything_and_what_follows_waits_for_it(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"), message("a2", "worker"), message("a3", "worker"))
    answer(worker, "a1", "accepted")
    submit(boss, control("stop", "worker", "interrupt"))

    assert upcoming(worker) == "stop"
    answer(worker, "stop", "accepted")
    assert upcoming(worker) is None
    answer(worker, "stop", "completed")

    assert upcoming(worker) == "a2"


def test_an_interrupt_gets_through_while_a_control_is_unfinished(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(boss, control("a1", "worker", "compact"), message("a2", "worker"))
    answer(worker, "a1", "accepted")
    submit(boss, control("stop", "worker", "interrupt"))

    assert work_off(worker) == ["stop"]
    answer(worker, "a1", "error")

    assert upcoming(worker) == "a2"


def test_interrupts_come_one_after_the_other(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(boss, control("i1", "worker", "interrupt"), message("a1", "worker"), control("i2", "worker", "interrupt"))

    assert work_off(worker, status="rejected") == ["i1", "i2", "a1"]


def test_what_was_handed_over_before_an_interrupt_may_still_be_answered(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"), message("a2", "worker"))
    assert upcoming(worker) == "a1"
    submit(boss, control("stop", "worker", "interrupt"))

    answer(worker, "a1", "error", detail="interrupted")
    assert upcoming(worker) == "stop"
    answer(worker, "stop", "completed")

    assert upcoming(worker) == "a2"


def test_an_action_is_shown_until_it_is_answered_and_never_after(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"), control("a2", "worker", "new"))

    assert [upcoming(worker), upcoming(worker)] == ["a1", "a1"]
    answer(worker, "a1", "accepted")
    answer(worker, "a2", "queued")

    assert upcoming(worker) is None
    assert ids(pending(worker)["open"]) == ["a1", "a2"]


def test_a_message_that_was_accepted_and_is_blocked_later_holds_up_nothing(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"), message("a2", "worker"))

    answer(worker, "a1", "accepted", "blocked")

    assert upcoming(worker) == "a2"


def test_time_moves_nothing(scene: Scene, pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"), control("a2", "worker", "new"), message("a3", "worker"))
    answer(worker, "a1", "accepted")
    before = scene.rows("actions")

    scene.clock.forward(minutes=60 * 24 * 365)

    assert (upcoming(worker), scene.rows("actions")) == ("a2", before)


def test_what_waits_for_one_who_leaves_ends_with_a_reason(scene: Scene, pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"), message("a2", "worker"))
    worker.here("rooms.leave")

    with refused("agent_not_found"):
        submit(boss, message("a3", "worker"))
    found = boss.here("actions.outcomes", group_id="g-a1")

    assert found["settled"]
    assert [(each["status"], each["detail"]) for each in cast("list[Row]", found["actions"])] == [
        ("rejected", "worker left the room")
    ] * 2
    worker.join()
    assert work_off(worker) == []


def test_what_waits_in_a_room_that_closes_ends_with_a_reason(pair: tuple[Actor, Actor]) -> None:
    boss, worker = pair
    submit(boss, message("a1", "worker"), message("a2", "worker"))
    answer(worker, "a1", "accepted")
    worker.here("rooms.close")

    found = boss.here("actions.outcomes", group_id="g-a1")

    assert [(each["status"], each["detail"]) for each in cast("list[Row]", found["actions"])] == [
        ("rejected", "the room was closed")
    ] * 2


def test_queues_are_folded_from_the_ledger(scene: Scene, pair: tuple[Actor, Actor]) -> None:
    from tallystick.hub import registry
    from tallystick.ledger.rebuild import rebuild

    boss, worker = pair
    submit(boss, message("a1", "worker"), control("a2", "worker", "new"), message("a3", "worker"))
    answer(worker, "a1", "accepted", "completed")
    answer(worker, "a2", "completed", data={"new_context_id": "c9"})
    worker.here("messages.send", text="done", to=["boss"], conversation={"kind": "reply", "reply_to_action_id": "a1"})
    before = scene.dump()

    with scene.hub.writing() as tx:
        rebuild(tx, registry.tables())

    assert scene.dump() == before
