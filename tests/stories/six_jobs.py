"""The story of six jobs, whoever plays the agents: what the manager types, what happens to the runners, how it ends.

Two of the jobs change one file in worktrees of their own; what the others leave behind is a file of their name.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tallystick.hub.settings import Settings
from tests.runner.shift import DEADLINE, TALLY, Runner, Shift
from tests.waiting import until

TITLES = ("port", "table", "long", "endless", "both", "last")
SHARED = "config.txt"
SECRET = "half of it, SECRET-STATE-42"
INSTEAD = "Stop, rename it instead."
PATIENCE_MS = int(DEADLINE * 1000)


class Manager:
    """Types commands into the room's folder."""

    def __init__(self, shift: Shift) -> None:
        self._shift = shift
        self.env = {**shift.env(), "PATH": f"{Path(TALLY).parent}:/usr/bin:/bin"}

    def type(self, *args: str, code: int = 0) -> str:
        argv = [TALLY, "--as", "boss", *args]
        # Longer than a command itself waits: what has not come by then it says, and is not killed over it.
        limit = 2 * DEADLINE
        done = subprocess.run(
            argv, cwd=self._shift.workspace, env=self.env, capture_output=True, text=True, timeout=limit, check=False
        )
        assert done.returncode == code, (argv, done.stdout, done.stderr)
        return done.stdout

    def create(self, title: str, *more: str) -> str:
        made = json.loads(self.type("--json", "jobs", "create", title, "--prompt", f"Do {title}.", *more))
        return cast("str", made["data"]["job"]["job_id"])

    def opened(self, job_id: str) -> dict[str, Any]:
        return cast("dict[str, Any]", json.loads(self.type("--json", "jobs", "open", "--job", job_id))["data"])

    def job(self, job_id: str) -> dict[str, Any]:
        return cast("dict[str, Any]", self.opened(job_id)["job"])

    def waits_for(self, job_id: str, code: int = 0) -> None:
        self.type("jobs", "wait", "--job", job_id, "--max-wait-ms", str(PATIENCE_MS), code=code)

    def radar(self) -> str:
        return self.type("radar")


@contextmanager
def shop(data_dir: Path, folder: Path) -> Generator[Shift]:
    """A repository with one commit, and a room for it that takes evidence and nothing else."""
    with closing(Shift(Settings(data_dir=data_dir), folder)) as shift:
        shift.takes("evidence")
        (shift.workspace / SHARED).write_text("nothing\n")
        for args in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
            git = ["git", "-c", "user.name=n", "-c", "user.email=n@example.test", *args]
            subprocess.run(git, cwd=shift.workspace, check=True)
        yield shift


