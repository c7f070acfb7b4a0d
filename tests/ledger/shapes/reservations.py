"""Reservations of every fate, incursions, handoffs between agents and adoptions."""

from __future__ import annotations

from tallystick.kernel.errors import Refused
from tests.ledger.shapes.writer import Writer, in_repository
from tests.scene import Actor, Row


def reservations(w: Writer) -> None:
    ada, bob, cyd = w.room("reservations", "ada", "bob", "cyd")
    w.shape("reservation.grant: as short as can be")
    ada.here("reservations.reserve", path="src/parser.py")
    w.shape("reservation.grant: a shared folder for a task")
    ada.here("reservations.reserve", path="docs/*", mode="shared", ttl_minutes=5, task_id="TASK-001")
    w.shape("reservation.renew: by renewing")
    ada.here("reservations.renew", path="src/parser.py", ttl_minutes=60)
    w.shape("reservation.renew: by reserving again, otherwise")
    ada.here("reservations.reserve", path="src/parser.py", mode="shared", task_id="TASK-002")
    w.shape("reservation.release")
    ada.here("reservations.release", path="src/parser.py")
    w.shape("reservation.expire, system.notify: its time is up")
    w.scene.clock.forward(minutes=6)
    bob.here("reservations.reserve", path="lib")
    w.shape("reservation.expire, system.notify: taken over from one who is stale")
    w.scene.clock.forward(minutes=16)
    cyd.here("reservations.reserve", path="lib/util.py", takeover_stale=True)
    w.shape("reservation.expire, system.notify: taken over from one who is gone")
    w.scene.kill(cyd)
    ada.here("reservations.reserve", path="lib", takeover_stale=True, task_id="TASK-003")
    w.scene.reborn("cyd")
    w.shape("actor.remove: with a reservation")
    ada.here("rooms.leave")


def expired_meanwhile(w: Writer) -> None:
    (ada,) = w.room("reservations that run out", "ada")
    for path in ("docs", "lib", "src"):
        ada.here("reservations.reserve", path=path, ttl_minutes=60 if path == "src" else 5)
        w.scene.clock.forward(minutes=1)
    w.shape("reservation.expire, system.notify: found by renewing another")
    w.scene.clock.forward(minutes=2)
    ada.here("reservations.renew", path="src", ttl_minutes=60)
    w.shape("reservation.expire, system.notify: found by releasing another")
    w.scene.clock.forward(minutes=1)
    ada.here("reservations.release", path="src")


def incursions(w: Writer) -> None:
    ada, bob, cyd = w.room("incursions", "ada", "bob", "cyd")
    ada.here("reservations.reserve", path="src", task_id="TASK-001")
    w.shape("protocol.incursion: refused, inside somebody's folder")
    _refused(bob, path="src/parser.py")
    w.shape("protocol.incursion: refused, the very path, for a task")
    _refused(bob, path="src", task_id="TASK-002")
    w.shape("protocol.incursion: shared, around two paths")
    bob.here("reservations.reserve", path="lib")
    cyd.here("reservations.reserve", path=".", mode="shared")
    w.shape("protocol.incursion: refused, its holder is stale")
    w.scene.clock.forward(minutes=16)
    cyd.here("agents.heartbeat")
    _refused(cyd, path="src/lexer.py")
    w.shape("protocol.incursion: an edit that a hook refused")
    cyd.here("reservations.attempt", paths=["src/main.py"])


def _refused(actor: Actor, **given: object) -> None:
    try:
        actor.here("reservations.reserve", **given)
    except Refused:
        return
    raise AssertionError("granted")


def protocol(w: Writer) -> None:
    ada, _bob = w.room("protocol", "ada", "bob")
    about: Row = {"task_id": "TASK-001", "subject": "parser done"}
    handoff: Row = {**about, "event_type": "HANDOFF", "summary": "tests green", "next_action": "review it"}
    w.shape("chat.message, protocol.handoff: as short as can be")
    ada.here("protocol.send", to="bob", **handoff)
    w.shape("chat.message, protocol.handoff: with a scope, without an ack")
    ada.here("protocol.send", to="bob", scope="src/*", requires_ack=False, **handoff)
    w.shape("chat.message, protocol.blocked: to the user")
    blocked: Row = {**about, "event_type": "BLOCKED", "blocker": "no access", "requested_action": "renew the token"}
    ada.here("protocol.send", to="user", urgency="high", **blocked)
    w.shape("chat.message, protocol.blocked: with a scope")
    ada.here("protocol.send", to="bob", urgency="low", scope="src", **blocked)


def adoptions(w: Writer) -> None:
    (ada, bob, cyd) = w.room("adoptions", "ada", "bob", "cyd")
    in_repository(w, ada)
    ada.here("reservations.reserve", path="src")
    w.scene.kill(ada)
    w.shape("actor.remove, protocol.resume: files were left uncommitted")
    bob.here("agents.adopt", agent_id="ada")
    dan = w.enter(w.scene.agent("dan"), ada.room_id)
    dan.here("tasks.create", title="unfinished", assignee="dan", status="running")
    dan.here("tasks.create", title="also", assignee="dan", status="running")
    w.scene.kill(dan)
    w.shape("actor.remove, protocol.resume: tasks are in progress")
    cyd.here("agents.adopt", agent_id="dan", scope="lib")
    eve = w.enter(w.scene.agent("eve"), ada.room_id)
    w.scene.kill(eve)
    w.shape("protocol.resume: a person confirms it")
    w.person(ada.room_id).here("agents.adopt", agent_id="eve", scope="lib", confirm=True)
    w.shape("note.add: by a session that acts for another")
    bob.here("notes.add", body="going on")
