"""What the overview says of agents, sticks and jobs as time passes: stalled, stale, gone, and when to step in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from tallystick.hub.visitor import Visitor
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.surfaces.web import room, work
from tallystick.surfaces.web.overview import Overview
from tallystick.surfaces.web.page import Need, PageReader, PageRequest, PageView, read_page
from tallystick.surfaces.web.people import Person
from tests.scene import Scene

USER = Visitor(caller=Caller(agent_id="user", session=SessionKind.HUMAN_GUARDIAN))


def overview(scene: Scene) -> dict[str, Any]:
    page = Overview(None)
    return dict(read_page(scene.hub, USER, lambda snapshot: page.view(snapshot, PageRequest(path="/"))).context)


def signs(scene: Scene) -> dict[str, tuple[str, str]]:
    found = cast("list[Person]", overview(scene)["people"])
    return {person.agent_id: (person.tone, person.told) for person in found}


def needs(scene: Scene) -> list[tuple[str, str, str]]:
    return [(need.item.sign, need.item.who, need.item.reason) for need in cast("list[Need]", overview(scene)["needs"])]


def test_an_agent_that_holds_something_and_gets_nowhere_is_stalled(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    ada.claim()
    ada.here("reservations.reserve", path="src/a.py")
    assert signs(scene)["ada"] == ("ok", "holds the stick · src/a.py · active")
    for _ in range(4):
        scene.clock.forward(minutes=10)
        ada.here("agents.heartbeat")
    assert signs(scene)["ada"] == ("warn", "holds the stick · src/a.py · stalled")


def test_a_silent_agent_is_stale_and_then_evicted(scene: Scene) -> None:
    scene.joined("ada")
    scene.clock.forward(minutes=16)
    assert signs(scene)["ada"] == ("warn", "stale")
    scene.clock.forward(minutes=15)
    assert signs(scene)["ada"] == ("bad", "evicted")


def test_one_word_says_in_every_view_whether_somebody_is_there(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.here("reservations.reserve", path="src/a.py")
    scene.clock.forward(minutes=16)
    bob.here("agents.heartbeat")
    at = PageRequest(path=f"/rooms/{ada.room_id}", room_id=ada.room_id)

    def states(view: Callable[[PageReader, PageRequest], PageView]) -> dict[str, str]:
        shown = read_page(scene.hub, USER, lambda snapshot: view(snapshot, at)).context
        return cast("dict[str, str]", shown["state_of"])

    told = {name: words.rpartition(" · ")[2] for name, (_, words) in signs(scene).items()}
    assert told == {"ada": "stale", "bob": "active"}
    assert [states(view) for view in (room.view, room.stick_view, work.reservations_view)] == [told] * 3


def test_somebody_in_two_rooms_is_shown_where_they_hold_the_stick(scene: Scene) -> None:
    (eve,) = scene.joined("eve")
    eve.claim()
    scene.clock.forward(minutes=1)
    other = eve.call("rooms.create", title="another")["room_id"]
    eve.call("rooms.join", room_id=other)

    assert signs(scene)["eve"] == ("ok", "holds the stick · active")


def test_a_lease_that_ran_out_opens_takeover_and_says_so(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    ada.claim()
    assert needs(scene) == []
    scene.clock.forward(minutes=46)
    assert needs(scene) == [("~", "ada", "let the lease run out; takeover is open")]


def test_a_turn_that_nobody_claims_opens_takeover_and_says_so(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.release(ada.claim())
    scene.clock.forward(minutes=21)
    assert needs(scene) == [("~", "bob", "was passed the stick and has not claimed it; takeover is open")]
    scene.kill(bob)
    assert needs(scene) == [("~", "bob", "was passed the stick, and its process is gone; takeover is open")]


def test_a_claim_that_ran_out_is_stuck_work(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    ada.here("jobs.create", title="Migrate retries", prompt="Move them.")
    ada.here("runners.heartbeat", runner_id="r1", status="idle")
    ada.here("jobs.claim", runner_id="r1", job="JOB-001")
    assert needs(scene) == []
    scene.clock.forward(minutes=10)
    assert [(sign, who) for sign, who, _ in needs(scene)] == [("~", "JOB-001")]
