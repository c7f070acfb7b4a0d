"""A room with a manager and runners, for tests about delegated work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from tallystick.capabilities.jobs.model import LONGEST_LEASE_MS
from tests.scene import Actor, Row, Scene

PROOF = "CMD: pytest -q (exit 0)"
SEEN = {"command": "pytest -q", "exit_code": 0}
"""What makes it proof: the runner saw it."""


@dataclass
class Held:
    """A job in somebody's hands."""

    job_id: str
    runner: Runner
    claim_revision: int
    answer: Row

    def _call(self, operation: str, **given: object) -> Row:
        return self.runner.actor.here(
            operation,
            job=self.job_id,
            runner_id=self.runner.runner_id,
            claim_revision=self.claim_revision,
            **given,
        )

    def report(self, message: str = "working", **given: object) -> Row:
        return self._call("jobs.report", message=message, **given)

    def complete(self, status: str = "DONE", **given: object) -> Row:
        """Whoever names the usual receipt has seen it."""
        whole: dict[str, object] = {"refs": [PROOF], **given}
        seen = {"observed": [SEEN]} if status == "DONE" and whole["refs"] == [PROOF] else {}
        return self._call("jobs.complete", status=status, **{**seen, **whole})

    def put(self, key: str, content: str) -> Row:
        return self._call("jobs.artifact.put", artifact_key=key, content=content)


@dataclass
class Runner:
    actor: Actor
    runner_id: str

    def beat(self, **given: object) -> Row:
        facts: dict[str, object] = {"status": "idle", "executors": ["codex", "claude_code"], "max_parallel": 50}
        facts["lease_ttl_ms"] = LONGEST_LEASE_MS
        return cast(
            "Row", self.actor.here("runners.heartbeat", runner_id=self.runner_id, **{**facts, **given})["lease"]
        )

    def try_claim(self, job_id: str | None = None, **given: object) -> Row:
        named: dict[str, object] = {"job": job_id} if job_id else {}
        return self.actor.here("jobs.claim", runner_id=self.runner_id, **named, **given)

    def claim(self, job_id: str | None = None, **given: object) -> Held:
        answer = self.try_claim(job_id, **given)
        assert answer["job"], "nothing to claim"
        return Held(answer["job"]["job_id"], self, answer["claim_revision"], answer)


@dataclass
class Shop:
    """The manager's room."""

    scene: Scene
    boss: Actor

    @classmethod
    def opened(cls, scene: Scene) -> Shop:
        (boss,) = scene.joined("boss")
        return cls(scene, boss)

    def ask(self, operation: str, **given: object) -> Row:
        """What the manager asks about its room."""
        return self.boss.here(operation, **given)

    def runner(self, runner_id: str = "r1", **given: object) -> Runner:
        actor = self.scene.agent(f"agent-of-{runner_id}")
        actor.room_id = self.boss.room_id
        runner = Runner(actor, runner_id)
        runner.beat(**given)
        return runner

    def create(self, title: str = "a job", **given: object) -> Row:
        return cast("Row", self.boss.here("jobs.create", **{"title": title, "prompt": f"do {title}", **given})["job"])

    def open(self, job_id: str, **given: object) -> Row:
        return self.ask("jobs.open", job=job_id, **given)

    def status(self, job_id: str) -> str:
        return self.open(job_id)["job"]["status"]

    def tail(self, job_id: str, **given: object) -> Row:
        return self.ask("jobs.tail", job=job_id, **given)

    def kinds(self, job_id: str) -> list[str]:
        return [event["kind"] for event in self.tail(job_id)["events"]]

    def say(self, job_id: str, message: str, **given: object) -> Row:
        return self.boss.here("jobs.message", job=job_id, message=message, **given)

    def card(self, title: str = "a finding", **given: object) -> str:
        return cast("str", self.boss.here("cards.create", title=title, **given)["card_id"])

    def task(self, title: str = "a task", **given: object) -> str:
        return cast("str", self.boss.here("tasks.create", title=title, **given)["task_id"])


def without(row: Row, *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}
