"""A hub that is told to starts `tally runner` where jobs wait, ends it with itself, and starts nothing unasked."""

from __future__ import annotations

import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tallystick.server import run
from tallystick.server.run import BACKOFF_S, Autostart
from tests.runner.shift import TALLY, Shift
from tests.surfaces.hubs import RunningHub, hub
from tests.waiting import until

DONE = "end('DONE', f'in {os.getcwd()}', 'CMD: count (exit 0)')"


@contextmanager
def started(shift: Shift, **more: str) -> Generator[RunningHub]:
    command = shift.program(DONE)
    with hub({**shift.env(), "TALLYSTICK_RUNNER_COMMAND": command, **more}) as running:
        yield running


def children(pid: int) -> list[str]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [Path(f"/proc/{child}/cmdline").read_text() for child in found]


def test_a_job_that_nobody_would_run_is_run_and_the_runner_ends_with_the_hub(lone_shift: Shift) -> None:
    job_id = lone_shift.create()
    with started(lone_shift, TALLYSTICK_RUNNER_AUTOSTART="1") as running:
        job = lone_shift.ended(job_id)
        (runner,) = lone_shift.here("runners.list")["runners"]

        running.stop()

    assert (job["status"], job["summary"]) == ("DONE", f"in {lone_shift.workspace}")
    until(lambda: lone_shift.here("runners.list")["runners"][0]["state"] == "offline")
    assert "serves room" in (lone_shift.settings.data_dir / "runner.log").read_text()
    assert runner["executors"] == ["command"]


def test_a_hub_that_starts_runners_tells_nobody_to_start_one(lone_shift: Shift) -> None:
    """No runner can start here, so that the radar would go on saying so."""
    lone_shift.create()

    def radar() -> str:
        argv = [TALLY, "radar", "--room", lone_shift.room_id]
        return subprocess.run(argv, env=lone_shift.env(), capture_output=True, text=True, check=True).stdout

    command = f"CMD: tally runner --room {lone_shift.room_id}"
    with started(lone_shift, TALLYSTICK_RUNNER_COMMAND="no-such-program"):
        assert command in radar()
    with started(lone_shift, TALLYSTICK_RUNNER_AUTOSTART="1", TALLYSTICK_RUNNER_COMMAND="no-such-program"):
        shown = radar()
    assert "runner=offline" in shown
    assert command not in shown


@pytest.mark.parametrize(
    ("flag", "environ", "expected"),
    [
        (None, {}, False),
        (None, {"TALLYSTICK_RUNNER_AUTOSTART": "1"}, True),
        (None, {"TALLYSTICK_RUNNER_AUTOSTART": "0"}, False),
        (False, {"TALLYSTICK_RUNNER_AUTOSTART": "1"}, False),
        (True, {"TALLYSTICK_RUNNER_AUTOSTART": "0"}, True),
    ],
)
def test_the_flag_goes_before_the_variable_and_unasked_nothing_is_started(
    monkeypatch: pytest.MonkeyPatch, flag: bool | None, environ: Mapping[str, str], expected: bool
) -> None:
    monkeypatch.delenv(run.AUTOSTART_VARIABLE, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)

    assert run.autostart_wanted(flag) is expected


def test_a_hub_that_was_not_asked_starts_nothing(lone_shift: Shift) -> None:
    lone_shift.create()

    with started(lone_shift) as running:
        assert children(running.process.pid) == []
    assert not (lone_shift.settings.data_dir / "runner.log").exists()


def test_a_runner_that_cannot_start_is_tried_again_only_after_a_while(
    lone_shift: Shift, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TALLYSTICK_RUNNER_COMMAND", "no-such-program")
    lone_shift.create()
    now = 100.0
    runners = Autostart(lone_shift.hub, lone_shift.settings.data_dir, clock=lambda: now)
    log = lone_shift.settings.data_dir / "runner.log"

    runners.look()
    until(lambda: "no-such-program" in log.read_text())
    runners.close()
    now += BACKOFF_S - 1
    runners.look()
    assert log.read_text().count("error:") == 1
    now += 1
    runners.look()
    runners.close()


def test_a_room_whose_runner_is_there_or_whose_jobs_wait_for_others_gets_none(lone_shift: Shift) -> None:
    first = lone_shift.create()
    lone_shift.create(after=[first])
    lone_shift.here("runners.heartbeat", runner_id="r1", status="idle")
    runners = Autostart(lone_shift.hub, lone_shift.settings.data_dir)

    runners.look()
    runners.close()

    assert not (lone_shift.settings.data_dir / "runner.log").exists()
