"""How long a hook holds up an edit, against its floor: `tally --help`, the same program that does nothing.

The hooks run below a process that is taken for a harness, since most of them go by what its first one has left behind.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from tallybench import servers
from tallybench.access import environment
from tallybench.engines import Setting, tally
from tallybench.report import Budget, Figure, median

FLOOR = "tally --help"
DENIED = 2
"""How a hook ends that keeps an edit from being made."""
HARNESS = """
import json, subprocess, sys, time

for line in sys.stdin:
    argv, given, env = json.loads(line)
    started = time.perf_counter()
    done = subprocess.run(argv, input=given.encode(), env=env, capture_output=True)
    print(json.dumps([(time.perf_counter() - started) * 1000, done.returncode]), flush=True)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooked:
    """A program that a harness waits for."""

    argv: list[str]
    env: Mapping[str, str]
    given: str = ""
    code: int = 0
    limit: float | None = None
    """At most so often the floor."""


def measure(setting: Setting) -> Iterator[Figure]:
    alone, served = setting.engine.fresh(), setting.engine.fresh()
    workspace = setting.folder / "hooked"
    (workspace / ".git").mkdir(parents=True)
    (workspace / ".git" / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    for settings in (alone, served):
        _reserve(workspace, "theirs.py", environment(settings))
    hook = tally("hook", "claude", "PreToolUse")
    denied = _event(workspace, "Write", file_path=str(workspace / "theirs.py"))
    shell = _event(workspace, "Bash", command="sed -i s/a/b/ free.py > free.log")
    env = environment(alone)
    calls = {
        FLOOR: Hooked(argv=tally("--help"), env=env),
        "an edit": Hooked(
            argv=hook, env=env, given=_event(workspace, "Write", file_path=str(workspace / "free.py")), limit=2
        ),
        "an edit by a shell command": Hooked(argv=hook, env=env, given=shell, limit=2),
        "an edit that is denied, no hub": Hooked(argv=hook, env=env, given=denied, code=DENIED),
        "an edit that is denied, a hub running": Hooked(
            argv=hook, env=environment(served), given=denied, code=DENIED, limit=3
        ),
    }
    with servers.hub(served):
        samples = _timed(setting, calls)
    floor = median(samples[FLOOR])
    for name, call in list(calls.items())[1:]:
        ours = median(samples[name])
        yield Figure(
            bench="hook",
            what=name,
            engine=setting.engine.name,
            unit="ms",
            ours=ours,
            baseline=floor,
            against=FLOOR,
            ratio=ours / floor,
            budgets=(Budget(of="ratio", bound="at most", limit=call.limit),) if call.limit else (),
        )


def _timed(setting: Setting, calls: Mapping[str, Hooked]) -> dict[str, list[float]]:
    harness = setting.folder / "claude"
    harness.write_text(HARNESS, "utf-8")
    samples: dict[str, list[float]] = {name: [] for name in calls}
    rounds = setting.pick(20, 1)
    with subprocess.Popen(
        [sys.executable, str(harness)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        ask, answers = cast("IO[str]", process.stdin), cast("IO[str]", process.stdout)
        for number in range(rounds + 1):
            setting.tell(f"hook: round {number} of {rounds}")
            for name, call in calls.items():
                print(json.dumps([call.argv, call.given, call.env]), file=ask, flush=True)
                took, code = cast("tuple[float, int]", json.loads(answers.readline()))
                if code != call.code:
                    raise RuntimeError(f"the hook for {name} ended with {code}")
                # The first round goes the long way and leaves the stamp that the others go by.
                samples[name] += [took] if number else []
        ask.close()
    return samples


def _event(workspace: Path, tool: str, **given: str) -> str:
    return json.dumps({"session_id": "bench", "cwd": str(workspace), "tool_name": tool, "tool_input": given})


def _reserve(workspace: Path, path: str, env: Mapping[str, str]) -> None:
    joined = _call("rooms.join", {"context_path": str(workspace)}, env)
    _call("reservations.reserve", {"room_id": joined["room_id"], "path": path}, env)


def _call(operation: str, given: Mapping[str, object], env: Mapping[str, str]) -> dict[str, object]:
    command = tally("--json", "--as", "other", "call", operation, "--input", json.dumps(given))
    done = subprocess.run(command, env=dict(env), check=True, capture_output=True)
    return cast("dict[str, object]", json.loads(done.stdout)["data"])
