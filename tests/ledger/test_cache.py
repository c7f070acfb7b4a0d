"""What a process remembers of a room: true while nobody else has added to it, and bounded."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tallystick.capabilities.agents.queries import SQL as AGENTS
from tallystick.capabilities.rooms.queries import SQL as ROOMS
from tallystick.hub.hub import Hub
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.ledger.cache import CALLERS_REMEMBERED, ROOMS_REMEMBERED, ROWS_REMEMBERED, RoomCache, RoomCaches
from tallystick.ledger.tx import Tx
from tests.messages.talk import say
from tests.places import Place
from tests.scene import Scene, refused
from tests.statements import noted, taken


@pytest.fixture
def other(place: Place, scene: Scene) -> Generator[Hub]:
    """The same store, as another process has it."""
    store = place.open()
    yield Hub(store, clock=scene.clock, machine_id="test-machine")
    store.close()


def test_rows_are_true_for_the_event_they_were_stored_with() -> None:
    cache = RoomCache()
    cache.put("a", {("x",): 1})
    assert cache.take("a") == {("x",): 1}
    cache.put("a", {("x",): 1})
    assert cache.take("b") == {}


def test_whoever_takes_the_rows_has_them_alone() -> None:
    cache = RoomCache()
    cache.put("a", {("x",): 1})
    cache.take("b")
    assert cache.take("a") == {}


def test_the_rooms_that_were_used_last_are_remembered() -> None:
    caches = RoomCaches()
    first, second = caches.of("first"), caches.of("second")
    for number in range(ROOMS_REMEMBERED - 2):
        caches.of(f"room {number}")
    assert caches.of("first") is first
    caches.of("one more")
    assert caches.of("first") is first
    assert caches.of("second") is not second


def test_callers_are_forgotten_before_there_are_too_many() -> None:
    cache = RoomCache()
    for number in range(CALLERS_REMEMBERED + 1):
        cache.saw(Caller(agent_id=f"agent {number}", session=SessionKind.NAMED), number)
        cache.got_on(f"agent {number}", number)
        cache.lives(f"agent {number}", number)
    assert (len(cache.seen), len(cache.progressed), len(cache.alive)) == (1, 1, 1)


def test_rows_are_forgotten_before_there_are_too_many(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    with scene.hub.writing() as tx:
        for number in range(ROWS_REMEMBERED + 1):
            tx.remember(ada.room_id, (number,), number)
        assert len(tx.folded(ada.room_id)) <= ROWS_REMEMBERED


def test_one_message_after_the_other_reads_neither_the_room_nor_its_members(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, _bob = scene.joined("ada", "bob")
    say(ada, "one", to=["bob"])
    members, rooms = noted(monkeypatch, AGENTS), noted(monkeypatch, ROOMS)
    say(ada, "two", to=["bob"])
    assert (taken(members), taken(rooms)) == (0, 0)


def test_a_member_that_came_through_another_process_is_known_here(scene: Scene, other: Hub) -> None:
    ada, bob = scene.joined("ada", "bob")
    say(ada, "one", to=["bob"])
    cyd = scene.agent("cyd")
    other.call("rooms.join", {"room_id": ada.room_id}, cyd.caller)
    say(ada, "two", to=["cyd"])
    other.call("rooms.leave", {"room_id": ada.room_id}, bob.caller)
    with refused("agent_not_found"):
        say(ada, "three", to=["bob"])


def test_a_member_that_came_here_is_known_at_once(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    say(ada, "one", to=["bob"])
    cyd = scene.agent("cyd")
    cyd.join()
    say(ada, "two", to=["cyd"])
    cyd.here("rooms.leave")
    with refused("agent_not_found"):
        say(ada, "three", to=["cyd"])


class Stop(Exception):
    """What a block raises to be rolled back."""


def _say_and_fail(tx: Tx, room_id: str) -> None:
    tx.remember(room_id, ("roster",), [])
    raise Stop


def test_what_a_failed_transaction_remembered_is_forgotten(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    say(ada, "one", to=["bob"])
    with pytest.raises(Stop), scene.hub.writing() as tx:
        _say_and_fail(tx, ada.room_id)
    say(ada, "two", to=["bob"])


def test_what_is_live_is_forgotten_when_the_transaction_ends(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    with scene.hub.writing() as tx:
        tx.live(ada.room_id)["runners",] = 1
        assert tx.next().live(ada.room_id) == {("runners",): 1}
    with scene.hub.writing() as tx:
        assert tx.live(ada.room_id) == {}
