"""Any history of jobs, against a small model: one holder per job, no zombie write, one end, rebuild equals live."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.hub import maintenance
from tallystick.kernel.errors import Conflict, TallyError
from tallystick.storage.port import open_store
from tests.jobs.shop import PROOF, Held, Shop
from tests.scene import Scene

_steps = st.lists(
    st.tuples(
        st.sampled_from(["create", "claim", "reclaim", "report", "beat", "done", "fail", "cancel", "requeue", "wait"]),
        st.integers(0, 3),
    ),
    max_size=40,
)


@contextmanager
def _shop() -> Generator[Shop]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        (root / "repo" / ".git").mkdir(parents=True)
        (root / "repo" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        store = open_store(None, root / "data")
        try:
            yield Shop.opened(Scene(store, root / "repo"))
        finally:
            store.close()


class Model:
    """What the jobs of a room must look like; `holder` is the one claim that may write."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.runners = [shop.runner(f"r{number}") for number in range(2)]
        self.status: dict[str, str] = {}
        self.holder: dict[str, Held] = {}
        self.until: dict[str, int] = {}
        self.claims: list[Held] = []

    def step(self, what: str, number: int) -> None:
        getattr(self, what)(number)

    def _job(self, number: int) -> str | None:
        names = list(self.status)
        return names[number % len(names)] if names else None

    def create(self, _: int) -> None:
        self.status[self.shop.create(executor="codex")["job_id"]] = "QUEUED"

    def claim(self, number: int) -> None:
        answer = self.runners[number % 2].try_claim()
        queued = [job_id for job_id, status in self.status.items() if status == "QUEUED"]
        assert (answer["job"]["job_id"] if answer["job"] else None) == (queued[0] if queued else None)
        if answer["job"]:
            self._taken(Held(queued[0], self.runners[number % 2], answer["claim_revision"], answer))

    def reclaim(self, number: int) -> None:
        job_id = self._job(number)
        if job_id is None or self.status[job_id] != "RUNNING":
            return
        expired = self.until[job_id] <= self.shop.scene.clock.now
        try:
            held = self.runners[number % 2].claim(job_id, allow_stale=True)
        except Conflict:
            assert not expired
            return
        assert expired
        self._taken(held)

    def _taken(self, held: Held) -> None:
        self.status[held.job_id] = "RUNNING"
        self.holder[held.job_id] = held
        self.until[held.job_id] = self.shop.scene.clock.now + 180_000
        self.claims.append(held)

    def _write(self, number: int, kind: str) -> bool:
        """Let some claim, old or new, try to write; says whether it was accepted, which only the holder's is."""
        if not self.claims:
            return False
        held = self.claims[number % len(self.claims)]
        mine = self.holder.get(held.job_id) is held and self.status[held.job_id] == "RUNNING"
        try:
            if kind in {"DONE", "FAILED"}:
                held.complete(kind, refs=[PROOF])
                self.status[held.job_id] = kind
            else:
                held.report(kind=kind)
                self.until[held.job_id] = self.shop.scene.clock.now + 180_000
        except TallyError:
            assert not mine
            return False
        assert mine
        return True

    def report(self, number: int) -> None:
        self._write(number, "progress")

    def beat(self, number: int) -> None:
        self._write(number, "heartbeat")

    def done(self, number: int) -> None:
        self._write(number, "DONE")

    def fail(self, number: int) -> None:
        self._write(number, "FAILED")

    def cancel(self, number: int) -> None:
        if (job_id := self._job(number)) and self.status[job_id] in {"QUEUED", "RUNNING"}:
            self.shop.ask("jobs.cancel", job=job_id, force_running=True)
            self.status[job_id] = "CANCELED"

    def requeue(self, number: int) -> None:
        if (job_id := self._job(number)) and self.status[job_id] not in {"QUEUED", "RUNNING"}:
            self.shop.ask("jobs.requeue", job=job_id)
            self.status[job_id] = "QUEUED"
            self.holder.pop(job_id, None)

    def wait(self, _: int) -> None:
        self.shop.scene.clock.forward(ms=90_000)
        for runner in self.runners:
            runner.beat()


@settings(max_examples=25)
@given(_steps)
def test_any_history_has_one_holder_no_zombie_write_and_the_rows_its_ledger_tells(steps: list[tuple[str, int]]) -> None:
    with _shop() as shop:
        model = Model(shop)
        for what, number in steps:
            model.step(what, number)
        found = {job["job_id"]: job["status"] for job in shop.ask("jobs.list", limit=200)["jobs"]}
        assert found == model.status
        before = shop.scene.dump()
        maintenance.rebuild(shop.scene.hub)
        assert shop.scene.dump() == before
