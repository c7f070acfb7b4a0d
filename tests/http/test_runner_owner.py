"""A claim belongs to the agent that made it, and a runner id to the agent that sent it first."""

from __future__ import annotations

from typing import cast

from tallystick.kernel.operation import Reach
from tests.http.running import Json, RunningHub


def test_nobody_reports_completes_or_beats_for_anothers_runner(hub: RunningHub) -> None:
    room = hub.user.room()
    worker, mallory = hub.agent("worker", room), hub.agent("mallory", room)
    for agent in (worker, mallory):
        agent.call("rooms.join", room_id=room)
    worker.call("jobs.create", room_id=room, title="x", prompt="p")
    worker.call("runners.heartbeat", room_id=room, runner_id="rw", status="idle", executors=["command", "codex"])
    claimed = worker.call("jobs.claim", room_id=room, runner_id="rw")
    held = {"room_id": room, "job": "JOB-001", "runner_id": "rw", "claim_revision": claimed["claim_revision"]}
    done: dict[str, object] = {**held, "status": "FAILED", "summary": "no", "refs": []}

    for operation, given in (
        ("jobs.report", {**held, "message": "mine"}),
        ("jobs.complete", done),
        ("runners.heartbeat", {"room_id": room, "runner_id": "rw", "status": "idle", "executors": ["command"]}),
    ):
        assert mallory.post(operation, given).refused == (403, "runner_not_yours"), operation
    assert worker.call("jobs.report", **held, message="mine")


def test_a_token_that_may_manage_does_not_waive_the_proof_of_what_it_runs(hub: RunningHub) -> None:
    room = hub.user.room()
    worker, manager = (hub.agent(name, room, Reach.MANAGE) for name in ("worker", "manager"))
    worker.call("rooms.join", room_id=room)
    worker.call("jobs.create", room_id=room, title="x", prompt="p")
    worker.call("runners.heartbeat", room_id=room, runner_id="rw", status="idle")
    worker.call("jobs.claim", room_id=room, runner_id="rw")
    waiver: dict[str, object] = {"room_id": room, "job": "JOB-001", "reason": "fine"}

    assert worker.post("jobs.waive", waiver).refused == (409, "own_waiver")
    assert cast("Json", manager.call("jobs.waive", **waiver)["event"])["kind"] == "waived"
