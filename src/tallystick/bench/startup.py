"""How long commands take from nothing, against Python alone, and `tally mcp` against the SDK's smallest server."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tallystick.bench.doors import environment
from tallystick.bench.figures import Budget, Figure, median
from tallystick.bench.setting import Setting, tally
from tallystick.bench.wire import StdioServer

PYTHON = [sys.executable, "-c", "pass"]
SMALLEST_SERVER = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("smallest")


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


server.run("stdio")
"""


def measure(setting: Setting) -> Iterator[Figure]:
    settings = setting.engine.fresh()
    env = environment(settings)
    workspace = setting.folder / "workspace"
    workspace.mkdir()
    subprocess.run(tally("--as", "bench", "join"), cwd=workspace, env=env, check=True, stdout=subprocess.DEVNULL)
    starts: Mapping[str, Callable[[], float]] = {
        "python -c pass": lambda: _run(PYTHON, workspace, env),
        "tally --help": lambda: _run(tally("--help"), workspace, env),
        "tally state": lambda: _run(tally("state"), workspace, env),
        "tally mcp": lambda: _serve(tally("mcp"), env),
        "the SDK's smallest server": lambda: _serve([sys.executable, "-c", SMALLEST_SERVER], env),
    }
    samples: dict[str, list[float]] = {name: [] for name in starts}
    rounds = setting.pick(15, 1)
    for number in range(1, rounds + 1):
        setting.tell(f"startup: round {number} of {rounds}")
        for name, start in starts.items():
            samples[name].append(start())
    yield _figure(setting, samples, "tally --help", "python -c pass", limit=5)
    yield _figure(setting, samples, "tally state", "python -c pass")
    yield _figure(setting, samples, "tally mcp", "the SDK's smallest server", limit=1.2)


def _figure(
    setting: Setting, samples: Mapping[str, list[float]], what: str, against: str, *, limit: float | None = None
) -> Figure:
    ours, baseline = median(samples[what]), median(samples[against])
    return Figure(
        bench="startup",
        what=f"{what}, ready to answer" if what == "tally mcp" else what,
        engine=setting.engine.name,
        unit="ms",
        ours=ours,
        baseline=baseline,
        against=against,
        ratio=ours / baseline,
        budgets=(Budget(of="ratio", bound="at most", limit=limit),) if limit else (),
    )


def _run(command: list[str], folder: Path, env: Mapping[str, str]) -> float:
    """From the start of a command to its end, in ms."""
    started = time.perf_counter()
    subprocess.run(command, cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - started) * 1000


def _serve(command: list[str], env: Mapping[str, str]) -> float:
    """From the start of an MCP server to its answer to `initialize`, in ms."""
    started = time.perf_counter()
    with StdioServer(command, env) as server:
        server.initialize()
        took = time.perf_counter() - started
    return took * 1000
