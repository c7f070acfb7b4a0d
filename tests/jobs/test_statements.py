"""How often a job's calls go to the store: on PostgreSQL each look is a way there and back, under the room's lock."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import psycopg
import pytest

from tallystick.capabilities.jobs.queries import SQL
from tallystick.capabilities.jobs.views import CreateJobResult
from tallystick.hub import maintenance, registry
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.operation import as_record
from tallystick.ledger.tx import Tx
from tests.jobs.shop import Shop
from tests.scene import refused
from tests.statements import noted, taken
from tests.steps import written
from tests.waiting import until

OTHER_SESSIONS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A note of each of this capability's statements that is run."""
    return noted(monkeypatch, SQL)


def test_a_jobs_four_calls_read_each_thing_once_and_write_each_row_once(shop: Shop, asked: list[str]) -> None:
    runner = shop.runner()
    taken(asked)

    shop.create(executor="codex")
    created = taken(asked)
    held = runner.claim()
    claimed = taken(asked)
    held.report()
    reported = taken(asked)
    held.complete()
    completed = taken(asked)

    assert (created, claimed, reported, completed) == (2, 4, 2, 2)


def test_what_was_folded_here_is_read_again_after_another_program_added_an_event(shop: Shop, asked: list[str]) -> None:
    held = shop.runner().claim(shop.create(executor="codex")["job_id"])
    other = Hub(shop.scene.store, clock=shop.scene.clock, machine_id="test-machine")
    cancel = {"room_id": shop.boss.room_id, "job": held.job_id, "force_running": True}
    other.call("jobs.cancel", cancel, shop.boss.caller)
    taken(asked)

    with refused("job_canceled"):
        held.complete()

    assert taken(asked) > 0


def test_a_transaction_that_failed_leaves_nothing_folded_behind(shop: Shop) -> None:
    held = shop.runner().claim(shop.create(executor="codex")["job_id"])
    report: dict[str, Any] = {
        "room_id": shop.boss.room_id,
        "job": held.job_id,
        "runner_id": "r1",
        "message": "lost",
        "percent": 90,
    }
    write = written("jobs.report", held.runner.actor.caller, **report, claim_revision=held.claim_revision)

    def write_and_fail(tx: Tx) -> None:
        write(tx)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        shop.scene.hub.write(write_and_fail, shop.boss.room_id)

    held.report("kept")
    assert maintenance.check(shop.scene.hub) == []


def test_who_is_there_is_looked_up_only_for_a_job_that_prefers_an_executor(shop: Shop, asked: list[str]) -> None:
    runner = shop.runner("r1")
    shop.create()
    runner.claim()
    shop.create()
    shop.create(policy={"prefer": ["codex"]})
    taken(asked)

    runner.claim("JOB-002")
    claimed = taken(asked)
    runner.claim("JOB-003")
    preferring = taken(asked)

    assert preferring - claimed == 1


def test_only_the_end_of_a_job_that_others_come_after_looks_for_them(shop: Shop, asked: list[str]) -> None:
    runner = shop.runner()
    earlier = shop.create("first", executor="codex")
    later = shop.create("second", executor="codex", after=[earlier["job_id"]])
    held = runner.claim()
    taken(asked)

    held.complete()
    with_another_after_it = taken(asked)
    held = runner.claim(later["job_id"])
    taken(asked)
    held.complete()

    assert (with_another_after_it, taken(asked)) == (3, 2)


def test_a_runner_that_cannot_take_the_head_of_a_long_queue_gets_the_first_that_it_can(shop: Shop) -> None:
    for number in range(40):
        shop.create(f"job {number}", executor="codex")
    wanted = shop.create("for the other", executor="gemini")

    held = shop.runner("r1", executors=["gemini"]).claim()

    assert (held.job_id, held.answer["prompt"]) == (wanted["job_id"], "do for the other")


