"""What the hub looks at and runs on its machine for somebody with a token: nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.repository import repository
from tests.http.running import RunningHub


@pytest.mark.parametrize("operation", ["agents.candidates", "agents.adopt"])
def test_a_token_makes_the_hub_run_no_git(
    hub: RunningHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    checkout = repository(tmp_path / "repo").resolve()
    room = str(hub.user.call("rooms.join", context_path=str(checkout))["room_id"])
    ada, mallory = hub.agent("ada", room), hub.agent("mallory", room)
    for each in (ada, mallory):
        each.call("rooms.join", room_id=room)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(f"#!/bin/sh\necho ran >> {tmp_path}/trace\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    reply = mallory.post(operation, {"room_id": room, **({"agent_id": "ada"} if operation == "agents.adopt" else {})})

    assert reply.status in {200, 403, 409}
    assert not (tmp_path / "trace").exists()


def test_a_token_for_every_room_names_no_folder_to_look_at(hub: RunningHub, tmp_path: Path) -> None:
    checkout = repository(tmp_path / "repo").resolve()
    room = str(hub.user.call("rooms.join", context_path=str(checkout))["room_id"])

    reply = hub.agent("wide").post("agents.candidates", {"room_id": room, "context_path": str(checkout)})

    assert reply.refused == (403, "no_workspace")


def test_a_token_learns_nothing_of_files_that_git_does_not_track(hub: RunningHub, tmp_path: Path) -> None:
    checkout = repository(tmp_path / "repo").resolve()
    (checkout / ".env").write_text("TOKEN=1\n")
    room = str(hub.user.call("rooms.join", context_path=str(checkout))["room_id"])
    worker = hub.agent("worker", room)
    worker.call("rooms.join", room_id=room)
    worker.call("jobs.create", room_id=room, title="x", prompt="p")
    worker.call("runners.heartbeat", room_id=room, runner_id="rw", status="idle", executors=["command", "codex"])
    revision = worker.call("jobs.claim", room_id=room, runner_id="rw")["claim_revision"]
    done: dict[str, object] = {"room_id": room, "job": "JOB-001", "runner_id": "rw", "claim_revision": revision}

    told = set[str]()
    for name in (".env", ".git/config", "no-such-file"):
        given = {**done, "status": "DONE", "summary": "done", "refs": [f"FILE: {name}"]}
        reply = worker.post("jobs.complete", given)
        assert reply.error["code"] == "proof_missing"
        told.add(reply.body.decode().replace(name, ""))
    assert len(told) == 1
