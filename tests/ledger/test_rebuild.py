"""Folding the ledger again: the projections come out as they were, and what does not fit is named."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tallystick.hub import maintenance, registry
from tallystick.hub.hub import Hub
from tests.ledger.histories import live
from tests.scene import TABLES, Scene, refused


@pytest.mark.slow
@pytest.mark.timeout(600)
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.integers(min_value=0))
def test_a_rebuild_after_a_long_history_equals_the_live_rows(scene: Scene, seed: int) -> None:
    live(scene, scene.folder(f"room-{seed}"), 120, Random(seed))
    before = scene.dump()
    assert maintenance.check(scene.hub) == []
    maintenance.rebuild(scene.hub)
    assert scene.dump() == before


def test_a_rebuild_counts_the_events_it_folded(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    ada.join(scene.folder("nested"), force_new=True)
    assert maintenance.rebuild(scene.hub) == 7


def test_a_turn_goes_on_after_a_rebuild(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    maintenance.rebuild(scene.hub)
    assert ada.owner("turns.heartbeat", turn)["status"] == "ok"
    ada.release(turn)
    assert bob.look()["status"] == "your_turn"


def test_a_closed_room_stays_closed_and_an_open_one_open_after_a_rebuild(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    bob = scene.agent("bob")
    bob.join(scene.folder("other"), force_new=True)
    ada.here("rooms.close", reason="done")
    scene.sql("UPDATE heads SET closed = 1 - closed")
    maintenance.rebuild(scene.hub)
    with refused("room_closed"):
        ada.here("events.append", kind="x.acme.build", data={})
    assert bob.here("events.append", kind="x.acme.build", data={})


DAMAGE = {
    "rooms": "UPDATE rooms SET title = 'something else'",
    "scopes": "DELETE FROM scopes",
    "agents": "UPDATE agents SET ordinal = ordinal + 7 WHERE agent_id = 'bob'",
    "sticks": "UPDATE sticks SET owner = 'eve'",
}


@pytest.mark.parametrize("table", DAMAGE)
def test_a_tampered_projection_is_named_and_a_rebuild_repairs_it(scene: Scene, table: str) -> None:
    ada, _bob = scene.joined("ada", "bob")
    ada.claim()
    healthy = scene.dump()
    scene.sql(DAMAGE[table])
    damaged = scene.dump()
    assert damaged != healthy
    assert maintenance.check(scene.hub) == [table]
    assert scene.dump() == damaged
    maintenance.rebuild(scene.hub)
    assert scene.dump() == healthy


@pytest.mark.parametrize("care", [maintenance.check, maintenance.rebuild])
def test_nothing_is_folded_from_a_ledger_that_does_not_verify(scene: Scene, care: Callable[[Hub], object]) -> None:
    scene.joined("ada")
    scene.sql("UPDATE events SET author = 'eve' WHERE seq = 2")
    before = scene.dump()
    with refused("ledger_damaged"):
        care(scene.hub)
    assert scene.dump() == before


def test_every_table_is_a_projection_or_live_state() -> None:
    assert set(registry.tables()) <= set(TABLES)
    assert {"heads", "events", "presence", "leases"} <= set(TABLES) - set(registry.tables())
