"""The stored format, pinned: the same calls at the same time with the same ids give these very bytes for ever."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import tallystick
from tallystick.hub import maintenance, registry
from tallystick.hub.hub import Hub
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.envelope import Draft
from tallystick.storage.port import Store
from tests.ledger.shapes.everything import RETIRED, golden, pinnable, pinned, write_everything
from tests.scene import HANDOFF, START, Row

ADA = Caller(agent_id="ada", session=SessionKind.NAMED, harness="codex", display_name="Ada")
HEAD = "7a8d4cb61af34e0d160bc769fb11a06f8c1c911090605a6a4a3bb5f95f548ef3"
LINE = (
    '{"by":"ada","data":{"":null,"ok":true,"took":1.5},"group_id":"00000000-0000-7000-8000-000000000001",'
    '"id":"00000000-0000-7000-8000-000000000008","kind":"x.acme.build","scope_key":"s_1","seq":6,'
    '"ts":"2026-09-21T14:13:20.000Z","v":1,'
    '"prev_hash":"618db843962807c61ef03c76607dad2d976af753c60cbf7bfcbf166dd363176c",'
    '"hash":"98f9d98052029921e2cc569a7dfd2494e56ae23bdba2eeaf86f2318df72e2364"}\n'
)
KINDS = [
    "group.create",
    "actor.add",
    "x.tally.stick.claim",
    "x.tally.stick.release",
    "x.tally.note.add",
    "x.acme.build",
    "group.set_policy",
    "x.tally.stick.close",
]
KIND = re.compile(r"x\.tally(\.[a-z_]+)+|(actor|chat|group|system)\.[a-z_]+")
"""What can be nothing but a kind of ours."""


def history(store: Store) -> tuple[Hub, Row]:
    store.migrate(registry.schema())
    ids = (f"00000000-0000-7000-8000-{number:012}" for number in itertools.count(1))
    hub = Hub(store, clock=lambda: START, new_id=lambda: next(ids), machine_id="a-machine")

    def call(operation: str, **given: object) -> Row:
        return hub.call(operation, given, ADA).to_data()

    room: Row = {"room_id": call("rooms.create", title="golden")["room_id"]}
    call("rooms.join", **room)
    turn = call("turns.wait", **room)
    call("turns.release", **room, lease_id=turn["lease_id"], expected_turn_id=1, handoff=HANDOFF)
    call("notes.add", **room, body="žluťoučký kůň")
    with hub.writing() as tx:
        tx.lock(str(room["room_id"]))
        data = {"ok": True, "took": 1.5, "": None}
        tx.append(str(room["room_id"]), "ada", [Draft(kind="x.acme.build", data=data, scope_key="s_1")])
    call("rooms.set_policy", **room, claim_ttl_ms=1000)
    call("rooms.close", **room, reason="done")
    return hub, call("events.verify", **room)


def test_a_history_has_the_same_hash_on_every_engine_and_in_every_version(store: Store) -> None:
    _hub, verified = history(store)
    assert (verified["ok"], verified["events"], verified["rooms"][0]["hash"]) == (True, len(KINDS), HEAD)


def test_an_export_has_the_same_lines_on_every_engine_and_in_every_version(store: Store) -> None:
    hub, _verified = history(store)
    lines = [line.decode() for line in maintenance.export(hub)]
    assert [line.split('"kind":"')[1].split('"')[0] for line in lines[:-1]] == KINDS
    assert lines[5] == LINE
    assert lines[-1] == '{"tallystick_export":1,"rooms":1,"events":8}\n'


def test_every_shape_of_every_event_is_written_as_pinned(store: Store, tmp_path: Path) -> None:
    written, golden = pinnable(write_everything(store, tmp_path).lines()), pinned()
    for shape, lines in written.items():
        assert lines == golden.get(shape), shape
    assert list(written) == list(golden)


def test_every_operation_that_writes_takes_part(store: Store, tmp_path: Path) -> None:
    called = write_everything(store, tmp_path).called
    writing = {name for name, operation in registry.OPERATIONS.items() if operation.writes}
    assert writing - called == set()


def test_every_kind_that_the_code_folds_or_names_is_pinned() -> None:
    ours = {*map(str, registry.folds()), *map(str, registry.deferred()), *named()}
    assert ours == {kind for kind, _body in golden()} | RETIRED


def named() -> Iterator[str]:
    """Every text in the source that is a kind of ours."""
    for file in Path(tallystick.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and KIND.fullmatch(node.value):
                yield node.value
