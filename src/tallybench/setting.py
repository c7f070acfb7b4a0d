"""What every bench is given: stores to measure on, how long to take over it, and somebody to tell about progress."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tallybench.engines import Engine
from tallystick.harnesses import processes
from tallystick.kernel.caller import Caller, SessionKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    engine: Engine
    folder: Path
    quick: bool
    tell: Callable[[str], None]

    def pick(self, full: int, quick: int) -> int:
        """A number of repeats or a size; the quick one only shows that the bench works."""
        return quick if self.quick else full


def agent(name: str, pid: int) -> Caller:
    """An agent with a process behind it, as a harness's MCP server would name it."""
    return Caller(agent_id=name, session=SessionKind.MCP_HARNESS, process=processes.facts(pid))


def tally(*arguments: str) -> list[str]:
    """The command that a user's shell would start; the module where the script is not installed beside this Python."""
    script = Path(sys.executable).with_name("tally")
    start = [str(script)] if script.is_file() else [sys.executable, "-m", "tallystick.surfaces.cli.main"]
    return [*start, *arguments]
