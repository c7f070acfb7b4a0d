"""One session of a real harness is one agent to our server, in its hooks and in its shell, however it is run."""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, nullcontext
from itertools import product
from pathlib import Path
from typing import TypeAlias, cast

import pytest

from tests.loopback.programs import installed
from tests.loopback.saying import Ask, Give, Say, Saying, Use
from tests.loopback.sessions import WhoAmI, answers, ran, tool, trusted, typed, windows
from tests.loopback.workplace import HARNESSES, STARTING, HarnessHome, hub_for, workplace
from tests.stories.terminals import Recording
from tests.surfaces.cli.place import TALLY
from tests.waiting import until

pytestmark = [pytest.mark.npm, pytest.mark.slow, pytest.mark.timeout(300)]

Seen: TypeAlias = Mapping[str, str]
"""The agent on each surface."""
SURFACES = {"mcp", "hook", "shell"}
SPAWN = {
    "claude": Use(tool="Agent", given={"description": "sub", "prompt": "SUBTASK", "subagent_type": "general-purpose"}),
    "codex": Use(tool="multi_agent_v1.spawn_agent", given={"message": "SUBTASK"}),
}
FAILED = Give(answer={"status": "FAILED", "summary": "I only said who I am", "refs": [], "events": []})


def resumed(place: HarnessHome, model: WhoAmI) -> Seen:
    """The agent that it was when it ran first, which the greeting says again."""
    session = ran(place, "who are you?")
    before = model.said()
    model.anew()
    ran(place, "and now?", resume=session)
    after = model.said()
    assert before == after
    assert "who are you?" in model.asked[-1].prompt, "what was asked first is still known"
    return after


def in_sandbox(place: HarnessHome, model: WhoAmI) -> Seen:
    ran(place, "who are you?", sandboxed=True)
    return model.said()


def in_worktree(place: HarnessHome, model: WhoAmI) -> Seen:
    beside = place.root.parent / "beside"
    git = ["git", "-c", "user.name=n", "-c", "user.email=n@example.test"]
    for args in (["commit", "-q", "--allow-empty", "-m", "x"], ["worktree", "add", "-q", str(beside)]):
        subprocess.run([*git, *args], cwd=place.root, check=True)
    ran(place, "who are you?", cwd=beside)
    return model.said()


def attached(place: HarnessHome, model: WhoAmI) -> Seen:
    trusted(place)
    room_id = str(place.tally("join", agent="boss")["room_id"])
    with hub_for(place):
        argv = [TALLY, "attach", "--name", "worker", "--room", room_id, "--once", "--", str(installed(place.harness))]
        with subprocess.Popen(argv, cwd=place.root, env=place.environ, stderr=subprocess.PIPE, text=True) as worker:
            assert worker.stderr
            assert any("ready" in line for line in worker.stderr)
            place.tally("ask", "worker", "who are you?", agent="boss")
            worker.terminate()
            worker.stderr.read()
    seen = model.said()
    assert seen["shell"] == "worker"
    return seen


def as_runner(place: HarnessHome, model: WhoAmI) -> Seen:
    trusted(place)
    model.ending = FAILED
    place.tally("join", agent="boss")
    executor, flag = {"claude": ("claude_code", "--claude-bin")}.get(
        place.harness, (place.harness, f"--{place.harness}-bin")
    )
    place.tally("jobs", "create", "--title", "who", "--prompt", "who are you?", "--executor", executor, agent="boss")
    program = [flag, str(installed(place.harness))]
    argv = [TALLY, "runner", "--id", "r1", "--once", "--executors", executor, *program, "--max-failures", "1"]
    subprocess.run(argv, cwd=place.root, env=place.environ, check=True, capture_output=True, timeout=120)
    return model.said()


TRIED: Mapping[str, Callable[[HarnessHome, WhoAmI], Seen]] = {
    "resumed": resumed,
    "sandboxed shell": in_sandbox,
    "worktree": in_worktree,
    "attached": attached,
    "runner": as_runner,
}
ELSEWHERE = {
    # The run that is resumed.
    "exec": "test_a_session_is_one_agent_on_every_surface",
    "interactive": "test_two_windows_are_two_agents_with_one_stick_and_a_closed_one_is_gone",
    "sub-agent": "test_a_subagent_works_in_its_sessions_name_and_never_gets_its_turn",
}
CANNOT: Mapping[tuple[str, str], str] = {
    ("claude", "sandboxed shell"): "bubblewrap makes it: tests/harnesses/test_identity.py stands in with unshare",
    ("gemini", "sandboxed shell"): "its sandbox is a container around the whole program, server and hooks too",
    ("gemini", "sub-agent"): "it gives a sub-agent no session of its own and no hook says which one calls",
}


