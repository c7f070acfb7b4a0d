"""Waiting: an answer at once, after a wake, or when the time is up; no wake lost, and nothing written meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from tallystick.capabilities.agents import queries as agents
from tallystick.hub import engine
from tallystick.hub.engine import CallRequest, ReadStep, WaitStep, WriteStep
from tallystick.hub.visitor import Visitor
from tallystick.storage.sql_files import Query
from tests.hub.patience import Patience
from tests.scene import HANDOFF, TABLES, Actor, Row, Scene, Turn
from tests.statements import noted

LONG = 60_000
"""Milliseconds that no test ever waits to the end."""


def wait(actor: Actor, operation: str, patience: Patience, **given: object) -> Row:
    asked = {"room_id": actor.room_id, "max_wait_ms": LONG, **given}
    return actor.scene.hub.call(operation, asked, actor.caller, patience).to_data()


def append(actor: Actor, number: int = 1) -> None:
    actor.here("events.append", kind="x.acme.tick", data={"number": number})


def test_following_returns_at_once_when_there_is_something(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    append(ada)
    patience = Patience(looks=1)
    page = wait(bob, "events.follow", patience, since_seq=4)
    assert ([event["seq"] for event in page["events"]], page["cursor"], patience.seen) == ([5], 5, 0)


def test_following_returns_when_something_happens(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    page = wait(bob, "events.follow", Patience(looks=1000, then=lambda: append(ada)), since_seq=4)
    assert ([event["data"] for event in page["events"]], page["cursor"]) == ([{"number": 1}], 5)


def test_following_with_a_filter_sleeps_through_everything_else(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")

    def noise() -> None:
        ada.here("notes.add", body="not for bob")
        append(ada)

    page = wait(bob, "events.follow", Patience(looks=1000, then=noise), since_seq=4, kinds=["x.acme.tick"])
    assert [event["seq"] for event in page["events"]] == [6]


def test_following_is_empty_when_the_time_is_up(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    assert ada.here("events.follow", since_seq=3, max_wait_ms=1) == {"events": [], "cursor": 3, "head": 3}


def test_following_from_beyond_the_end_waits_for_that_place(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")

    def two_events() -> None:
        append(ada, 1)
        append(ada, 2)

    page = wait(bob, "events.follow", Patience(looks=1000, then=two_events), since_seq=5)
    assert [event["data"]["number"] for event in page["events"]] == [2]


@pytest.mark.parametrize("how", ["release", "pass"])
def test_a_waiting_recipient_gets_its_turn_when_the_stick_is_handed_over(scene: Scene, how: str) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    hand_over: Callable[[], object] = (
        (lambda: ada.release(turn)) if how == "release" else (lambda: ada.pass_to(turn, "bob"))
    )
    found = wait(bob, "turns.wait", Patience(looks=1000, then=hand_over))
    assert (found["status"], found["turn_id"], found["handoff"]) == ("your_turn", 2, HANDOFF)


def test_whoever_is_next_in_line_takes_its_turn_without_looking_first(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    looks: list[bool] = []
    reading = scene.hub.reading
    monkeypatch.setattr(scene.hub, "reading", lambda: (looks.append(True), reading())[1])

    def release() -> None:
        ada.release(turn)
        looks.clear()

    assert wait(bob, "turns.wait", Patience(looks=1000, then=release))["status"] == "your_turn"
    assert looks == []


def test_whoever_is_next_in_line_and_woken_for_something_else_goes_on_waiting(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.claim()

    assert wait(bob, "turns.wait", Patience(looks=4, then=lambda: append(ada, 1)))["status"] == "not_yet"
    assert ada.here("turns.state")["owner"] == "ada"


def test_a_waiter_learns_that_the_room_was_closed(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    found = wait(bob, "turns.wait", Patience(looks=1000, then=lambda: ada.owner("rooms.close", turn)))
    assert found == {"status": "closed", "room_id": ada.room_id}


@pytest.mark.parametrize("fate", ["expired", "dead"])
def test_a_waiter_learns_without_any_event_that_the_stick_can_be_taken_over(scene: Scene, fate: str) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.claim()
    end: Callable[[], object] = (
        (lambda: scene.kill(ada)) if fate == "dead" else (lambda: scene.clock.forward(minutes=46))
    )
    found = wait(bob, "turns.wait", Patience(looks=1000, then=end))
    assert found["status"] == "takeover_available"


def test_a_wait_with_a_cursor_returns_when_anything_happens(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.claim()
    found = wait(bob, "turns.wait", Patience(looks=1000, then=lambda: append(ada)), cursor="5")
    assert found == {"status": "not_yet", "cursor": "6", "room_state": "owned", "current_owner": "ada"}


def test_a_wait_without_a_cursor_sleeps_through_what_is_not_its_turn(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.claim()
    patience = Patience(looks=5, then=lambda: append(ada))
    assert wait(bob, "turns.wait", patience)["status"] == "not_yet"
    assert patience.seen == 5


def test_a_wait_that_ends_with_not_yet_can_simply_be_repeated(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    assert wait(bob, "turns.wait", Patience(looks=1))["status"] == "not_yet"
    ada.release(turn)
    assert wait(bob, "turns.wait", Patience(looks=1))["status"] == "your_turn"


def test_a_wait_of_no_time_makes_one_attempt(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    patience = Patience(looks=1000)
    assert wait(ada, "turns.wait", patience, max_wait_ms=0)["status"] == "your_turn"
    assert wait(bob, "turns.wait", patience, max_wait_ms=0)["status"] == "not_yet"
    assert patience.seen == 0


def test_the_rooms_policy_says_how_long_a_wait_lasts_that_names_no_time(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.claim()
    ada.here("rooms.set_policy", wait_for_turn_max_wait_ms=0)
    patience = Patience(looks=1000)
    assert wait(bob, "turns.wait", patience, max_wait_ms=None)["status"] == "not_yet"
    assert patience.seen == 0


def test_a_caller_who_has_left_is_given_nothing(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    gone = Patience(looks=0)
    ada.release(turn)
    assert wait(bob, "turns.wait", gone)["status"] == "not_yet"
    assert ada.state()["owner"] is None


def test_a_wake_between_the_look_and_the_wait_is_not_lost(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    watch = scene.store.watch(ada.room_id)
    try:
        assert bob.events(since_seq=4) == []
        append(ada)
        assert watch.wait(60) is True
        assert len(bob.events(since_seq=4)) == 1
    finally:
        watch.close()


def test_a_change_by_another_thread_reaches_a_waiter(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    asleep = Event()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(wait, bob, "turns.wait", Patience(looks=1000, then=asleep.set))
        assert asleep.wait(60)
        ada.release(turn)
        assert waiting.result(60)["status"] == "your_turn"


def test_a_heartbeat_wakes_nobody(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    turn = ada.claim()
    watch = scene.store.watch(ada.room_id)
    try:
        while watch.wait(0.05):
            pass
        ada.owner("turns.heartbeat", turn)
        assert watch.wait(0.05) is False
    finally:
        watch.close()


def traces(scene: Scene) -> object:
    """What any write at all would change, even one that writes the same values again."""
    if scene.store.engine == "sqlite":
        file = str(scene.store.describe()["location"])
        stats = [Path(name).stat() for name in (file, f"{file}-wal")]
        return [(stat.st_size, stat.st_mtime_ns) for stat in stats]
    versions = "SELECT ctid::text AS place, xmin::text AS made, xmax::text AS ended FROM {} ORDER BY 1"
    with scene.store.read() as rows:
        return {table: rows.all(_query(versions.format(table)), dict[str, str]) for table in TABLES}


def _query(text: str) -> Query:
    return Query(text, text, text)


def test_a_quiet_wait_writes_nothing(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.claim()
    ada.here("rooms.set_policy", wait_for_turn_poll_ms=10)
    bob.here("turns.wait", max_wait_ms=1)  # That bob wants the stick is written by its first wait.
    patience = Patience(looks=25)
    before = traces(scene)
    assert wait(bob, "turns.wait", patience)["status"] == "not_yet"
    assert wait(bob, "events.follow", Patience(looks=3), since_seq=99)["events"] == []
    assert traces(scene) == before
    assert patience.seen == 25


def test_a_wait_whose_time_is_up_is_answered_from_its_last_look(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.claim()
    bob.here("turns.wait", max_wait_ms=1)
    statements = noted(monkeypatch, agents.SQL)

    assert bob.here("turns.wait", max_wait_ms=100)["status"] == "not_yet"
    assert statements.count("members") == len(["the first look", "once more when the room is watched"])


def test_a_claim_does_leave_such_traces(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    before = traces(scene)
    ada.claim()
    assert traces(scene) != before


def test_a_wait_refreshes_the_waiters_presence_once_and_not_at_every_look(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.claim()
    scene.clock.forward(minutes=10)
    seen: list[object] = []

    def look_at_bob() -> None:
        scene.clock.forward(minutes=1)
        seen.append(ada.here("agents.show", agent_id="bob")["last_seen_at"])

    wait(bob, "turns.wait", Patience(looks=4, then=look_at_bob))
    seen.append(ada.here("agents.show", agent_id="bob")["last_seen_at"])
    assert seen == ["2026-09-21T14:23:20.000Z"] * 2


def test_an_owner_who_waits_finds_its_turn_at_once(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    turn = ada.claim()
    patience = Patience(looks=1)
    found = wait(ada, "turns.wait", patience)
    assert (Turn(ada.room_id, found["turn_id"], found["lease_id"]), patience.seen) == (turn, 0)


def test_what_a_wait_needs_before_its_first_look_counts_as_waiting(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.claim()
    seconds = [0.0]
    monkeypatch.setattr(engine, "monotonic", lambda: seconds[0])
    request = CallRequest(
        visitor=Visitor(caller=bob.caller, trusted=True),
        operation="turns.wait",
        given={"room_id": bob.room_id, "max_wait_ms": 8000},
    )
    steps = engine.call(request, lambda _operation, _outcome, _seconds: None)

    scene.clock.forward(minutes=1)
    presence = next(steps)
    assert isinstance(presence, ReadStep)
    assert isinstance(steps.send(scene.hub.read(presence.run)), WriteStep)
    seconds[0] = 3.0
    look = steps.send(None)
    assert isinstance(look, ReadStep)
    wanting = steps.send(scene.hub.read(look.run))
    assert isinstance(wanting, WriteStep)
    wait = steps.send(scene.hub.write(wanting.run, wanting.room_id))

    assert isinstance(wait, WaitStep)
    assert (wait.elapsed, wait.total) == (3.0, 8.0)
