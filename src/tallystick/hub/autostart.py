"""Starting a runner where jobs wait and nobody runs them: the one program a hub may start, and only when told to."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tallystick.capabilities.jobs import queries as jobs
from tallystick.capabilities.rooms import queries as rooms
from tallystick.hub.hub import Hub

VARIABLE = "TALLYSTICK_RUNNER_AUTOSTART"
BACKOFF_S = 30.0
"""A room whose runner ended gets no other for so long; one that cannot start is not started all the time."""
LEAVE_S = 10.0
RUNNER = (sys.executable, "-m", "tallystick.surfaces.cli.main", "runner")

log = logging.getLogger("tallystick.autostart")


class Autostart:
    def __init__(self, hub: Hub, data_dir: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._hub, self._data_dir, self._clock = hub, data_dir, clock
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._tried: dict[str, float] = {}

    def look(self) -> None:
        """Start a runner for every room that needs one."""
        for room_id, root in self._unattended():
            process, tried = self._running.get(room_id), self._tried.get(room_id)
            if process and process.poll() is None:
                continue
            if tried is None or self._clock() - tried >= BACKOFF_S:
                self._tried[room_id] = self._clock()
                self._running[room_id] = self._start(room_id, root)

    def close(self) -> None:
        """What the hub started ends with it, and hands its jobs back."""
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            try:
                process.wait(LEAVE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _unattended(self) -> Sequence[tuple[str, str]]:
        """Rooms with jobs and without a runner, each with its folder on this machine."""
        with self._hub.reading() as tx:
            found = [
                (room_id, scope.root)
                for room_id in jobs.unattended(tx)
                for scope in rooms.scopes(tx, room_id)[:1]
                if scope.machine_id == tx.world.machine_id
            ]
        return [(room_id, root) for room_id, root in found if Path(root).is_dir()]

    def _start(self, room_id: str, root: str) -> subprocess.Popen[bytes]:
        log.info("starting a runner for room %s in %s", room_id, root)
        with (self._data_dir / "runner.log").open("ab") as said:
            return subprocess.Popen(
                [*RUNNER, "--room", room_id, "--cwd", root],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                cwd=root,
                env={**os.environ, "TALLYSTICK_DATA_DIR": str(self._data_dir)},
                start_new_session=True,
            )


def wanted(flag: bool | None) -> bool:
    """Whether to start runners: the flag says, else the variable; unasked, nothing is started."""
    return flag if flag is not None else os.environ.get(VARIABLE, "") not in {"", "0"}
