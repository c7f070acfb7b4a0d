"""One wait for everything: mail comes with the turn or instead of it, is not lost between waits, and one listens."""

from __future__ import annotations

import threading
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import cast

import pytest

from tallystick.hub.hub import Hub
from tallystick.kernel.caller import SessionKind
from tallystick.storage.port import Write
from tests.messages.talk import ask_attention, counts, human, notify, say
from tests.places import Place
from tests.scene import Actor, Row, Scene, Turn, refused
from tests.steps import written

EVERYTHING = ["turn", "messages", "notifications"]


def listen(actor: Actor, *include: str, **given: object) -> Row:
    """One look for mail, without waiting."""
    return actor.here("turns.wait", max_wait_ms=0, include=list(include) or ["messages"], **given)


@dataclass
class Patience:
    """Waits until it is told to stop, and says when the wait has begun to wait."""

    begun: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    def stopped(self) -> bool:
        return self.over.is_set()

    def waiting(self, elapsed: float, total: float) -> None:  # noqa: ARG002 - the shape of `Interest`
        self.begun.set()


@contextmanager
def waiting(actor: Actor, *include: str, hub: Hub | None = None) -> Generator[tuple[Patience, Future[Row]]]:
    """A wait that goes on in the background until it has an answer or the block ends."""
    patience = Patience()
    given = {"room_id": actor.room_id, "include": list(include) or ["messages"], "max_wait_ms": 110_000}

    def wait() -> Row:
        answer = (hub or actor.scene.hub).call("turns.wait", given, actor.caller, patience)
        return answer.to_data()

    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(wait)
        assert patience.begun.wait(30)
        try:
            yield patience, result
        finally:
            patience.over.set()


@pytest.fixture
def busy(scene: Scene) -> tuple[Actor, Actor]:
    """`ada` holds the stick, so `bob` has to wait."""
    ada, bob = scene.joined("ada", "bob")
    ada.claim()
    return ada, bob


def test_a_message_ends_a_wait_at_once(busy: tuple[Actor, Actor]) -> None:
    ada, bob = busy
    with waiting(bob, "turn", "messages") as (_patience, result):
        event = say(ada, "stop", to=["bob"])
        assert result.result(30) == {
            "status": "not_yet",
            "cursor": str(event["seq"]),
            "room_state": "owned",
            "current_owner": "ada",
            "messages": [event],
        }


def test_a_message_to_somebody_else_ends_no_wait(busy: tuple[Actor, Actor]) -> None:
    ada, bob = busy
    with waiting(bob) as (patience, result):
        say(ada, "not for you", to=["@user"])
        event = say(ada, "for you", to=["bob"])
        assert result.result(30)["messages"] == [event]
        assert patience.stopped() is False


def test_mail_that_is_already_there_is_brought_once_and_stays_unread(busy: tuple[Actor, Actor]) -> None:
    ada, bob = busy
    first, second = say(ada, "one"), say(ada, "two")
    assert listen(bob)["messages"] == [first, second]
    assert listen(bob) == {
        "status": "not_yet",
        "cursor": str(second["seq"]),
        "room_state": "owned",
        "current_owner": "ada",
        "messages": [],
    }
    assert counts(bob) == (2, 0)
    third = say(ada, "three")
    assert listen(bob)["messages"] == [third]


def test_a_closed_room_brings_what_had_come_before_it_closed_and_brings_it_once(busy: tuple[Actor, Actor]) -> None:
    ada, bob = busy
    say(ada, "the last word", to=["bob"])
    ada.owner("rooms.close", Turn(ada.room_id, 1, str(ada.state()["lease_id"])))

    first, second = listen(bob, "turn", "messages"), listen(bob, "turn", "messages")

    assert (first["status"], [each["data"]["text"] for each in first["messages"]]) == ("closed", ["the last word"])
    assert (second["status"], second["messages"]) == ("closed", [])
    assert listen(bob, "turn") == {"status": "closed", "room_id": bob.room_id}


def test_a_wait_for_the_turn_alone_answers_as_ever(busy: tuple[Actor, Actor]) -> None:
    ada, bob = busy
    event = say(ada)
    assert bob.look() == {
        "status": "not_yet",
        "cursor": str(event["seq"]),
        "room_state": "owned",
        "current_owner": "ada",
    }
    assert listen(bob, "turn") == bob.look()
    assert listen(bob)["messages"] == [event]


def test_each_thing_asked_for_has_a_list_of_its_own(busy: tuple[Actor, Actor]) -> None:
    ada, bob = busy
    message, note = say(ada), notify(ada)
    found = listen(bob, *EVERYTHING)
    assert (found["messages"], found["notifications"]) == ([message], [note])
    later = notify(ada, "error")
    assert listen(bob, "notifications") == {
        "status": "not_yet",
        "cursor": str(later["seq"]),
        "room_state": "owned",
        "current_owner": "ada",
        "notifications": [later],
    }


