"""One session of a real harness is one agent on MCP, in its hooks and in its shell, however it is run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.loopback.model import scripted
from tests.loopback.programs import Home
from tests.loopback.saying import Ask, Say, Saying, Use
from tests.loopback.sessions import LATER, Harness, answers, said, three_surfaces, tool

pytestmark = [pytest.mark.npm, pytest.mark.slow, pytest.mark.timeout(300)]

every_harness = pytest.mark.parametrize("name", ["claude", "codex", "gemini"])


@every_harness
def test_alone_resumed_in_a_worktree_and_under_a_given_name_a_session_is_one_agent(tmp_path: Path, name: str) -> None:
    git = ["git", "-c", "user.name=n", "-c", "user.email=n@example.test"]
    work, beside = tmp_path / "work", tmp_path / "beside"
    work.mkdir()
    for args in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"], ["worktree", "add", "-q", str(beside)]):
        subprocess.run([*git, *args], cwd=work, check=True)
    asked, script = three_surfaces(name, work)
    seen: dict[str, dict[str, str]] = {}
    with scripted(script) as model:
        harness = Harness.ready(name, Home(tmp_path / "home", model), work)

        def run(how: str, **given: object) -> str:
            asked.clear()
            session = harness.run(f"who are you? ({how})", **given)  # pyright: ignore[reportArgumentType]
            seen[how] = said(asked)
            return session

        session = run("exec")
        asked.clear()
        harness.run("and now?", resume=session)
        resumed = asked[-1]
        run("worktree", cwd=beside)
        run("attached", env={"TALLYSTICK_AGENT": "worker"})

    for how, surfaces in seen.items():
        assert len(set(surfaces.values())) == 1, (how, surfaces)
    assert len({surfaces["mcp"] for surfaces in seen.values()}) == 3
    assert seen["attached"]["mcp"] == "worker"
    assert f"Tallystick: you are {seen['exec']['mcp']} in room" in f"{resumed.told}\n{resumed.prompt}"


def test_codexs_sandboxed_shell_is_the_agent_of_its_server(tmp_path: Path) -> None:
    asked, script = three_surfaces("codex", tmp_path / "work")
    with scripted(script) as model:
        Harness.ready("codex", Home(tmp_path / "home", model), tmp_path / "work").run("who are you?", sandboxed=True)

    surfaces = said(asked)
    assert len(set(surfaces.values())) == 1, surfaces


SPAWN = {
    "claude": ("Agent", {"description": "sub", "prompt": "SUBTASK", "subagent_type": "general-purpose"}),
    "codex": ("multi_agent_v1.spawn_agent", {"message": "SUBTASK"}),
}


@pytest.mark.parametrize("name", sorted(SPAWN))
def test_a_subagent_works_in_its_sessions_name_and_never_gets_its_turn(tmp_path: Path, name: str) -> None:
    work = tmp_path / "work"
    turns: dict[str, dict[str, object]] = {}
    told: dict[str, str] = {}

    def script(ask: Ask) -> Saying:
        who = "sub" if "SUBTASK" in ask.prompt and "MAIN" not in ask.prompt else "main"
        if ask.turn > 30:
            return Say(text="enough")
        if not any(each.endswith("join_path") for each in ask.tools):
            return LATER[name]
        done = answers(ask)
        told[who] = f"{told.get(who, '')}{ask.told}{ask.prompt}"
        if not (joined := next((each for each in done if "workspace_root" in each), None)):
            return tool(name, "join_path", context_path=str(work))
        turn = next((each for each in done if each.get("status") in {"your_turn", "not_yet"}), None)
        if turn is None:
            return tool(name, "wait_for_turn", room_id=joined["room_id"], max_wait_ms=0)
        turns.setdefault(who, turn)
        turns.setdefault(f"{who} joined", joined)
        if who == "main" and "sub" not in turns:
            spawned = any("agent_id" in each and "nickname" in each for each in done)
            if not spawned:
                return Use(tool=SPAWN[name][0], given=SPAWN[name][1])
            return Use(tool="exec_command", given={"cmd": "sleep 0.5"})
        return Say(text="Done.")

    with scripted(script) as model:
        Harness.ready(name, Home(tmp_path / "home", model), work).run("MAIN")

    assert turns["main joined"]["agent_id"] == turns["sub joined"]["agent_id"]
    assert turns["main"]["status"] == "your_turn"
    assert (turns["sub"]["status"], "lease_id" in turns["sub"]) == ("not_yet", False)
    assert f"you are a sub-agent of {turns['main joined']['agent_id']}" in told["sub"]
