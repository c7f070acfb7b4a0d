"""How long a hook holds up an edit, against its floor: `tally --help`, the same program that does nothing.

The hooks run below a process that is taken for a harness, since most of them go by what its first one has left behind.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, cast

from tallystick.bench.doors import environment
from tallystick.bench.figures import Budget, Figure, median
from tallystick.bench.setting import Setting, tally

FLOOR = "tally --help"
LIMIT = 2.0
HARNESS = """
import json, subprocess, sys, time

for line in sys.stdin:
    argv, given = json.loads(line)
    started = time.perf_counter()
    done = subprocess.run(argv, input=given.encode(), capture_output=True)
    print(json.dumps([(time.perf_counter() - started) * 1000, done.returncode]), flush=True)
"""


def measure(setting: Setting) -> Iterator[Figure]:
    env = environment(setting.engine.fresh())
    workspace = setting.folder / "hooked"
    (workspace / ".git").mkdir(parents=True)
    (workspace / ".git" / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    _reserve(workspace, "theirs.py", env)
    hook = tally("hook", "claude", "PreToolUse")
    calls = {
        FLOOR: (tally("--help"), ""),
        "an edit": (hook, _event(workspace, "Write", file_path=str(workspace / "free.py"))),
        "an edit by a shell command": (hook, _event(workspace, "Bash", command="sed -i s/a/b/ free.py > free.log")),
        "an edit that is denied": (hook, _event(workspace, "Write", file_path=str(workspace / "theirs.py"))),
    }
    samples = _timed(setting, calls, env)
    floor = median(samples[FLOOR])
    for name in list(calls)[1:]:
        ours = median(samples[name])
        # Only what stands before every edit has a budget; whoever is denied has something to read anyway.
        budgets = () if "denied" in name else (Budget(of="ratio", bound="at most", limit=LIMIT),)
        yield Figure(
            bench="hook",
            what=name,
            engine=setting.engine.name,
            unit="ms",
            ours=ours,
            baseline=floor,
            against=FLOOR,
            ratio=ours / floor,
            budgets=budgets,
        )


def _timed(
    setting: Setting, calls: Mapping[str, tuple[list[str], str]], env: Mapping[str, str]
) -> dict[str, list[float]]:
    harness = setting.folder / "claude"
    harness.write_text(HARNESS, "utf-8")
    samples: dict[str, list[float]] = {name: [] for name in calls}
    rounds = setting.pick(20, 1)
    with subprocess.Popen(
        [sys.executable, str(harness)], env=dict(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        ask, answers = cast("IO[str]", process.stdin), cast("IO[str]", process.stdout)
        for number in range(rounds + 1):
            setting.tell(f"hook: round {number} of {rounds}")
            for name, call in calls.items():
                print(json.dumps(call), file=ask, flush=True)
                took, code = cast("tuple[float, int]", json.loads(answers.readline()))
                if code != (2 if "denied" in name else 0):
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
