"""The front of the queue, kept from one claim to the next, is always what the tables say."""

from __future__ import annotations

import random

import pytest

from tallystick.capabilities.jobs import queue
from tallystick.capabilities.jobs.model import Job
from tallystick.hub.hub import Hub
from tallystick.kernel.errors import Refused
from tests.jobs.shop import Held, Runner, Shop


def in_line(hub: Hub, room_id: str) -> list[Job]:
    with hub.writing() as tx:
        tx.lock(room_id)
        return list(queue.ready(tx, room_id))


@pytest.fixture
def short_front(monkeypatch: pytest.MonkeyPatch) -> None:
    """So few are kept and read at once that a dozen jobs meet every bound."""
    monkeypatch.setattr(queue, "AT_ONCE", 2)
    monkeypatch.setattr(queue, "KEPT", 3)


class Day:
    """What happens to a queue, at random."""

    def __init__(self, shop: Shop, seed: int) -> None:
        self._shop, self._dice = shop, random.Random(seed)
        self._runner = shop.runner()
        self._made: list[str] = []
        self._held: list[Held] = []

    def goes_on(self) -> None:
        happens = self._dice.choice([self._create, self._create, self._claim, self._claim, self._end, self._again])
        happens()

    def _create(self) -> None:
        after = [self._dice.choice(self._made)] if self._made and self._dice.random() < 0.4 else []
        priority = self._dice.choice(["LOW", "MEDIUM", "HIGH"])
        self._made.append(self._shop.create(executor="codex", priority=priority, after=after)["job_id"])

    def _claim(self) -> None:
        if in_line(self._shop.scene.hub, self._shop.boss.room_id):
            self._held.append(self._runner.claim())

    def _end(self) -> None:
        if self._held:
            held = self._held.pop(self._dice.randrange(len(self._held)))
            held.report(kind="checkpoint")
            held.complete(self._dice.choice(["DONE", "DONE", "FAILED"]))

    def _again(self) -> None:
        for job_id in self._dice.sample(self._made, min(2, len(self._made))):
            if self._shop.status(job_id) in {"DONE", "FAILED", "CANCELED"}:
                self._shop.ask("jobs.requeue", job=job_id)
                return
            if self._shop.status(job_id) == "QUEUED" and self._dice.random() < 0.3:
                self._shop.ask("jobs.cancel", job=job_id)
                return


@pytest.mark.usefixtures("short_front")
@pytest.mark.parametrize("seed", range(4))
def test_the_kept_front_is_what_a_hub_that_knows_nothing_reads(shop: Shop, seed: int) -> None:
    day, room_id = Day(shop, seed), shop.boss.room_id
    for _ in range(60):
        day.goes_on()
        stranger = Hub(shop.scene.store, clock=shop.scene.clock, machine_id="test-machine")

        assert in_line(shop.scene.hub, room_id) == in_line(stranger, room_id)


def test_a_job_that_joins_in_front_is_claimed_first_and_brings_its_prompt(shop: Shop) -> None:
    runner: Runner = shop.runner()
    for title in ("one", "two"):
        shop.create(title, executor="codex", priority="LOW")
    runner.claim()
    urgent = shop.create("urgent", executor="codex", priority="HIGH")

    held = runner.claim()

    assert (held.job_id, held.answer["prompt"]) == (urgent["job_id"], "do urgent")


def test_a_prompt_too_long_to_be_read_along_is_given_whole(shop: Shop) -> None:
    runner, prompt = shop.runner(), "x" * (queue.SHORT + 1)
    shop.create("short", executor="codex")
    shop.create("long", executor="codex", prompt=prompt)

    assert [runner.claim().answer["prompt"] for _ in range(2)] == ["do short", prompt]


def test_a_claim_that_is_refused_leaves_its_job_in_line(shop: Shop) -> None:
    made = shop.create(executor="codex")
    shop.runner("busy", max_parallel=1)
    stranger = shop.runner("other", executors=["gemini"])

    assert stranger.try_claim()["job"] is None
    with pytest.raises(Refused):
        stranger.try_claim(made["job_id"])

    assert [job.job_id for job in in_line(shop.scene.hub, shop.boss.room_id)] == [made["job_id"]]
