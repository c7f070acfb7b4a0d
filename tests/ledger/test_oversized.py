"""Bodies out of bounds: no operation writes one, no import brings one, and one that is there harms nobody."""

from __future__ import annotations

import json
from typing import cast

import pytest

from tallystick.capabilities.jobs.events import JobCreated
from tallystick.hub import maintenance
from tallystick.kernel import envelope
from tallystick.kernel.clock import from_wire
from tallystick.kernel.envelope import GENESIS, Event, read_body
from tests.scene import START, Actor, Row, Scene, refused

DEPTHS = [300, 900, 20_000]


def deep(levels: int) -> str:
    return '{"a":' * levels + "{}" + "}" * levels


def nested(levels: int) -> dict[str, object]:
    body: dict[str, object] = {}
    for _ in range(levels - 1):
        body = {"in": body}
    return body


def export_with(body: str, *, kind: str = "x.acme.deep", ts: int = START) -> list[bytes]:
    """A room of two events, the second of which has this body; all hashes fit."""
    opening = json.dumps({"canonical_path": "", "policy": {}, "title": "old"}, separators=(",", ":"), sort_keys=True)
    first = sealed(1, "group.create", opening, GENESIS)
    second = sealed(2, kind, body, first.hash, ts)
    seals = [f',"prev_hash":"{each.prev_hash}","hash":"{each.hash}"}}\n'.encode() for each in (first, second)]
    lines = [each.canonical()[:-1] + seal for each, seal in zip((first, second), seals, strict=True)]
    return [*lines, b'{"tallystick_export":1,"rooms":1,"events":2}\n']


def sealed(seq: int, kind: str, body: str, prev_hash: str, ts: int = START) -> Event:
    return Event.sealed(
        room_id="old", seq=seq, id=f"old-{seq}", ts=ts, kind=kind, scope_key="", by="eve", body=body,
        prev_hash=prev_hash,
    )  # fmt: skip


@pytest.mark.parametrize("levels", [65, 300, 900])
def test_no_operation_writes_a_body_that_is_nested_too_deep(scene: Scene, levels: int) -> None:
    (ada,) = scene.joined("ada")
    meta = nested(levels)
    with ada.refused("too_large"):
        ada.here("jobs.create", title="x", prompt="p", meta=meta)
    claimed = {"runner_id": "r", "claim_revision": 1}
    ada.here("runners.heartbeat", runner_id="r", status="idle", executors=["codex"])
    ada.here("jobs.create", title="x", prompt="p")
    ada.here("jobs.claim", runner_id="r")
    for operation, more in (
        ("jobs.report", {"kind": "progress", "message": "m"}),
        ("jobs.complete", {"status": "FAILED", "summary": "s"}),
    ):
        with ada.refused("too_large"):
            ada.here(operation, job="JOB-001", **claimed, **more, meta=meta)


def test_as_much_as_is_allowed_is_read_back_as_it_was_sent(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    ada.here("events.append", kind="x.acme.deep", data=nested(envelope.DEPTH_LIMIT))
    assert ada.events(newest=True, limit=1)[0]["data"] == nested(envelope.DEPTH_LIMIT)


@pytest.mark.parametrize("levels", [65, *DEPTHS])
def test_an_import_with_a_body_out_of_bounds_is_refused_and_nothing_of_it_is_kept(scene: Scene, levels: int) -> None:
    before = scene.dump()
    with refused("bad_import"):
        maintenance.import_(scene.hub, export_with(deep(levels)))
    with refused("bad_import"):
        maintenance.import_(scene.hub, export_with(json.dumps({"a": "x" * 4 * 1024 * 1024})))
    assert scene.dump() == before


def test_an_import_from_a_time_that_is_years_ahead_is_refused_unless_it_is_wanted(scene: Scene) -> None:
    year = 365 * 24 * 60 * 60 * 1000
    with scene.refused("bad_import"):
        maintenance.import_(scene.hub, export_with("{}", ts=from_wire("9999-12-31T23:59:59.999Z")))
    with maintenance.scratch(scene.hub) as other:
        assert maintenance.import_(other, export_with("{}", ts=START + year)).events == 2
    with maintenance.scratch(scene.hub) as other:
        assert maintenance.import_(other, export_with("{}", ts=START + 9 * year), keep_oversized=True).events == 2


@pytest.fixture
def poisoned(scene: Scene) -> Actor:
    """A member of a room whose second event an older version let in."""
    maintenance.import_(scene.hub, export_with(deep(300)), keep_oversized=True)
    ada = scene.agent("ada")
    ada.room_id = "old"
    return ada


def test_readers_survive_a_body_that_an_older_version_let_in(poisoned: Actor) -> None:
    listed = poisoned.events()
    followed = cast("list[Row]", poisoned.here("events.follow", since_seq=1, max_wait_ms=0)["events"])
    shown = listed[1]["data"]
    for _ in range(envelope.DEPTH_LIMIT - 1):
        shown = shown["a"]
    assert shown == {"a": deep(300 - envelope.DEPTH_LIMIT)}
    assert followed == listed[1:]
    assert poisoned.call("open.ref", room_id="old", id="old-2")["value"] == listed[1]
    assert poisoned.call("events.verify", room_id="old")["ok"] is True
    assert maintenance.check(poisoned.scene.hub) == []


def test_a_repair_folds_again_what_follows_from_such_an_event_and_leaves_the_ledger_alone(poisoned: Actor) -> None:
    scene = poisoned.scene
    ledger = list(maintenance.export(scene.hub))
    first, second = maintenance.repair(scene.hub), maintenance.repair(scene.hub)
    assert [(each.room_id, each.seq) for each in first] == [("old", 2)]
    assert second == []
    assert list(maintenance.export(scene.hub)) == ledger


@pytest.mark.parametrize(
    "text",
    [
        deep(300),
        "[" * 100 + "]" * 100,
        '{"brackets":"' + "[{" * 100 + '\\"", "b":[' + "1," * 200 + "2]}",
        '{"x":' + deep(70) + ',"y":' + deep(90) + ',"z":"\\\\"}',
    ],
)
def test_a_trimmed_text_is_json_within_the_bound_and_says_as_much(text: str) -> None:
    trimmed = envelope.trimmed(text)
    assert not envelope.is_too_deep(trimmed)
    assert json.loads(trimmed) == (
        json.loads(text) if not envelope.is_too_deep(text) else expected(json.loads(text), 1)
    )


def expected(value: object, level: int) -> object:
    """What lies below the last level is its text."""
    if not isinstance(value, dict | list):
        return value
    if level > envelope.DEPTH_LIMIT:
        return json.dumps(value, separators=(",", ":"))
    if isinstance(value, list):
        return [expected(each, level + 1) for each in cast("list[object]", value)]
    return {name: expected(each, level + 1) for name, each in cast("dict[str, object]", value).items()}


def test_the_struct_of_a_kind_is_read_from_it_too() -> None:
    fields = {"job_id": "JOB-001", "event": "created", "title": "t", "prompt": "p", "number": 1, "kind": "k"}
    fields |= {
        "priority": "LOW",
        "task": None,
        "anchor": None,
        "executor": "auto",
        "executor_profile": "x",
        "after": [],
    }
    body = json.dumps(fields)[:-1] + ',"meta":' + deep(300) + "}"
    assert not envelope.is_too_deep(json.dumps(read_body(JobCreated, body).to_data()))
