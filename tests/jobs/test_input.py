"""Bad input is refused with the bound it broke, and changes nothing."""

from __future__ import annotations

import pytest

from tallystick.kernel.errors import InvalidInput
from tests.jobs.shop import Shop
from tests.scene import refused

MAKE: dict[str, object] = {"title": "t", "prompt": "p"}


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"title": ""}, "invalid_input"),
        ({"title": "x" * 201}, "too_large"),
        ({"prompt": ""}, "invalid_input"),
        ({"prompt": "x" * 50_001}, "too_large"),
        ({"kind": "x" * 65}, "too_large"),
        ({"priority": "URGENT"}, "invalid_input"),
        ({"priority": 1}, "invalid_input"),
        ({"executor": "perl"}, "invalid_input"),
        ({"executor_profile": "slow"}, "invalid_input"),
        ({"policy": {"prefer": ["perl"]}}, "invalid_input"),
        ({"policy": {"first": "codex"}}, "unknown_field"),
        ({"expected_artifacts": ["cake"]}, "invalid_input"),
        ({"task": "TASK-404"}, "unknown_task"),
        ({"anchor": "core"}, "invalid_input"),
        ({"anchor": "a:Core"}, "invalid_input"),
        ({"anchor": "a:" + "x" * 65}, "invalid_input"),
        ({"meta": []}, "invalid_input"),
        ({"meta": {"a": "x" * 20_000}}, "too_large"),
        ({"promt": "p"}, "unknown_field"),
        ({"after": ["nonsense"]}, "unknown_job"),
    ],
)
def test_a_job_that_is_not_right_is_refused_and_leaves_nothing(shop: Shop, given: dict[str, object], code: str) -> None:
    before = shop.scene.dump()
    with refused(code):
        shop.ask("jobs.create", **{**MAKE, **given})
    assert shop.scene.dump() == before


@pytest.mark.parametrize("missing", ["title", "prompt"])
def test_what_is_missing_is_named(shop: Shop, missing: str) -> None:
    with refused("invalid_input") as caught:
        shop.ask("jobs.create", **{name: value for name, value in MAKE.items() if name != missing})
    assert missing in caught.value.message


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"message": ""}, "invalid_input"),
        ({"message": "x" * 401}, "too_large"),
        ({"kind": "x" * 33}, "too_large"),
        ({"kind": "a\0b"}, "invalid_input"),
        ({"percent": 101}, "invalid_input"),
        ({"percent": -1}, "invalid_input"),
        ({"refs": ["x" * 129]}, "too_large"),
        ({"refs": ["x"] * 33}, "too_large"),
        ({"refs": "CARD-001"}, "invalid_input"),
        ({"claim_revision": 0}, "invalid_input"),
        ({"claim_revision": "1"}, "invalid_input"),
        ({"runner_id": "r 1"}, "invalid_input"),
        ({"runner_id": "r|1"}, "invalid_input"),
        ({"runner_id": "x" * 129}, "too_large"),
        ({"runer_id": "r1"}, "unknown_field"),
    ],
)
def test_a_report_that_is_not_right_is_refused_and_leaves_nothing(
    shop: Shop, given: dict[str, object], code: str
) -> None:
    shop.create()
    shop.runner().claim()
    right: dict[str, object] = {"job": "JOB-001", "runner_id": "r1", "claim_revision": 1, "message": "m"}
    before = shop.scene.dump()
    with refused(code):
        shop.ask("jobs.report", **{**right, **given})
    assert shop.scene.dump() == before


def test_an_end_or_an_artifact_that_is_too_long_is_refused_and_leaves_nothing(shop: Shop) -> None:
    shop.create()
    held = shop.runner().claim()
    before = shop.scene.dump()
    with refused("too_large"):
        held.complete("FAILED", summary="x" * 128_001)
    with refused("too_large"):
        held.put("report", "x" * 512_001)
    assert shop.scene.dump() == before
    held.put("report", "x" * 512_000)
    assert len(held.complete("FAILED", summary="x" * 128_000)["job"]["summary"]) == 128_000


@pytest.mark.parametrize("text", ["\x1b[2J", "\u202e", "'; DROP TABLE jobs; --", "<script>", "\U0001f600", "a\rb"])
def test_hostile_text_is_kept_as_it_is_and_breaks_no_line(shop: Shop, text: str) -> None:
    made = shop.create(f"title {text}", prompt=text)
    assert made["title"] == f"title {text}"
    held = shop.runner().claim()
    assert held.answer["prompt"] == text
    held.report(f"said {text}", kind="question", meta={"k": text})
    lines = shop.ask("jobs.radar", fmt="lines")["text"].splitlines()
    assert len(lines) == 3
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("text", ["a\0b", "\ud83d"])
def test_text_that_cannot_be_stored_is_refused(shop: Shop, text: str) -> None:
    shop.create()
    held = shop.runner().claim()
    for write in (
        lambda: shop.create(text),
        lambda: shop.create(kind=text),
        lambda: held.report(text, kind="heartbeat"),
        lambda: held.complete("FAILED", summary=text),
        lambda: shop.task(text),
        lambda: shop.card(text),
        lambda: shop.card(body=text),
        lambda: shop.ask("anchors.create", anchor="a:x", title=text),
        lambda: shop.ask("runners.heartbeat", runner_id="r1", status="idle", sandbox_policy=text),
    ):
        with pytest.raises(InvalidInput):
            write()


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"status": "sleeping"}, "invalid_input"),
        ({"executors": ["perl"]}, "invalid_input"),
        ({"max_parallel": 0}, "invalid_input"),
        ({"lease_ttl_ms": 0}, "invalid_input"),
        ({"active_job_id": "JOB-1 | open"}, "invalid_input"),
        ({"runner_id": ""}, "invalid_input"),
        ({"meta": {"a": "x" * 20_000}}, "too_large"),
    ],
)
def test_a_heartbeat_that_is_not_right_is_refused(shop: Shop, given: dict[str, object], code: str) -> None:
    with refused(code):
        shop.ask("runners.heartbeat", **{"runner_id": "r1", "status": "idle", **given})
    assert shop.ask("runners.list") == {"runners": [], "count": 0, "has_more": False}


@pytest.mark.parametrize(
    ("operation", "given"),
    [
        ("jobs.list", {"limit": 0}),
        ("jobs.list", {"limit": 201}),
        ("jobs.list", {"cursor": "1"}),
        ("jobs.tail", {"job": "JOB-001", "after_seq": -1}),
        ("jobs.open", {"job": "JOB-001", "before_seq": 0}),
        ("jobs.radar", {"runners_limit": 51}),
        ("jobs.radar", {"stall_after_s": 59}),
        ("jobs.radar", {"offline_limit": -1}),
        ("jobs.wait", {"job": "JOB-001", "max_wait_ms": 10**9}),
    ],
)
def test_looks_outside_their_bounds_are_refused(shop: Shop, operation: str, given: dict[str, object]) -> None:
    shop.create()
    with shop.scene.refused("invalid_input"):
        shop.ask(operation, **given)


def test_an_unknown_room_is_refused(shop: Shop) -> None:
    for operation, given in (("jobs.list", {}), ("jobs.radar", {}), ("runners.list", {}), ("jobs.create", MAKE)):
        with shop.scene.refused("room_not_found"):
            shop.boss.call(operation, room_id="nowhere", **given)
