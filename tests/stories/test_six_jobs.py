"""Six jobs, two runners and a manager at a terminal: a question, a change of mind, a cancel, a killed runner."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from tallystick.hub.settings import Settings
from tests.runner.shift import DEADLINE, TALLY, Shift
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

# Each title is a part; what a part leaves behind is a file, which is its proof.
WORKER = """
    def leave(text):
        name = f"{job['title']}.txt"
        open(name, "w").write(text)
        end("DONE", text, f"FILE: {name}")
    words = [word["message"] for word in job["manager"]]
    number, prior = job["slice"]["number"], job["prior"]["summary"]
    if job["title"] == "port" and not words:
        held = ["--job", job["job_id"], "--runner-id", os.environ["TALLYSTICK_RUNNER"]]
        held += ["--claim-revision", os.environ["TALLYSTICK_CLAIM_REVISION"], "--room", job["room_id"]]
        ask = ["tally", "jobs", "report", *held, "--kind", "question", "--message", "Which port?"]
        subprocess.run(ask, check=True, stdout=sys.stderr)
        end("CONTINUE", "asked for the port")
    elif job["title"] == "port":
        leave(f"{prior}: {words[-1]}")
    elif job["title"] == "table":
        say(message="dropping the table")
        leave(json.loads(sys.stdin.readline())["message"].partition("@")[2].partition(": ")[2])
    elif job["title"] == "long" and number == 1:
        end("CONTINUE", "half of it, SECRET-STATE-42")
    elif job["title"] == "long" and number == 2:
        say(message="second half begun")
        signal.pause()
    elif job["title"] == "endless":
        say(message="begun")
        signal.pause()
    else:
        leave(f"{prior}; done in slice {number}" if prior else "done")
"""


@pytest.fixture
def shift(common_hub: Path, tmp_path: Path) -> Generator[Shift]:
    with closing(Shift(Settings(data_dir=common_hub), tmp_path)) as shift:
        yield shift


class Manager:
    """Types commands into the room's folder."""

    def __init__(self, shift: Shift) -> None:
        self._shift = shift
        self.env = {**shift.env(), "PATH": f"{Path(TALLY).parent}:/usr/bin:/bin"}

    def type(self, *args: str, code: int = 0) -> str:
        argv = [TALLY, "--as", "boss", *args]
        done = subprocess.run(
            argv, cwd=self._shift.workspace, env=self.env, capture_output=True, text=True, timeout=DEADLINE, check=False
        )
        assert done.returncode == code, (argv, done.stdout, done.stderr)
        return done.stdout

    def create(self, title: str, *more: str) -> str:
        made = json.loads(self.type("--json", "jobs", "create", title, "--prompt", f"Do {title}.", *more))
        return cast("str", made["data"]["job"]["job_id"])

    def job(self, job_id: str) -> dict[str, Any]:
        opened = json.loads(self.type("--json", "jobs", "open", "--job", job_id))
        return cast("dict[str, Any]", opened["data"]["job"])

    def radar(self) -> str:
        return self.type("radar")


def test_six_jobs_come_to_their_ends_whatever_happens_to_their_runners(shift: Shift) -> None:
    manager = Manager(shift)
    port = manager.create("port")
    table = manager.create("table")
    long = manager.create("long")
    endless = manager.create("endless")
    both = manager.create("both", "--after", port, "--after", table)
    last = manager.create("last", "--after", long)
    assert f"waits for {port}, {table}" in manager.radar()

    options = ("--max-parallel", "3", "--stdin-notes")
    first = shift.runner(WORKER, *options, runner_id="r1", env=manager.env)
    second = shift.runner(WORKER, *options, runner_id="r2", env=manager.env)
    with first as r1, second as r2:
        until(lambda: f"? {port} (QUEUED) port" in manager.radar())
        assert f"{port} asks: Which port?" in r1.said + r2.said
        manager.type("radar", "--reply", port, "8080")
        manager.type("jobs", "wait", "--job", port, "--max-wait-ms", "30000")

        shift.until_told(table, "dropping the table")
        manager.type("jobs", "message", "--job", table, "--message", "Stop, rename it instead.")
        manager.type("jobs", "wait", "--job", table, "--max-wait-ms", "30000")
        manager.type("jobs", "wait", "--job", both, "--max-wait-ms", "30000")

        shift.until_told(endless, "begun")
        manager.type("jobs", "cancel", "--job", endless, "--force-running", "--reason", "enough")
        manager.type("jobs", "wait", "--job", endless, code=4)

        shift.until_told(long, "second half begun")
        {"r1": r1, "r2": r2}[manager.job(long)["runner"]].signal(signal.SIGKILL)
        manager.type("jobs", "wait", "--job", last, "--max-wait-ms", "30000")

    files = {path.stem: path.read_text() for path in shift.workspace.glob("*.txt")}
    assert files == {
        "port": "asked for the port: 8080",
        "table": "Stop, rename it instead.",
        "both": "done",
        "long": "half of it, SECRET-STATE-42; done in slice 3",
        "last": "done",
    }
    ends = {job_id: manager.job(job_id) for job_id in (port, table, long, endless, both, last)}
    assert {job_id: job["status"] for job_id, job in ends.items()} == {
        **dict.fromkeys((port, table, long, both, last), "DONE"),
        endless: "CANCELED",
    }
    assert [ends[job_id]["message_state"] for job_id in (port, table)] == ["read", "read"]
    assert (ends[table]["slices"], ends[long]["slices"]) == (1, 3)
    assert "count=0" in manager.radar()
    report = manager.type("tasks", "macro", "merge-report", *(f"--jobs={job_id}" for job_id in ends))
    assert f"{long} (DONE)" in report
    assert f"{endless} (CANCELED)" in report
