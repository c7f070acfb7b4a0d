"""Where a room's ledger ends, while several processes write to it."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tallystick.hub.hub import Hub
from tallystick.ledger.tx import SQL
from tests.places import Place
from tests.scene import Scene, refused
from tests.statements import noted, taken


@pytest.fixture
def other(place: Place, scene: Scene) -> Generator[Hub]:
    """The same store, as another process has it."""
    store = place.open()
    yield Hub(store, clock=scene.clock, machine_id="test-machine")
    store.close()


def test_an_append_reads_where_its_room_ends_and_nothing_else(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    (ada,) = scene.joined("ada")
    ada.here("events.append", kind="x.acme.one", data={})
    asked = noted(monkeypatch, SQL)

    ada.here("events.append", kind="x.acme.two", data={})

    assert taken(asked) == 1


def test_two_processes_that_take_turns_number_their_events_in_one_row(scene: Scene, other: Hub) -> None:
    (ada,) = scene.joined("ada")
    first = len(ada.events())
    for number in range(6):
        given = {"room_id": ada.room_id, "kind": "x.acme.step", "data": {"number": number}}
        if number % 3:
            other.call("events.append", given, ada.caller)
        else:
            ada.call("events.append", **given)

    assert [event["seq"] for event in ada.events()] == list(range(1, first + 7))
    assert ada.call("events.verify")["ok"]


def test_a_room_that_another_process_closed_takes_no_more_events_here(scene: Scene, other: Hub) -> None:
    (ada,) = scene.joined("ada")
    ada.here("events.append", kind="x.acme.one", data={})
    other.call("rooms.close", {"room_id": ada.room_id}, ada.caller)

    with refused("room_closed"):
        ada.here("events.append", kind="x.acme.two", data={})


def test_a_room_that_was_closed_here_takes_no_more_events_either(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    ada.here("events.append", kind="x.acme.one", data={})
    ada.here("rooms.close")

    with refused("room_closed"):
        ada.here("events.append", kind="x.acme.two", data={})