def test_every_way_to_run_a_harness_is_tried_or_says_why_it_cannot_be() -> None:
    assert set(TRIED) | set(ELSEWHERE) == {
        *("exec", "interactive", "resumed", "sub-agent", "sandboxed shell", "worktree", "attached", "runner"),
    }
    assert set(ELSEWHERE.values()) <= set(globals())
    assert set(CANNOT) <= set(product(HARNESSES, (*TRIED, *ELSEWHERE)))


@pytest.mark.parametrize(("harness", "way"), [each for each in product(HARNESSES, TRIED) if each not in CANNOT])
def test_a_session_is_one_agent_on_every_surface(tmp_path: Path, harness: str, way: str) -> None:
    model: WhoAmI | None = None

    def script(ask: Ask) -> Saying:
        assert model
        return model(ask)

    with workplace(tmp_path, harness, script, "--hooks") as (place, _):
        model = WhoAmI(place)
        seen = TRIED[way](place, model)

    assert set(seen) == SURFACES
    assert len(set(seen.values())) == 1, seen


needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


@needs_tmux
@pytest.mark.parametrize(
    ("harness", "served"), [("claude", False), ("gemini", True)], ids=["claude-alone", "gemini-hub"]
)
def test_two_windows_are_two_agents_with_one_stick_and_a_closed_one_is_gone(
    tmp_path: Path, harness: str, served: bool
) -> None:
    with two_windows(tmp_path, harness, served=served) as (place, terminals, said, turns):
        holder = the_one_holder(said, turns)
        terminals.close(WINDOWS.index(holder))
        assert owner_once_gone(place) == said[holder]["mcp"]


@needs_tmux
@pytest.mark.parametrize("served", [False, True], ids=["alone", "hub"])
def test_two_windows_of_one_codex_service_are_two_agents_with_one_stick(tmp_path: Path, served: bool) -> None:
    with two_windows(tmp_path, "codex", served=served) as (place, _, said, turns):
        assert place.tally("state", agent="ann")["owner"] == said[the_one_holder(said, turns)]["mcp"]


@needs_tmux
def test_in_a_window_of_claude_clear_keeps_the_agent_and_the_person_has_status_and_commands(tmp_path: Path) -> None:
    model: WhoAmI | None = None

    def script(ask: Ask) -> Saying:
        assert model
        return model(ask)

    options = ("--hooks", "--allow-tools", "--status-line")
    with workplace(tmp_path, "claude", script, *options) as (place, _):
        model = WhoAmI(place)
        with windows(place, "who are you?") as terminals:

            def typed_in(text: str, done: Callable[[], bool]) -> None:
                """Type it, see it, and press Enter until something comes of it: the first may only complete it."""
                terminals.press(0, text)
                until(lambda: text in terminals.shown(0))
                deadline = time.monotonic() + 60
                while not done():
                    assert time.monotonic() < deadline, terminals.shown(0)
                    terminals.press(0, "Enter")
                    threading.Event().wait(1)

            until(lambda: "That is me." in terminals.shown(0))
            before = model.said()
            until(lambda: "stick: free · mail: 0 · reserved: 0 by me, 0 by others" in terminals.shown(0))
            model.anew()
            typed_in("/clear", lambda: "That is me." not in terminals.shown(0))
            typed_in("and now?", lambda: "That is me." in terminals.shown(0))
            after = model.said()
            model.anew()
            typed_in("/mcp__tally__inbox", lambda: bool(model.asked))
            commanded = model.asked[0].prompt

    assert after == before
    assert 'Read your mail: messages {"op": "inbox"' in commanded


@needs_tmux
@pytest.mark.soak
def test_a_closed_window_of_codex_is_gone_once_its_service_ends_its_server(tmp_path: Path) -> None:
    """A minute later: that is a time of Codex's own."""
    with two_windows(tmp_path, "codex", served=False) as (place, terminals, said, turns):
        holder = the_one_holder(said, turns)
        terminals.close(WINDOWS.index(holder))
        assert owner_once_gone(place) == said[holder]["mcp"]


