"""A hub in a process of its own, as `tally up` starts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TALLY = str(Path(sys.executable).with_name("tally"))


@dataclass
class RunningHub:
    process: subprocess.Popen[str]
    env: Mapping[str, str]

    def stop(self) -> int:
        """As `tally down` does it."""
        self.process.terminate()
        return self.process.wait()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@contextmanager
def hub(env: Mapping[str, str], *options: str) -> Generator[RunningHub]:
    """Started by whoever has this environment; it takes requests once this is entered."""
    with subprocess.Popen(
        [TALLY, "up", "--port", "0", *options], env={**_bare(), **env}, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        for line in process.stdout:
            if line.startswith("Ctrl-C"):
                break
        else:
            raise AssertionError("the hub did not start")
        try:
            yield RunningHub(process, env)
        finally:
            process.kill()


def _bare() -> dict[str, str]:
    kept = ("PATH", "HOME", "LANG", "TMPDIR")
    return {name: value for name, value in os.environ.items() if name in kept}
