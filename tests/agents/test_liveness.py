"""Alive, silent or gone; and alive without getting on."""

from __future__ import annotations

from typing import cast

import pytest

from tallystick.capabilities.agents import rules
from tallystick.capabilities.agents.model import Liveness
from tests.scene import Actor, Row, Scene, refused

MINUTE = 60_000


def liveness(actor: Actor, of: str) -> str:
    """Asked by nobody, so that the question keeps nobody alive."""
    return cast("str", actor.scene.stranger(actor.room_id).here("agents.show", agent_id=of)["liveness"])


@pytest.mark.parametrize(
    ("ms", "expected"),
    [
        (0, "active"),
        (15 * MINUTE - 1, "active"),
        (15 * MINUTE, "stale"),
        (30 * MINUTE - 1, "stale"),
        (30 * MINUTE, "evicted"),
        (10_000 * MINUTE, "evicted"),
    ],
)
def test_an_agent_is_stale_from_15_minutes_on_and_evicted_from_30(scene: Scene, ms: int, expected: str) -> None:
    (ada,) = scene.joined("ada")
    scene.clock.forward(ms=ms)
    assert liveness(ada, "ada") == expected


def test_a_process_that_is_provably_gone_is_evicted_at_once(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    scene.kill(ada)
    assert liveness(ada, "ada") == "evicted"


def test_who_left_is_evicted() -> None:
    assert rules.liveness(None, now=0, stale_ms=1) is Liveness.EVICTED


def test_a_heartbeat_says_when_it_was_seen_and_leaves_no_event(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    scene.clock.forward(minutes=20)
    before = len(ada.events())
    scene.clock.forward(ms=1)
    for _ in range(3):
        assert ada.here("agents.heartbeat") == {
            "room_id": ada.room_id,
            "agent_id": "ada",
            "name": "ada",
            "last_seen_at": "2026-09-21T14:33:20.001Z",
            "liveness": "active",
        }
    assert len(ada.events()) == before
    assert liveness(ada, "ada") == "active"


def test_only_a_member_has_a_heartbeat(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    with scene.refused("unknown_member"):
        scene.stranger(ada.room_id).here("agents.heartbeat")
    with scene.refused("room_not_found"):
        ada.call("agents.heartbeat", room_id="nowhere")


def test_agents_are_listed_by_role_and_by_liveness(scene: Scene) -> None:
    ada, bob, _cyd = scene.joined("ada", "bob", "cyd")
    bob.appointed()
    scene.clock.forward(minutes=15)
    bob.here("agents.heartbeat")
    scene.kill(ada)

    def listed(**given: object) -> list[str]:
        found = cast("list[Row]", scene.stranger(ada.room_id).here("agents.list", **given)["agents"])
        return [each["agent_id"] for each in found]

    assert listed() == ["ada", "bob", "cyd"]
    assert listed(role="foreman") == ["bob"]
    assert (listed(status="active"), listed(status="stale"), listed(status="evicted")) == (["bob"], ["cyd"], ["ada"])
    assert listed(role="peer", status="active") == []
    with refused("invalid_input"):
        listed(status="dead")


def stalled(actor: Actor) -> Row:
    shown = cast("Row", actor.scene.stranger(actor.room_id).here("agents.show", agent_id=actor.caller.agent_id))
    return {name: shown[name] for name in ("liveness", "holds", "stalled", "progressed_at")}


@pytest.mark.parametrize("held", ["stick", "reservation"])
def test_who_is_alive_and_holds_something_without_progress_is_stalled(scene: Scene, held: str) -> None:
    (ada,) = scene.joined("ada")
    scene.clock.forward(minutes=1)
    if held == "stick":
        ada.claim()
    else:
        ada.here("reservations.reserve", path="src")
    for _ in range(3):
        scene.clock.forward(minutes=10, ms=-1)
        ada.here("agents.heartbeat")
    what = "the stick" if held == "stick" else "src"
    sign = {"liveness": "active", "holds": [what], "progressed_at": "2026-09-21T14:14:20.000Z"}
    assert stalled(ada) == {**sign, "stalled": False}
    scene.clock.forward(ms=3)
    assert stalled(ada) == {**sign, "stalled": True}
    ada.here("notes.add", body="still at it")
    assert stalled(ada)["stalled"] is False


def test_who_holds_nothing_or_is_not_alive_is_not_stalled(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    bob.here("reservations.reserve", path="src")
    for _ in range(4):
        scene.clock.forward(minutes=10)
        ada.here("agents.heartbeat")
    assert (stalled(ada)["stalled"], stalled(bob)["stalled"], stalled(bob)["liveness"]) == (False, False, "evicted")
