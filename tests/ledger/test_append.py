"""Appending events of one's own: which kinds, which bodies, and the same answer from both engines."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tallystick.hub.hub import Hub
from tallystick.kernel.caller import Caller, SessionKind
from tests.scene import Actor, Row, Scene, refused

BODY_LIMIT = 262_144


def nested(levels: int) -> dict[str, object]:
    body: dict[str, object] = {}
    for _ in range(levels - 1):
        body = {"in": body}
    return body


@pytest.mark.parametrize("kind", ["x.acme.build", "x.acme.build.finished", "vendor.acme.ping", "x.a-b.c_d.e1"])
def test_extension_kinds_are_accepted(scene: Scene, kind: str) -> None:
    (ada,) = scene.joined("ada")
    event = cast("Row", ada.here("events.append", kind=kind, data={})["event"])
    (joined,) = ada.events(kinds=["actor.add"])
    assert (event["kind"], event["by"], event["scope_key"], event["data"]) == (kind, "ada", joined["scope_key"], {})


@pytest.mark.parametrize(
    "kind",
    [
        "x.tally.stick.claim",
        "x.tally.note.add",
        "x.tally.new",
        "group.create",
        "actor.add",
        "chat.message",
        "x.acme",
        "x..build",
        "x.acme.",
        "vendor.acme",
        "xx.acme.build",
    ],
)
def test_every_other_kind_is_written_by_its_own_operation_only(scene: Scene, kind: str) -> None:
    (ada,) = scene.joined("ada")
    with refused("reserved_kind") as caught:
        ada.here("events.append", kind=kind, data={})
    assert caught.value.details == {"kind": kind}


@pytest.mark.parametrize("kind", ["", "X.acme.build", "x.acme build", "x.acme.\0", ".x.acme", "x.acme.ž"])
def test_a_kind_is_made_of_small_letters_digits_and_dots(scene: Scene, kind: str) -> None:
    (ada,) = scene.joined("ada")
    with refused("invalid_input") as caught:
        ada.here("events.append", kind=kind, data={})
    assert caught.value.details == {"field": "kind"}


@pytest.mark.parametrize(
    "data",
    [
        {"nul": "\0", "escape": "\x1b[31m", "line": "\u2028", "quote": '"\\/'},
        {"huge": 10**400, "negative": -(2**63) - 1, "tiny": 5e-324, "minus": -0.0},
        {"": "", "\0": None, "š": ["🦾", True, False, None]},
        nested(64),
        {"list": [[[["in"]]]]},
    ],
    ids=["characters", "numbers", "keys", "deep", "lists"],
)
def test_any_json_comes_back_as_it_was_sent(scene: Scene, data: dict[str, object]) -> None:
    (ada,) = scene.joined("ada")
    ada.here("events.append", kind="x.acme.odd", data=data)
    (event,) = ada.events(since_seq=3)
    assert json.dumps(event["data"], sort_keys=True) == json.dumps(data, sort_keys=True)
    assert ada.call("events.verify", room_id=ada.room_id)["ok"] is True


@pytest.mark.parametrize(
    "data",
    [
        {"n": float("nan")},
        {"n": [1, {"m": float("inf")}]},
        {"n": float("-inf")},
        {"text": "\ud800"},
        {"\udfff": 1},
        {"number": 10**5000},
        {"object": object()},
    ],
    ids=["nan", "infinity", "minus-infinity", "half-a-character", "half-a-key", "endless-number", "no-json"],
)
def test_what_json_cannot_say_is_refused(scene: Scene, data: dict[str, object]) -> None:
    (ada,) = scene.joined("ada")
    with refused("invalid_input"):
        ada.here("events.append", kind="x.acme.odd", data=data)
    assert len(ada.events()) == 3


@pytest.mark.parametrize("levels", [65, 1_000, 200_000])
def test_a_body_nested_too_deep_is_refused_with_the_bound(scene: Scene, levels: int) -> None:
    (ada,) = scene.joined("ada")
    with refused("too_large") as caught:
        ada.here("events.append", kind="x.acme.deep", data=nested(levels))
    assert caught.value.message == "data is nested deeper than 64 levels."
    assert caught.value.details == {"field": "data", "limit": 64}


def test_a_body_may_be_as_large_as_the_bound_and_no_larger(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    exact = {"text": "x" * (BODY_LIMIT - len('{"text":""}'))}
    ada.here("events.append", kind="x.acme.large", data=exact)
    with refused("too_large") as caught:
        ada.here("events.append", kind="x.acme.large", data={"text": exact["text"] + "x"})
    assert caught.value.details == {"field": "data", "limit": BODY_LIMIT}
    assert len(ada.events()) == 4


def test_size_is_counted_in_bytes(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    with scene.refused("too_large"):
        ada.here("events.append", kind="x.acme.large", data={"text": "ž" * (BODY_LIMIT // 2)})


@pytest.mark.parametrize(("data", "code"), [([], "invalid_input"), ("{}", "invalid_input"), (None, "invalid_input")])
def test_a_body_is_an_object(scene: Scene, data: object, code: str) -> None:
    (ada,) = scene.joined("ada")
    with refused(code) as caught:
        ada.here("events.append", kind="x.acme.odd", data=data)
    assert caught.value.details == {"field": "data"}


def test_nobody_chooses_the_scope_of_an_event(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    with scene.refused("unknown_field"):
        ada.here("events.append", kind="x.acme.odd", data={}, scope_key="s_1")


@pytest.mark.parametrize(
    ("operation", "asked"),
    [
        ("events.append", {"kind": "x.acme.odd", "data": {}}),
        ("blobs.put", {"content_base64": "aGVsbG8K"}),
        ("tasks.create", {"title": "Rewrite the parser"}),
    ],
)
def test_who_is_no_member_adds_nothing_to_a_room(scene: Scene, tmp_path: Path, operation: str, asked: Row) -> None:
    (ada,) = scene.joined("ada")
    scene.hub = Hub(scene.store, clock=scene.clock, machine_id="test-machine", blobs=tmp_path / "blobs")
    with scene.refused("unknown_member"):
        scene.stranger(ada.room_id).here(operation, **asked)
    for principal in ("user", "svc:ci"):
        caller = Caller(agent_id=principal, session=SessionKind.NAMED)
        Actor(scene, caller, ada.room_id).here(operation, **asked)


def test_no_two_events_have_the_same_id_and_none_is_without_a_room(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    rest = "ts, kind, scope_key, author, body, prev_hash, hash, v FROM events WHERE seq = 1"
    with refused("duplicate_row"):
        scene.sql(f"INSERT INTO events SELECT room_id, 10, id, {rest}")
    with refused("constraint_broken"):
        scene.sql(f"INSERT INTO events SELECT 'no-such-room', 10, 'other', {rest}")
    assert len(ada.events()) == 3


def test_no_statement_of_ours_changes_an_event_and_one_deletes_those_of_an_archived_room() -> None:
    package = files("tallystick")
    sql = [file for file in Path(str(package)).rglob("*.sql") if "schema" not in file.parts]
    touching = re.compile(r"\b(?:UPDATE\s+events|DELETE\s+FROM\s+events)\b.*", re.IGNORECASE)
    found = [match for file in sql for match in touching.findall(file.read_text("utf-8"))]
    assert found == ["DELETE FROM events WHERE room_id = :room_id"]


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None))
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.dictionaries(st.text(st.characters(codec=None)), values))
def test_a_body_is_stored_unchanged_or_refused(scene: Scene, data: dict[str, object]) -> None:
    ada = scene.agent("ada")
    ada.room_id = cast("str", ada.call("rooms.create", title="fuzzed")["room_id"])
    ada.here("rooms.join")
    if _is_json(data):
        ada.here("events.append", kind="x.acme.odd", data=data)
        assert json.dumps(ada.events(since_seq=2)[0]["data"], sort_keys=True) == json.dumps(data, sort_keys=True)
    else:
        with refused("invalid_input"):
            ada.here("events.append", kind="x.acme.odd", data=data)


def _is_json(data: object) -> bool:
    try:
        json.dumps(data, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        return False
    return True


def test_the_time_of_a_write_is_when_it_got_the_room_not_when_it_queued(scene: Scene) -> None:
    (ada,) = scene.joined("ada")

    with scene.hub.writing() as tx:
        scene.clock.forward(ms=5000)
        tx.lock(ada.room_id)
        got = scene.clock.now
        scene.clock.forward(ms=5000)
        tx.lock(ada.room_id)

        assert tx.now == got
