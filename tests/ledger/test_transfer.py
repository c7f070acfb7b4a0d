"""Export and import: a store moves from one engine to the other and back without a changed byte, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from random import Random

import pytest

from tallystick.hub import maintenance
from tallystick.hub.hub import Hub
from tallystick.kernel.envelope import GENESIS, Event, to_json
from tallystick.storage.sqlite import SqliteStore
from tests.ledger.histories import live
from tests.scene import HANDOFF, START, Row, Scene, refused


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """The export of an embedded store with two rooms and some history."""
    folder = tmp_path_factory.mktemp("origin").resolve()
    store = SqliteStore(folder / "tally.sqlite")
    scene = Scene(store, folder)
    live(scene, scene.folder("one"), 60, Random(7))
    live(scene, scene.folder("two"), 20, Random(8))
    whole = lines(scene.hub)
    store.close()
    return whole


def lines(hub: Hub) -> list[bytes]:
    return list(maintenance.export(hub))


def test_a_store_moves_between_engines_and_back_unchanged(exported: list[bytes], scene: Scene) -> None:
    end = maintenance.import_(scene.hub, exported)
    assert (end.rooms, end.events) == (2, len(exported) - 1)
    assert lines(scene.hub) == exported
    with ExitStack() as stack:
        back = stack.enter_context(maintenance.scratch(scene.hub))
        maintenance.import_(back, lines(scene.hub))
        assert lines(back) == exported
        for hub in (scene.hub, back):
            verified = hub.call("events.verify", {}, scene.agent("ada").caller).to_data()
            assert (verified["ok"], verified["events"]) == (True, end.events)
            assert maintenance.check(hub) == []


def test_an_empty_store_exports_and_imports(scene: Scene) -> None:
    assert lines(scene.hub) == [b'{"tallystick_export":1,"rooms":0,"events":0}\n']
    assert maintenance.import_(scene.hub, lines(scene.hub)).events == 0


def test_after_an_import_the_members_go_on_where_they_stood(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.release(ada.claim())
    bob.claim()
    with maintenance.scratch(scene.hub) as moved:
        maintenance.import_(moved, lines(scene.hub))
        found = moved.call("turns.wait", {"room_id": bob.room_id, "max_wait_ms": 0}, bob.caller).to_data()
        assert (found["status"], found["turn_id"], found["reason"], found["handoff"]) == (
            "your_turn",
            2,
            "already_owner",
            HANDOFF,
        )


def test_a_lease_does_not_move_with_the_ledger(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    with maintenance.scratch(scene.hub) as moved:
        maintenance.import_(moved, lines(scene.hub))
        beat = {"room_id": ada.room_id, "lease_id": turn.lease_id, "expected_turn_id": 1}
        with refused("stale_lease"):
            moved.call("turns.heartbeat", beat, ada.caller)
        seen = moved.call("turns.wait", {"room_id": bob.room_id, "max_wait_ms": 0}, bob.caller).to_data()
        assert (seen["status"], seen["reason"]) == ("takeover_available", "owner_timeout")


def test_blank_lines_are_no_part_of_an_export(exported: list[bytes], scene: Scene) -> None:
    maintenance.import_(scene.hub, [b"\n", *exported[:3], b"  \n", *exported[3:], b"\n"])
    assert lines(scene.hub) == exported


def test_a_store_with_rooms_takes_no_import(exported: list[bytes], scene: Scene) -> None:
    scene.joined("ada")
    before = scene.dump()
    with refused("not_empty"):
        maintenance.import_(scene.hub, exported)
    assert scene.dump() == before


def second_line(change: Callable[[bytes], bytes]) -> Callable[[list[bytes]], list[bytes]]:
    return lambda export: [export[0], change(export[1]), *export[2:]]


DAMAGE: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "without its last line": lambda export: export[:-1],
    "without its last event": lambda export: [*export[:-2], export[-1]],
    "cut in a line": lambda export: [*export[:-2], export[-2][:40]],
    "empty": lambda _: [],
    "an edited body": second_line(lambda line: line.replace(b'"machine_id":"', b'"machine_id":"x')),
    "an edited author": second_line(lambda line: line.replace(b'"by":"ada"', b'"by":"eve"')),
    "an edited time": second_line(lambda line: line.replace(b'"ts":"2026', b'"ts":"2025')),
    "a time that is none": second_line(lambda line: line.replace(b'"ts":"2026', b'"ts":"soon')),
    "an edited hash": second_line(lambda line: line.replace(b'"hash":"', b'"hash":"0')),
    "a body that is no object": second_line(
        lambda line: line.replace(b'"data":{', b'"data":[{').replace(b"},", b"}],", 1)
    ),
    "an unknown field": second_line(lambda line: b'{"more":1,' + line[1:]),
    "a missing field": second_line(lambda line: line.replace(b'"v":1,', b"")),
    "a seq that is text": second_line(lambda line: line.replace(b'"seq":2', b'"seq":"2"')),
    "bytes that are no text": second_line(lambda line: line.replace(b'"by":"', b'"by":"\xff')),
    "garbage": second_line(lambda _: b"garbage\n"),
    "a missing event": lambda export: [export[0], *export[2:]],
    "two events swapped": lambda export: [export[1], export[0], *export[2:]],
    "a repeated event": lambda export: [export[0], *export],
    "a room that comes back": lambda export: [*export[:-1], export[0], export[-1]],
    "a line after the end": lambda export: [*export, export[0]],
    "two ends": lambda export: [*export, export[-1]],
    "an end that counts too many": lambda export: [*export[:-1], export[-1].replace(b'"rooms":2', b'"rooms":3')],
    "an end that is no number": lambda export: [*export[:-1], b'{"tallystick_export":"1"}'],
    "an end of another version": lambda export: [*export[:-1], export[-1].replace(b'export":1', b'export":2')],
}


def written(*events: Event) -> list[bytes]:
    """An export that was made by hand: every hash fits."""
    rooms = len({event.room_id for event in events})
    seals = [f',"prev_hash":"{event.prev_hash}","hash":"{event.hash}"}}'.encode() for event in events]
    lines = [event.canonical()[:-1] + seal for event, seal in zip(events, seals, strict=True)]
    return [*lines, b'{"tallystick_export":1,"rooms":%d,"events":%d}' % (rooms, len(events))]


def event(room_id: str, data: Row, *, kind: str = "group.create", id: str = "", after: Event | None = None) -> Event:
    seq, prev_hash = (after.seq + 1, after.hash) if after else (1, GENESIS)
    return Event.sealed(
        room_id=room_id,
        seq=seq,
        id=id or f"{room_id}-{seq}",
        ts=START,
        kind=kind,
        scope_key="",
        by="eve",
        body=to_json(data),
        prev_hash=prev_hash,
    )


ROOM: Row = {"title": "forged", "canonical_path": "", "policy": {}}
HERE: Row = {"machine_id": "m", "root": "/repo"}
FIRST, SECOND = event("first", ROOM), event("second", ROOM)
FORGED = {
    "a room without a title": written(event("room", {})),
    "a policy that is none": written(event("room", {**ROOM, "policy": 7})),
    "a name that cannot be stored": written(event("ro\0om", ROOM)),
    "one id for two events": written(FIRST, event("second", ROOM, id=FIRST.id)),
    "one path for two rooms": written(
        FIRST,
        event("first", HERE, kind="group.attach", after=FIRST),
        SECOND,
        event("second", HERE, kind="group.attach", after=SECOND),
    ),
    "a room that was never created": written(event("room", {"turn_id": "x"}, kind="x.tally.stick.claim")),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_a_forged_export_with_fitting_hashes_is_refused_and_nothing_of_it_is_kept(scene: Scene, forgery: str) -> None:
    before = scene.dump()
    with refused("bad_import"):
        maintenance.import_(scene.hub, FORGED[forgery])
    assert scene.dump() == before


def test_an_export_made_by_hand_is_as_good_as_any_other(scene: Scene) -> None:
    assert maintenance.import_(scene.hub, written(FIRST, SECOND)).rooms == 2


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_export_is_refused_and_nothing_of_it_is_kept(
    exported: list[bytes], scene: Scene, damage: str
) -> None:
    before = scene.dump()
    damaged = DAMAGE[damage](exported)
    assert damaged != exported
    with refused("bad_import"):
        maintenance.import_(scene.hub, damaged)
    assert scene.dump() == before
    maintenance.import_(scene.hub, exported)