def test_only_a_completion_that_names_a_file_looks_for_the_rooms_folders_beforehand(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = shop.runner()
    opened: list[bool] = []
    reading = shop.scene.hub.reading
    monkeypatch.setattr(shop.scene.hub, "reading", lambda: (opened.append(True), reading())[1])

    shop.create("without", executor="codex")
    runner.claim().complete(refs=["CMD: pytest -q (exit 0)"])
    before = len(opened)
    (shop.scene.workspace / "result.txt").write_text("three")
    shop.create("with", executor="codex")
    runner.claim().complete(refs=["FILE: result.txt"])

    assert (before, len(opened)) == (0, 1)


def test_claims_that_share_a_transaction_look_up_the_queue_once_and_the_runners_once(
    shop: Shop, asked: list[str]
) -> None:
    room_id = shop.boss.room_id
    runners = [shop.runner(f"r{number}", max_parallel=1) for number in range(4)]
    for _ in range(4):
        shop.create(executor="codex")
    claim = registry.find("jobs.claim")
    taken(asked)

    with shop.scene.hub.writing() as tx:
        tx.lock(room_id)
        for runner in runners:
            ask = as_record(claim.ask, {"room_id": room_id, "runner_id": runner.runner_id})
            claim.run(tx.next(), runner.actor.caller, ask)
        again = as_record(claim.ask, {"room_id": room_id, "runner_id": "r3"})
        with refused("runner_busy"):
            claim.run(tx.next(), runners[3].actor.caller, again)

    # Two for each claim, and once for all of them: the runners, the queue, who is online, what the last one holds.
    assert taken(asked) == 4 * 2 + 4


def test_calls_that_share_a_transaction_count_on_and_hear_of_a_runner_at_once(shop: Shop, asked: list[str]) -> None:
    room_id = shop.boss.room_id
    create, beat = registry.find("jobs.create"), registry.find("runners.heartbeat")
    job = as_record(create.ask, {"room_id": room_id, "title": "a job", "prompt": "do it", "executor": "codex"})
    runner = as_record(beat.ask, {"room_id": room_id, "runner_id": "r1", "status": "idle"})
    taken(asked)

    with shop.scene.hub.writing() as tx:
        tx.lock(room_id)
        made = [cast("CreateJobResult", each.run(tx.next(), shop.boss.caller, job)) for each in (create, create)]
        without_runner = taken(asked)
        beat.run(tx.next(), shop.boss.caller, runner)
        made.append(cast("CreateJobResult", create.run(tx.next(), shop.boss.caller, job)))

    assert [each.job.job_id for each in made] == ["JOB-001", "JOB-002", "JOB-003"]
    assert [each.runner_bootstrap is None for each in made] == [False, False, True]
    assert without_runner == 3


def test_the_server_soon_knows_how_much_there_is_and_looks_single_rows_up(postgres_url: str, tmp_path: Path) -> None:
    hub = Hub.open(Settings(data_dir=tmp_path, database_url=postgres_url), grouped=True)
    boss = Caller(agent_id="boss", session=SessionKind.HUMAN_CLI)
    room_id = hub.call("rooms.create", {"title": "growing"}, boss).to_data()["room_id"]
    runner = {"room_id": room_id, "runner_id": "r1"}
    hub.call("runners.heartbeat", {**runner, "status": "idle", "max_parallel": 1000}, boss)
    for _ in range(250):
        hub.call("jobs.create", {"room_id": room_id, "title": "a job", "prompt": "do it", "executor": "codex"}, boss)
        hub.world.caches.clear()
        hub.call("jobs.claim", runner, boss)
    hub.close()

    with psycopg.connect(postgres_url, autocommit=True) as server:
        # A session adds up what it did when it ends, which is after it was left.
        until(lambda: server.execute(OTHER_SESSIONS).fetchone() == (0,))
        entries, looks = server.execute(
            "SELECT sum(idx_tup_read), sum(idx_scan) FROM pg_stat_user_indexes WHERE relname IN ('jobs', 'events')"
        ).fetchone() or (0, 0)

    assert looks
    assert entries < 20 * looks