def test_a_turn_brings_the_mail_along(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.release(ada.claim())
    event = say(ada, "your go", to=["bob"])
    found = listen(bob, *EVERYTHING)
    assert (found["status"], found["messages"], found["notifications"]) == ("your_turn", [event], [])
    again = listen(bob, *EVERYTHING)
    assert (again["reason"], again["lease_id"], again["messages"]) == ("already_owner", found["lease_id"], [])


def test_a_chance_to_take_over_brings_the_mail_along(busy: tuple[Actor, Actor]) -> None:
    ada, bob = busy
    event = say(ada, "help", to=["bob"])
    ada.scene.kill(ada)
    found = listen(bob, "turn", "messages")
    assert (found["status"], found["messages"]) == ("takeover_available", [event])


def test_who_waits_for_messages_alone_claims_nothing(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    assert listen(ada)["status"] == "not_yet"
    assert ada.state()["owner"] is None


def test_the_holder_can_listen_while_it_works(busy: tuple[Actor, Actor]) -> None:
    ada, bob = busy
    event = say(bob, "careful", to=["ada"])
    assert listen(ada) == {
        "status": "not_yet",
        "cursor": str(event["seq"]),
        "room_state": "owned",
        "current_owner": "ada",
        "messages": [event],
    }


def test_a_person_can_listen_without_ever_holding(busy: tuple[Actor, Actor]) -> None:
    ada, _bob = busy
    eve = human(ada.scene, ada.room_id)
    eve.call("rooms.join", room_id=ada.room_id)
    event = say(ada, "done", to=["@user"])
    assert listen(eve)["messages"] == [event]


def test_a_cursor_brings_what_came_after_it(busy: tuple[Actor, Actor]) -> None:
    ada, bob = busy
    first, second = say(ada, "one"), say(ada, "two")
    assert listen(bob, cursor=str(first["seq"]))["messages"] == [second]
    assert listen(bob, cursor="0")["messages"] == [first, second]
    assert listen(bob)["messages"] == []


def test_with_a_cursor_any_event_ends_the_wait_as_ever(busy: tuple[Actor, Actor]) -> None:
    ada, bob = busy
    cursor = bob.state()["cursor"]
    ada.here("notes.add", body="by the way")
    found = bob.here("turns.wait", include=["messages"], cursor=cursor)
    assert (found["status"], found["messages"]) == ("not_yet", [])


def test_what_was_read_meanwhile_is_not_brought_again(busy: tuple[Actor, Actor]) -> None:
    ada, bob = busy
    event = say(ada)
    bob.here("messages.read", event_id=event["id"])
    assert listen(bob)["messages"] == []


def test_a_flood_comes_in_portions_and_nothing_of_it_is_skipped(busy: tuple[Actor, Actor]) -> None:
    ada, bob = busy
    sent = [say(ada, str(n), to=["bob"]) for n in range(55)]
    first = listen(bob)
    assert (first["messages"], first["cursor"]) == (sent[:50], str(sent[49]["seq"]))
    ada.here("notes.add", body="after all of it")
    assert listen(bob)["messages"] == sent[50:]


def test_the_place_in_the_mail_survives_a_restart(scene: Scene, place: Place) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.claim()
    say(ada, "before")
    listen(bob)
    event = say(ada, "while it was away")
    store = place.open()
    try:
        again = Hub(store, clock=scene.clock, machine_id="test-machine")
        given = {"room_id": bob.room_id, "include": ["messages"], "max_wait_ms": 0}
        answer = again.call("turns.wait", given, bob.caller).to_data()
    finally:
        store.close()
    assert answer["messages"] == [event]


def test_a_sender_who_waits_is_told_of_an_overdue_ack(busy: tuple[Actor, Actor]) -> None:
    ada, bob = busy
    event = ask_attention(bob, to=["ada"])
    bob.scene.clock.forward(minutes=31)
    (note,) = listen(bob, "notifications")["notifications"]
    assert (note["data"]["kind"], note["data"]["related_event_id"]) == ("nudge", event["id"])
    assert listen(ada, "notifications")["notifications"] == []


def test_a_second_listener_of_the_same_name_is_refused(busy: tuple[Actor, Actor]) -> None:
    _ada, bob = busy
    assert bob.caller.process
    with waiting(bob), refused("duplicate_listener") as caught:
        bob.here("turns.wait", include=["messages"])
    assert caught.value.details == {"since": "2026-09-21T14:13:20.000Z", "pid": bob.caller.process.pid}


def test_another_name_may_listen_at_the_same_time(busy: tuple[Actor, Actor]) -> None:
    ada, bob = busy
    with waiting(bob) as (_one, bobs), waiting(ada) as (_two, adas):
        event = say(human(ada.scene, ada.room_id), "to both")
        assert (bobs.result(30)["messages"], adas.result(30)["messages"]) == ([event], [event])


def test_one_look_and_a_wait_for_the_turn_alone_disturb_no_listener(busy: tuple[Actor, Actor]) -> None:
    _ada, bob = busy
    with waiting(bob):
        assert listen(bob)["messages"] == []
        assert bob.look()["status"] == "not_yet"


def test_when_a_wait_ends_its_name_is_free_however_it_ended(busy: tuple[Actor, Actor]) -> None:
    ada, bob = busy
    with waiting(bob) as (patience, result):
        patience.over.set()
        result.result(30)
    with waiting(bob) as (_patience, result):
        say(ada, to=["bob"])
        result.result(30)
    bob.here("turns.wait", include=["messages"], max_wait_ms=1)
    with waiting(bob):
        pass
    (row,) = [dict(row) for row in ada.scene.rows("listeners")]
    assert (row["agent_id"], row["listener_id"], row["until"]) == ("bob", None, None)


@pytest.mark.parametrize("how", ["dead", "expired", "clock set back"])
def test_a_listener_that_died_makes_room(busy: tuple[Actor, Actor], how: str) -> None:
    ada, bob = busy
    scene = ada.scene
    with scene.hub.writing() as tx:
        written("turns.wait", bob.caller, room_id=bob.room_id, include=["messages"], max_wait_ms=60_000)(tx)
    with refused("duplicate_listener"):
        bob.here("turns.wait", include=["messages"])
    match how:
        case "dead":
            scene.kill(bob)
            bob = Actor(scene, scene.reborn("bob").caller, bob.room_id)
        case "expired":
            scene.clock.forward(ms=65_000)
        case _:
            scene.clock.forward(minutes=-1)
    event = say(ada, to=["bob"])
    assert bob.here("turns.wait", include=["messages"])["messages"] == [event]


def test_a_stranger_who_waits_leaves_no_trace(busy: tuple[Actor, Actor]) -> None:
    ada, _bob = busy
    before = ada.scene.dump()
    with refused("unknown_member"):
        ada.scene.stranger(ada.room_id).here("turns.wait", include=["messages"])
    assert ada.scene.dump() == before


@pytest.mark.parametrize("include", [[], ["mail"], ["job"], "turn", ["turn"] * 6])
def test_only_what_there_is_can_be_waited_for(busy: tuple[Actor, Actor], include: object) -> None:
    _ada, bob = busy
    with _ada.refused("too_large" if include == ["turn"] * 6 else "invalid_input"):
        bob.here("turns.wait", include=include)


def test_mail_that_wants_an_ack_ends_a_plain_wait_and_comes_with_it_once(busy: tuple[Actor, Actor]) -> None:
    ada, bob = busy
    with waiting(bob, "turn") as (patience, result):
        before = say(ada, "by the way", to=["bob"])
        event = ask_attention(ada, "stop", to=["bob"])
        found = result.result(30)
        assert patience.stopped() is False

    assert found == {
        "status": "not_yet",
        "cursor": str(event["seq"]),
        "room_state": "owned",
        "current_owner": "ada",
        "messages": [before, event],
        "notifications": [],
    }
    assert "messages" not in listen(bob, "turn"), "the next wait waits"
    assert counts(bob) == (2, 1)


def test_the_turn_comes_with_the_mail_that_wants_an_ack(busy: tuple[Actor, Actor]) -> None:
    ada, bob = busy
    event = ask_attention(ada, "read this first", to=["bob"])
    ada.release(Turn(ada.room_id, 1, str(ada.state()["lease_id"])))

    found = listen(bob, "turn")

    assert (found["status"], found["messages"]) == ("your_turn", [event])


@dataclass
class Counting:
    """A store that counts its write transactions."""

    scene: Scene
    writes: int = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self.scene.store, name)

    def write(self) -> AbstractContextManager[Write]:
        self.writes += 1
        return self.scene.store.write()


@pytest.mark.parametrize(("include", "writes"), [(["turn"], 1), (["turn", "messages"], 3)])
def test_a_quiet_wait_writes_only_when_it_begins_and_ends(
    busy: tuple[Actor, Actor], include: list[str], writes: int
) -> None:
    _ada, bob = busy
    counting = Counting(bob.scene)
    hub = Hub(cast("object", counting), clock=bob.scene.clock, machine_id="test-machine")  # pyright: ignore[reportArgumentType]
    looks = Patience()
    given = {"room_id": bob.room_id, "include": include, "max_wait_ms": 800}
    assert hub.call("turns.wait", given, bob.caller, looks).to_data()["status"] == "not_yet"
    assert looks.begun.is_set()
    assert counting.writes == writes


def test_a_one_shot_command_that_wants_the_turn_too_is_told_that_it_cannot_hold(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    eve = Actor(scene, scene.agent("human:eve:pts1", session=SessionKind.HUMAN_CLI).caller, ada.room_id)
    eve.call("rooms.join", room_id=ada.room_id)
    with scene.refused("observer_cannot_hold"):
        listen(eve, "turn", "messages")