WINDOWS = ("WINDOW-ONE", "WINDOW-TWO")


def the_one_holder(said: Mapping[str, Seen], turns: Mapping[str, Mapping[str, object]]) -> str:
    """The window with the stick, of two agents of whom each is one on every surface."""
    assert all(set(each) == SURFACES and len(set(each.values())) == 1 for each in said.values()), said
    assert len({each["mcp"] for each in said.values()}) == len(WINDOWS)
    (holder,) = [name for name, turn in turns.items() if turn["status"] == "your_turn"]
    return holder


def owner_once_gone(place: HarnessHome) -> object:
    deadline = time.monotonic() + 120
    while (state := place.tally("state", agent="ann"))["takeover"] != "owner_gone":
        assert time.monotonic() < deadline, state
        threading.Event().wait(0.2)
    return state["owner"]


@contextmanager
def two_windows(
    folder: Path, harness: str, *, served: bool
) -> Generator[tuple[HarnessHome, Recording, Mapping[str, Seen], Mapping[str, Mapping[str, object]]]]:
    """Both have said who they are and asked for the turn; they stay open."""
    models: dict[str, WhoAmI] = {}
    turns: dict[str, dict[str, object]] = {}

    def script(ask: Ask) -> Saying:
        name = next((each for each in models if each in ask.prompt), "")
        if not ask.tools or not name:
            return Say(text="A title")
        said = models[name](ask)
        if not isinstance(said, Say):
            return said
        done = answers(ask.results)
        turn = next((each for each in done if each.get("status") in {"your_turn", "not_yet"}), None)
        if turn is None:
            joined = next(each for each in done if "workspace_root" in each)
            return tool(harness, "wait_for_turn", room_id=joined["room_id"], max_wait_ms=0)
        turns[name] = turn
        return said

    with (
        workplace(folder, harness, script, "--hooks") as (place, _),
        hub_for(place) if served else nullcontext(),
    ):
        place.tally("join", agent="ann")
        models |= {name: WhoAmI(place) for name in WINDOWS}
        with windows(place, *models) as terminals:
            until(lambda: len(turns) == len(models))
            yield place, terminals, {name: model.said() for name, model in models.items()}, turns


@pytest.mark.parametrize("harness", sorted(SPAWN))
def test_a_subagent_works_in_its_sessions_name_and_never_gets_its_turn(tmp_path: Path, harness: str) -> None:
    turns: dict[str, dict[str, object]] = {}
    told: dict[str, str] = {}

    def script(ask: Ask) -> Saying:
        who = "sub" if "SUBTASK" in ask.prompt and "MAIN" not in ask.prompt else "main"
        if ask.turn > 100:
            return Say(text="enough")
        if not any(each.endswith("join_path") for each in ask.tools):
            return STARTING[harness]
        done = answers(ask.results)
        told[who] = f"{told.get(who, '')}{ask.told}{ask.prompt}"
        if not (joined := next((each for each in done if "workspace_root" in each), None)):
            return tool(harness, "join_path", context_path=str(place.root))
        turn = next((each for each in done if each.get("status") in {"your_turn", "not_yet"}), None)
        if turn is None:
            return tool(harness, "wait_for_turn", room_id=joined["room_id"], max_wait_ms=0)
        if not (shell := next((each for each in done if "command" in each), None)):
            return typed(harness, f"{TALLY} --json whoami")
        turns.setdefault(who, turn)
        turns.setdefault(f"{who} joined", joined)
        turns.setdefault(f"{who} typed", cast("dict[str, object]", shell["data"]))
        if who == "main" and "sub" not in turns:
            spawned = any("agent_id" in each and "nickname" in each for each in done)
            return Use(tool="exec_command", given={"cmd": "sleep 0.5"}) if spawned else SPAWN[harness]
        return Say(text="Done.")

    with workplace(tmp_path, harness, script, "--hooks") as (place, _):
        ran(place, "MAIN")

    main = turns["main joined"]["agent_id"]
    assert [turns[f"{who} {how}"]["agent_id"] for who in ("main", "sub") for how in ("joined", "typed")] == [main] * 4
    assert turns["main"]["status"] == "your_turn"
    assert (turns["sub"]["status"], "lease_id" in turns["sub"]) == ("not_yet", False)
    assert f"you are a sub-agent of {main}" in told["sub"]
