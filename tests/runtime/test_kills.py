"""Sudden ends: nothing that was acknowledged is run twice, nothing is lost, and nobody is left behind."""

from __future__ import annotations

import signal

from tests.http.running import Json
from tests.runtime.world import Process, World, control, message
from tests.waiting import gone, until


def test_an_agent_that_is_killed_leaves_no_process_behind(lone_world: World) -> None:
    boss = lone_world.member("boss")
    worker = lone_world.attach("worker", "claude")
    lone_world.relay(boss, message("worker", "sleep"))
    pids = lone_world.sleepers()

    worker.end(signal.SIGKILL)

    until(lambda: all(gone(pid) for pid in pids))


def test_what_a_killed_agent_had_accepted_is_not_run_again_and_the_rest_is(lone_world: World) -> None:
    boss = lone_world.member("boss")
    worker = lone_world.attach("worker", "claude")
    context = lone_world.relay(boss, message("worker", "one"))["context_id"]
    asked = lone_world.relay(boss, message("worker", "sleep"), message("worker", "after"), context_id=context)
    lone_world.sleepers()

    worker.end(signal.SIGKILL)
    lone_world.attach("worker", "claude")
    slept, after = lone_world.outcomes(boss, asked)

    assert slept["status"] == "error"
    assert slept["detail"] == "the agent was ended while it worked on this; ask again if it is still wanted"
    assert after["status"] == "completed"
    assert len(lone_world.calls()) == 3


def test_a_context_survives_the_death_of_its_agent(lone_world: World) -> None:
    boss = lone_world.member("boss")
    worker = lone_world.attach("worker", "claude")
    asked = lone_world.relay(boss, message("worker", "one"))
    lone_world.outcomes(boss, asked)

    worker.end(signal.SIGKILL)
    lone_world.attach("worker", "claude")
    (second,) = lone_world.done(boss, message("worker", "two"), context_id=asked["context_id"])

    assert second["reply"] == "two (2)"


def test_an_agent_survives_a_killed_hub_in_the_middle_of_its_work(lone_world: World) -> None:
    boss = lone_world.member("boss")
    worker = lone_world.attach("worker", "claude")
    asked = lone_world.relay(boss, message("worker", "sleep"), message("worker", "after"))
    pids = lone_world.sleepers()

    lone_world.hub.kill()
    worker.until("the hub is away")
    assert [gone(pid) for pid in pids] == [False, False]
    lone_world.hub.start()
    worker.until("the hub is back")
    (interrupt,) = lone_world.done(boss, control("worker", "interrupt"))
    slept, after = lone_world.outcomes(boss, asked)

    assert (interrupt["status"], slept["status"], after["reply"]) == ("completed", "error", "after (2)")
    assert len(lone_world.calls()) == 2


def test_an_answer_outlives_the_hub_and_the_agent_that_gave_it(lone_world: World) -> None:
    boss = lone_world.member("boss")
    worker, asked = answering_without_a_hub(lone_world)

    worker.end(signal.SIGKILL)
    lone_world.hub.start()
    lone_world.attach("worker", "false")
    (outcome,) = lone_world.outcomes(boss, asked)

    assert (outcome["status"], outcome["reply"]) == ("completed", "ok")


def test_an_answer_that_is_given_while_the_hub_is_away_is_sent_when_it_is_back(lone_world: World) -> None:
    boss = lone_world.member("boss")
    _, asked = answering_without_a_hub(lone_world)

    lone_world.hub.start()
    (outcome,) = lone_world.outcomes(boss, asked)

    assert (outcome["status"], outcome["reply"]) == ("completed", "ok")


def answering_without_a_hub(lone_world: World) -> tuple[Process, Json]:
    """An agent that has given its answer, and a hub that was killed before it could hear it."""
    boss = lone_world.client("boss")
    gate = lone_world.folder / "gate"
    worker = lone_world.attach(
        "worker", "sh", "-c", f"touch {gate}.begun; while [ ! -e {gate} ]; do sleep 0.05; done; echo ok"
    )
    asked = lone_world.relay(boss, message("worker", "go"))
    until(lambda: gate.with_suffix(".begun").exists())

    lone_world.hub.kill()
    worker.until("the hub is away")
    gate.touch()
    worker.until("answered boss: ok")
    return worker, asked
