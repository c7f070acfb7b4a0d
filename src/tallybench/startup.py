"""How long commands take from nothing, in a room of two agents, with and without a hub, and `tally mcp` likewise.

The floor of a command is `tally --help`, the same program that does nothing; of that, Python alone; of `tally mcp`, the
SDK's smallest server.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tallybench import servers
from tallybench.access import environment
from tallybench.engines import Setting, tally
from tallybench.report import Budget, Figure, median
from tallybench.wire import StdioServer

PYTHON = [sys.executable, "-c", "pass"]
SMALLEST_SERVER = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("smallest")


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


server.run("stdio")
"""


COMMANDS = (("state",), ("messages", "inbox"), ("note", "the parser accepts trailing commas now"))
FLOOR = "tally --help"


def measure(setting: Setting) -> Iterator[Figure]:
    alone, served = setting.engine.fresh(), setting.engine.fresh()
    workspace = setting.folder / "workspace"
    workspace.mkdir()
    for settings in (alone, served):
        for agent in ("bench", "other"):
            _run(tally("--as", agent, "join"), workspace, environment(settings))
    with servers.hub(served):
        samples = _timed(setting, _starts(workspace, environment(alone), environment(served)))
    yield _figure(setting, samples, FLOOR, "python -c pass", limit=5)
    for command in COMMANDS:
        yield _figure(setting, samples, f"{_named(command)}, a hub running", FLOOR, limit=3)
    for command in COMMANDS:
        yield _figure(setting, samples, f"{_named(command)}, no hub", FLOOR, limit=8)
    yield _figure(setting, samples, "tally mcp, ready to answer", "the SDK's smallest server", limit=1.2)


def _starts(workspace: Path, alone: Mapping[str, str], served: Mapping[str, str]) -> Mapping[str, Callable[[], float]]:
    """What is started in every round, by its name."""

    def command(arguments: Sequence[str], env: Mapping[str, str]) -> Callable[[], float]:
        return lambda: _run(tally("--as", "bench", *arguments), workspace, env)

    return {
        "python -c pass": lambda: _run(PYTHON, workspace, alone),
        FLOOR: lambda: _run(tally("--help"), workspace, alone),
        **{f"{_named(each)}, a hub running": command(each, served) for each in COMMANDS},
        **{f"{_named(each)}, no hub": command(each, alone) for each in COMMANDS},
        "tally mcp, ready to answer": lambda: _serve(tally("mcp"), alone),
        "the SDK's smallest server": lambda: _serve([sys.executable, "-c", SMALLEST_SERVER], alone),
    }


def _named(command: Sequence[str]) -> str:
    return f"tally {' '.join(command[:2]) if command[0] == 'messages' else command[0]}"


def _timed(setting: Setting, starts: Mapping[str, Callable[[], float]]) -> dict[str, list[float]]:
    """In turns, so that all see the same machine."""
    samples: dict[str, list[float]] = {name: [] for name in starts}
    rounds = setting.pick(15, 1)
    for number in range(1, rounds + 1):
        setting.tell(f"startup: round {number} of {rounds}")
        for name, start in starts.items():
            samples[name].append(start())
    return samples


def _figure(setting: Setting, samples: Mapping[str, list[float]], what: str, against: str, *, limit: float) -> Figure:
    ours, baseline = median(samples[what]), median(samples[against])
    return Figure(
        bench="startup",
        what=what,
        engine=setting.engine.name,
        unit="ms",
        ours=ours,
        baseline=baseline,
        against=against,
        ratio=ours / baseline,
        budgets=(Budget(of="ratio", bound="at most", limit=limit),),
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
