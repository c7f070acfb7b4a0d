"""Runners are there while their leases are, and say what they can do."""

from __future__ import annotations

from tallystick.kernel.clock import to_wire
from tests.jobs.shop import Shop
from tests.scene import START


def test_a_heartbeat_says_who_is_there_and_what_it_can_do(shop: Shop) -> None:
    lease = shop.ask(
        "runners.heartbeat",
        runner_id="r1",
        status="live",
        active_job_id="JOB-001",
        executors=["codex", "claude_code"],
        profiles=["fast"],
        supports_artifacts=["patch"],
        max_parallel=3,
        sandbox_policy="workspace-write",
        meta={"host": "laptop", "pid": 4711, "cwd": "/work"},
    )["lease"]
    assert lease == {
        "runner_id": "r1",
        "state": "live",
        "status": "live",
        "active_job_id": "JOB-001",
        "executors": ["codex", "claude_code"],
        "profiles": ["fast"],
        "supports_artifacts": ["patch"],
        "max_parallel": 3,
        "sandbox_policy": "workspace-write",
        "jobs": 0,
        "job_ids": [],
        "meta": {"host": "laptop", "pid": 4711, "cwd": "/work"},
        "agent_id": "boss",
        "lease_expires_at": to_wire(START + 20_000),
        "created_at": to_wire(START),
        "updated_at": to_wire(START),
    }
    assert shop.ask("open.ref", id="runner:r1")["value"] == lease


def test_what_a_runner_leaves_out_has_the_defaults_of_the_protocol(shop: Shop) -> None:
    lease = shop.ask("runners.heartbeat", runner_id="r1", status="idle")["lease"]
    assert (lease["executors"], lease["profiles"], lease["supports_artifacts"], lease["max_parallel"]) == (
        ["codex"],
        ["fast", "deep", "audit"],
        [],
        1,
    )


def test_a_heartbeat_leaves_no_event_and_keeps_the_first_time(shop: Shop) -> None:
    shop.runner()
    events = shop.boss.events()
    shop.scene.clock.forward(ms=5000)
    lease = shop.runner().beat(status="live")
    assert shop.boss.events() == events
    assert (lease["created_at"], lease["updated_at"]) == (to_wire(START), to_wire(START + 5000))


def test_a_lease_that_runs_out_makes_a_runner_offline_and_a_heartbeat_brings_it_back(shop: Shop) -> None:
    runner = shop.runner(lease_ttl_ms=1000)
    shop.scene.clock.forward(ms=1000)
    assert [each["state"] for each in shop.ask("runners.list")["runners"]] == ["offline"]
    assert shop.ask("runners.list", status="idle")["runners"] == []
    runner.beat()
    assert [each["state"] for each in shop.ask("runners.list")["runners"]] == ["idle"]
    assert shop.ask("runners.list", status="offline")["runners"] == []


def test_a_list_of_runners_is_bounded(shop: Shop) -> None:
    for number in range(3):
        shop.runner(f"r{number}")
    found = shop.ask("runners.list", limit=2)
    assert ([each["runner_id"] for each in found["runners"]], found["has_more"]) == (["r0", "r1"], True)
