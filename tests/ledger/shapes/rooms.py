"""Rooms, members, turns and notes."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from tallystick.capabilities.agents.events import MemberAdded, MemberUpdated
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.envelope import Draft
from tests.ledger.shapes.writer import Writer
from tests.scene import Row

FULL_HANDOFF: Row = {
    "status": 'the parser is rewritten; žluťoučký kůň \u2028 "quoted" \\ </tag>',
    "next_action": "review it",
    "artifacts": [
        {"path": "src/parser.py", "lines": [1, 20], "role": "review", "note": "the new loop"},
        {"path": "docs/guide.md", "role": "context"},
    ],
    "open_questions": ["is 3.10 still supported?"],
    "do_not": ["touch the lexer"],
}


def rooms(w: Writer) -> None:
    ada = w.scene.agent("ada")
    w.shape("group.create: without a path")
    ada.room_id = cast("str", ada.call("rooms.create", title="golden")["room_id"])
    w.shape("group.create, group.attach: for a path")
    ada.call("rooms.create", title="devices", context_path="/dev")
    w.shape("group.create, group.attach, actor.add: by joining a path")
    ada.join(Path("/"))
    w.shape("group.attach: a second path")
    ada.here("rooms.attach_scope", context_path="/usr")
    w.shape("group.set_policy: one value, from a scope")
    ada.here("rooms.set_policy", claim_ttl_ms=1000)
    w.shape("group.set_policy: every value")
    ada.here(
        "rooms.set_policy",
        owner_lease_ttl_ms=600_000,
        heartbeat_interval_ms=60_000,
        claim_ttl_ms=120_000,
        wait_for_turn_max_wait_ms=1_000,
        wait_for_turn_poll_ms=100,
        presence_ttl_ms=3_600_000,
        ack_overdue_ms=900_000,
    )
    w.shape("stick.claim: from a scope")
    ada.claim()


def members(w: Writer) -> None:
    ada, bob, _cyd = w.room("members", "ada", "bob", "cyd")
    w.shape("actor.add: with a harness and a name")
    known = Caller(agent_id="codex:1", session=SessionKind.NAMED, harness="codex", display_name="Codex One")
    w.enter(w.caller("", known), ada.room_id)
    w.shape("actor.add: a person")
    person = w.person(ada.room_id)
    person.here("rooms.join")
    w.shape("actor.add: under a name of its own choice")
    w.scene.agent("dan").call("rooms.join", room_id=ada.room_id, agent_id_override="deputy")
    w.shape("actor.add: by registering, a name was found for it")
    eve = w.scene.agent("eve")
    eve.room_id = ada.room_id
    eve.here("agents.register")
    w.shape("actor.add: by registering as foreman under a name")
    fay = w.scene.agent("fay")
    fay.room_id = ada.room_id
    added = MemberAdded(actor_id="fay", name="amber-otter", role="foreman", harness="", ordinal=7)
    w.written_before(fay, "agents.register", added)
    w.shape("actor.update: a member registers")
    bob.here("agents.register", name="cobalt-harbor")
    w.shape("actor.update: another name and role")
    w.written_before(bob, "agents.update", MemberUpdated(actor_id="bob", name="Bob", role="foreman"))
    w.shape("actor.update: by a person")
    person.here("agents.update", agent_id="ada", role="foreman")
    w.shape("actor.remove: by leaving")
    eve.here("rooms.leave")
    w.shape("group.reorder")
    order = [cast("str", member["agent_id"]) for member in ada.members()]
    ada.here("rooms.reorder", sequence=order[::-1])


def turns(w: Writer) -> None:
    ada, bob, cyd = w.room("turns", "ada", "bob", "cyd")
    w.shape("stick.claim: nobody held it before")
    turn = ada.claim()
    ada.owner("turns.heartbeat", turn)
    w.shape("stick.release: somebody comes after")
    ada.release(turn)
    w.shape("stick.claim: in sequence")
    turn = bob.claim()
    w.shape("stick.pass: with all that a handoff can hold")
    bob.pass_to(turn, "ada", handoff=FULL_HANDOFF)
    w.shape("stick.claim: after a pass")
    turn = ada.claim()
    w.shape("stick.release: with all that a handoff can hold")
    ada.release(turn, handoff=FULL_HANDOFF)
    bob.here("rooms.leave")
    cyd.here("rooms.leave")
    turn = ada.claim()
    w.shape("stick.release: nobody comes after")
    ada.release(turn)
    w.shape("stick.claim: in sequence, reserved for nobody")
    turn = ada.claim()
    w.shape("stick.close: by the holder")
    ada.owner("rooms.close", turn, reason="done")


def takeovers(w: Writer) -> None:
    ada, bob, cyd, dan = w.room("takeovers", "ada", "bob", "cyd", "dan")
    ada.claim()
    w.shape("stick.takeover: owner_timeout")
    w.scene.clock.forward(minutes=50)
    bob.take_over(1)
    turn = bob.claim()
    bob.pass_to(turn, "cyd")
    w.shape("stick.takeover: claim_timeout")
    w.scene.clock.forward(minutes=21)
    dan.take_over(2, "cyd does not come")
    w.shape("stick.takeover: owner_gone")
    w.scene.kill(dan)
    ada.take_over(3)
    turn = ada.claim()
    ada.pass_to(turn, "cyd")
    w.shape("stick.takeover: recipient_gone")
    w.scene.kill(cyd)
    bob.take_over(4)
    w.shape("stick.takeover: the store knows no lease")
    w.scene.sql("DELETE FROM leases WHERE room_id = :room_id", room_id=ada.room_id)
    ada.take_over(5)
    w.scene.reborn("dan")
    w.scene.reborn("cyd")


def notes_and_own_events(w: Writer) -> None:
    ada, _bob = w.room("notes", "ada", "bob")
    w.shape("note.add: before any turn")
    ada.here("notes.add", body="žluťoučký kůň")
    ada.claim()
    w.shape("note.add: in a turn")
    ada.here("notes.add", body="two\nlines")
    w.shape("note.add: about another turn")
    ada.here("notes.add", body="earlier", turn_id=0)
    w.shape("events.append: values of every type")
    data: Row = {"ok": True, "took": 1.5, "": None, "b": {"z": 1, "a": [1e300, -0.0, 12345678901234567890, "\u0000é"]}}
    w.written_before(ada, "events.append", Draft(kind="x.acme.build", data=data, scope_key="s_1"))
    w.shape("events.append: empty, of a vendor")
    ada.here("events.append", kind="vendor.acme.ping", data={})


def sessions(w: Writer) -> None:
    (sol,) = w.room("two sessions of one name", "sol")
    w.shape("session.supersede")
    newer = w.scene.reborn("sol")
    newer.room_id = sol.room_id
    newer.here("agents.heartbeat")


def persons_word(w: Writer) -> None:
    ada, _bob = w.room("what a person decides", "sol", "rex")
    person = w.scene.agent("human:wren:pts1", session=SessionKind.HUMAN_CLI)
    person.room_id = ada.room_id
    w.shape("adoption.allow")
    person.here("agents.allow_adoption", agent_id="sol", session_id="rex")


def persons_orders(w: Writer) -> None:
    vic, _zoe = w.room("what a person ends", "vic", "zoe")
    vic.claim()
    w.shape("stick.revoke, system.notify")
    w.person(vic.room_id).here("turns.revoke", expected_turn_id=1, reason="it hangs")
    w.shape("actor.remove: by a person")
    w.person(vic.room_id).here("rooms.remove", agent_id="zoe", reason="its script has ended")


def being_seen(w: Writer) -> None:
    (ivy,) = w.room("a place in the turn order", "ivy")
    w.shape("actor.add: only seen, with no place in the turn order")
    kai = w.scene.agent("kai")
    kai.call("rooms.join", room_id=ivy.room_id, in_order=False)
    kai.room_id = ivy.room_id
    w.shape("sequence.enter")
    kai.here("rooms.join")


def closing(w: Writer) -> None:
    fay, _gus = w.room("closing", "fay", "gus")
    fay.claim()
    fay.release(fay.claim())
    w.shape("stick.close: nobody holds it, without a reason")
    fay.here("rooms.close")
