"""Two live processes under one name, and a silent one that somebody would like to be: one holder all the same."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest

from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.storage.sql_files import Query
from tests.agents.repository import repository
from tests.surfaces.mcp.stage import SERVER, Agent, Stage
from tests.surfaces.mcp.test_identity import harness

pytestmark = pytest.mark.anyio
SILENT_MS = 16 * 60_000
LONG_AGO = f"UPDATE presence SET last_seen_at = last_seen_at - {SILENT_MS}"


def tally(stage: Stage, *args: str, agent: str) -> dict[str, object]:
    """The envelope of a command that is typed beside the servers."""
    done = subprocess.run(
        [SERVER[0], *args, "--json"],
        env={**stage.env, "PATH": "/usr/bin:/bin", "HOME": str(stage.workspace.parent), "TALLYSTICK_AGENT": agent},
        cwd=stage.workspace,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return cast("dict[str, object]", json.loads(done.stdout))


def data(envelope: Mapping[str, object]) -> dict[str, object]:
    assert envelope["ok"], envelope
    return cast("dict[str, object]", envelope["data"])


def code(envelope: Mapping[str, object]) -> object:
    return cast("dict[str, object]", envelope["error"])["code"]


async def test_two_windows_that_were_set_up_alike_have_one_stick_between_them(
    every_stage: Stage, tmp_path: Path
) -> None:
    window = harness(tmp_path / "bin", "codex")
    async with every_stage.agent("worker", *window) as older, every_stage.agent("worker", *window) as newer:
        await older.join()
        lease = (await older.wait())["lease_id"]
        await newer.join()

        found = await newer.wait()
        stolen = await newer.refused("release_stick", **older.turn, handoff={"status": "mine", "next_action": "none"})
        told = await older.refused("heartbeat", **older.turn)
        kept = await older.call("heartbeat", **older.turn)

    elsewhere = cast("dict[str, object]", found["other_session"])
    assert (found["status"], found["current_owner"], elsewhere["agent_id"]) == ("not_yet", "worker", "worker")
    assert stolen["error"] == "stale_lease"
    assert (told["error"], kept["status"], kept["lease_id"]) == ("session_superseded", "ok", lease)


async def silent_holder(stage: Stage, agent: Agent) -> None:
    """Alive, holding the stick and a folder with unfinished work in it, and not heard of for sixteen minutes."""
    await agent.join()
    await agent.wait()
    await agent.call("agents", op="call", cmd="reservations.reserve", args={"room_id": agent.room_id, "path": "src"})
    (stage.workspace / "src" / "parser.py").write_text("unfinished\n")
    hub = Hub.open(Settings(data_dir=Path(stage.env["TALLYSTICK_DATA_DIR"])))
    with hub.store.write() as rows:
        rows.run(Query(LONG_AGO, LONG_AGO, LONG_AGO))
    hub.close()


async def test_nobody_becomes_a_holder_that_is_silent_and_alive(workspace: Path, tmp_path: Path, revision: str) -> None:
    repository(workspace)
    stage = Stage(env={"TALLYSTICK_DATA_DIR": str(tmp_path / "data")}, workspace=workspace, revision=revision)
    async with stage.agent("", *harness(tmp_path / "bin", "codex")) as holder:
        await silent_holder(stage, holder)

        begun = tally(stage, "init", "--non-interactive", agent="newcomer")
        adopted = tally(stage, "init", "--adopt", holder.agent_id, agent="newcomer")
        waited = tally(stage, "wait", "--timeout", "0s", agent="newcomer")
        kept = await holder.call("heartbeat", **holder.turn)

    assert str(data(begun)["reason"]).startswith("no_unfinished_work")
    assert code(adopted) == "agent_active"
    assert (data(waited)["status"], data(waited)["current_owner"]) == ("not_yet", holder.agent_id)
    assert kept["status"] == "ok"