@dataclass(frozen=True, slots=True)
class Story:
    shift: Shift
    manager: Manager
    ids: Mapping[str, str]

    @classmethod
    def begun(cls, shift: Shift, executors: Mapping[str, str]) -> Story:
        """Six jobs are delegated, before anybody is there to do them."""
        manager, ids = Manager(shift), dict[str, str]()
        after = {"both": ("port", "table"), "last": ("long",)}
        for title in TITLES:
            more = [word for earlier in after.get(title, ()) for word in ("--after", ids[earlier])]
            if title in {"port", "table"}:
                more += ["--meta", '{"worktree": true}']
            if title in executors:
                more += ["--executor", executors[title]]
            ids[title] = manager.create(title, *more)
        radar = manager.radar()
        assert f"(QUEUED) both | `tally --as boss open {ids['both']}@" in radar
        assert f"waits for {ids['port']}, {ids['table']}" in radar
        assert "no runner is there" in radar
        return cls(shift, manager, ids)

    def played(self, runners: Mapping[str, Runner]) -> None:
        """What the manager does while two runners work."""
        ids, manager = self.ids, self.manager
        until(lambda: f"? {ids['port']} (QUEUED) port" in manager.radar())
        until(lambda: any(f"{ids['port']} asks: Which port?" in runner.said for runner in runners.values()))
        manager.type("radar", "--reply", ids["port"], "8080")
        manager.waits_for(ids["port"])

        self.shift.until_told(ids["table"], "slice 1 started")
        manager.type("jobs", "message", "--job", ids["table"], "--message", INSTEAD)
        manager.waits_for(ids["table"])
        manager.waits_for(ids["both"])

        self.shift.until_told(ids["endless"], "slice 1 started")
        manager.type("jobs", "cancel", "--job", ids["endless"], "--force-running", "--reason", "enough")
        manager.waits_for(ids["endless"], code=4)

        self.shift.until_told(ids["long"], "slice 2 started")
        runners[manager.job(ids["long"])["runner"]].signal(signal.SIGKILL)
        manager.waits_for(ids["last"])

    def ended_well(self) -> None:
        """What became of the jobs, in the folder and on their record."""
        ids, manager = self.ids, self.manager
        files = {path.stem: path.read_text().strip() for path in self.shift.workspace.glob("*.txt")}
        assert files == {"config": "nothing", "both": "done", "long": "done after SECRET-STATE-42", "last": "done"}
        ends = {title: manager.opened(job_id) for title, job_id in ids.items()}
        assert {title: end["job"]["status"] for title, end in ends.items()} == {
            **dict.fromkeys(TITLES, "DONE"),
            "endless": "CANCELED",
        }
        assert {title: ends[title]["job"]["message_state"] for title in ("port", "table")} == {
            "port": "read",
            "table": "read",
        }
        # It was told inside its one slice; the killed runner's slice counts, and so does the one without proof.
        assert {title: ends[title]["job"]["slices"] for title in ("table", "long", "both", "last")} == {
            "table": 1,
            "long": 3,
            "both": 2,
            "last": 1,
        }
        assert ends["table"]["job"]["summary"].startswith("renamed it")
        assert [each["kind"] for each in self.shift.events(ids["both"])].count("proof_gate") == 1
        assert "reclaimed" in [each["kind"] for each in self.shift.events(ids["long"])]
        proofs = {title: end["evidence"] for title, end in ends.items() if title != "endless"}
        assert all([(one["state"], one["proves"]) for one in proof] == [("found", True)] for proof in proofs.values())
        assert self.conflict(ends["table"]) == (self.branch("port"), [SHARED])

    def branch(self, title: str) -> str:
        return f"tally/{self.ids[title].lower()}-{self.shift.room_id[-8:]}"

    def conflict(self, opened: dict[str, Any]) -> tuple[str, list[str]]:
        (found,) = opened["branch"]["conflicts"]
        return found["branch"], found["paths"]

    def reported(self) -> None:
        """The radar and the merge report tell it as it was."""
        ids, radar = self.ids, self.manager.radar()
        assert "count=0" in radar
        named = [word for job_id in ids.values() for word in ("--jobs", job_id)]
        lines = self.manager.type("tasks", "macro", "merge-report", *named).splitlines()
        told = "\n".join(line.strip() for line in lines)
        changed, observed, claimed, branches, _, risks, _ = told.partition("## What changed")[2].split("\n## ")
        assert f"- {ids['long']} (DONE)" in changed
        assert f"- {ids['endless']} (CANCELED)" in changed
        assert [line.partition(" (found, sha256 ")[0] for line in observed.splitlines()[1:] if line] == [
            f"- {ids['port']} FILE: {SHARED}",
            f"- {ids['table']} FILE: {SHARED}",
            f"- {ids['long']} FILE: long.txt",
            f"- {ids['both']} FILE: both.txt",
            f"- {ids['last']} FILE: last.txt",
        ]
        assert claimed.strip() == "What was claimed\n- none"
        assert f"- {ids['table']} {self.branch('table')} from main: 1 files, +1 -1, 1 commits" in branches
        clash = f"conflicts with {self.branch('port')} in {SHARED}"
        assert clash in branches
        assert f"- {ids['table']} {self.branch('table')} {clash}" in risks
        assert f"- {ids['endless']} is CANCELED" in risks
        assert f"{ids['port']} has no proof" not in risks
