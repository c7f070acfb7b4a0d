"""Stands in for systemctl and launchctl: reads the file that was written, and runs what it says."""

from __future__ import annotations

import os
import plistlib
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import cast

HOME = Path(os.environ["HOME"])
UNIT = HOME / ".config/systemd/user/tallystick.service"
PIDS = HOME.parent / "service.pid"


def start(argv: list[str], environ: Mapping[str, str], log: str) -> None:
    stop()
    # At login there is no shell: only what the file says.
    with Path(log).open("ab") as complaints:
        process = subprocess.Popen(
            argv,
            env={"HOME": str(HOME), **environ},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            start_new_session=True,
        )
    PIDS.write_text(str(process.pid))


def stop() -> None:
    with suppress(FileNotFoundError, ProcessLookupError):
        pid = int(PIDS.read_text())
        os.kill(pid, signal.SIGTERM)
        PIDS.unlink()
        while Path(f"/proc/{pid}").exists():
            time.sleep(0.05)


def _pair(line: str) -> tuple[str, str]:
    name, _, value = line.partition("=")
    return name, value


def of_unit(text: str) -> None:
    rows = [_pair(line) for line in text.splitlines() if "=" in line]
    words = [shlex.split(value)[0].replace("%%", "%") for name, value in rows if name == "Environment"]
    values = dict(rows)
    argv = [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(values["ExecStart"])]
    log = values["StandardError"].removeprefix("append:").replace("%%", "%")
    start(argv, dict(map(_pair, words)), log)


def of_plist(found: Mapping[str, object]) -> None:
    argv = cast("list[str]", found["ProgramArguments"])
    start(argv, cast("dict[str, str]", found["EnvironmentVariables"]), str(found["StandardErrorPath"]))


def main(program: str, *words: str) -> int:
    if failure := os.environ.get("TALLY_TEST_MANAGER_FAILS"):
        sys.stderr.write(f"{failure}\n")
        return 1
    if program == "systemctl" and "restart" in words:
        of_unit(UNIT.read_text())
    elif program == "launchctl" and words[0] == "bootstrap":
        of_plist(plistlib.loads(Path(words[-1]).read_bytes()))
    elif "disable" in words or "bootout" in words:
        stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
