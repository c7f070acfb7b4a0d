"""What the notices beside a write cost: on PostgreSQL each look is a way there and back, under the room's lock."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tallystick.capabilities.messages.queries import SQL as MESSAGES
from tallystick.capabilities.reservations.queries import SQL as RESERVATIONS
from tallystick.hub.engine import signs
from tallystick.hub.hub import Hub
from tallystick.ledger.tx import Tx
from tests.messages.talk import ask_attention
from tests.reservations.calls import reserve
from tests.scene import Actor, Scene

LOOKS = {MESSAGES["inbox"]: "inbox", RESERVATIONS["losses"]: "losses"}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The looks at mail and losses, as they are taken."""
    names: list[str] = []

    def noting(run: Callable[..., object]) -> Callable[..., object]:
        def noted(tx: Tx, query: object, /, *rest: object, **values: object) -> object:
            names.extend(name for look, name in LOOKS.items() if look is query)
            return run(tx, query, *rest, **values)

        return noted

    for verb in ("one", "all"):
        monkeypatch.setattr(Tx, verb, noting(getattr(Tx, verb)))
    return names


def beside(actor: Actor) -> list[str]:
    """The notices of a member as the writer of its room sees them."""

    def look(tx: Tx) -> list[str]:
        tx.lock(actor.room_id)
        return signs(tx, actor.room_id, actor.caller)

    return actor.scene.hub.write(look, actor.room_id)


UNREAD = "1 unread message, 1 needs your ack: <<messages.inbox>>"


def test_who_writes_again_and_again_is_looked_up_once(scene: Scene, asked: list[str]) -> None:
    ada, bob = scene.joined("ada", "bob")

    found = [beside(ada), beside(ada)]
    ada.here("notes.add", body="a note")
    bob.here("notes.add", body="another")
    found.append(beside(ada))

    assert (found, asked) == ([[], [], []], ["inbox", "losses"])


def test_new_mail_shows_at_the_next_write_and_is_gone_when_it_is_read_and_acked(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    before = beside(ada)

    event_id = ask_attention(bob)["id"]
    unread = beside(ada)
    ada.here("messages.read", event_id=event_id)
    owed = beside(ada)
    ada.here("messages.ack", event_id=event_id)

    assert (before, unread) == ([], [UNREAD])
    assert (owed, beside(ada)) == (["1 message needs your ack: <<messages.inbox>>"], [])


def test_a_loss_shows_at_the_next_write_until_it_is_regained(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    reserve(ada, "src/*")
    before = beside(ada)
    scene.clock.forward(minutes=20)
    reserve(bob, "src/a.py", takeover_stale=True)
    lost = beside(ada)
    bob.here("reservations.release", path="src/a.py")
    reserve(ada, "src")

    told = "1 unread message: <<messages.inbox>>"
    assert before == []
    assert lost == [told, "you lost src/*: bob took it over. What is reserved now: <<reservations.status>>"]
    assert beside(ada) == [told]


def test_what_another_program_did_to_an_inbox_is_seen(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    before = beside(ada)
    other = Hub(scene.store, clock=scene.clock, machine_id="test-machine")
    given = {"room_id": bob.room_id, "text": "please look", "priority": "attention"}

    other.call("messages.send", given, bob.caller)

    assert (before, beside(ada)) == ([], [UNREAD])
