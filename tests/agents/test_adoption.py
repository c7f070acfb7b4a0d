"""Going on as another agent: only with a ground, only when it is gone, and from then on everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from tallystick.capabilities.agents.model import OwnedTask, Ownership
from tallystick.hub import maintenance
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.ledger.tx import Tx
from tallystick.storage.port import Store
from tests.agents.repository import git, repository
from tests.scene import Actor, Row, Scene, refused


@pytest.fixture
def scene(store: Store, tmp_path: Path) -> Scene:
    """A scene in a real git repository."""
    return Scene(store, repository(tmp_path / "repo").resolve())


class Tasks:
    """Somebody who keeps tasks."""

    def __init__(self, **owned: Sequence[OwnedTask]) -> None:
        self._owned = owned

    def in_progress(self, tx: Tx, room_id: str, agent_id: str) -> Sequence[OwnedTask]:  # noqa: ARG002
        return self._owned.get(agent_id, ())


def with_tasks(scene: Scene, **owned: Sequence[OwnedTask]) -> None:
    offers = cast("dict[type, object]", scene.hub.world.offers)
    offers[Ownership] = Tasks(**owned)


def left_behind(scene: Scene) -> tuple[Actor, Actor]:
    """Ada reserved src and died; bob comes."""
    ada, bob = scene.joined("ada", "bob")
    ada.here("reservations.reserve", path="src")
    scene.kill(ada)
    return ada, bob


def change(scene: Scene, name: str) -> None:
    path = scene.workspace / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("two\n")


def test_uncommitted_changes_in_its_scope_are_a_ground(scene: Scene) -> None:
    _ada, bob = left_behind(scene)
    change(scene, "src/parser.py")
    change(scene, "src/new.py")
    adopted = bob.here("agents.adopt", agent_id="ada")
    (event,) = bob.events(kinds=["x.tally.protocol.resume"])
    assert adopted == {
        "room_id": bob.room_id,
        "agent_id": "ada",
        "name": "ada",
        "session_id": "bob",
        "reason": "uncommitted_scope",
        "evidence": "2 uncommitted files in src: src/new.py, src/parser.py",
        "task_ids": [],
        "confirmed": False,
        "event_seq": event["seq"],
    }
    assert event["by"] == "system"
    (found,) = cast("list[Row]", bob.here("protocol.list", event_type="RESUME")["events"])
    assert (found["event"]["from_agent"], found["event"]["to_agent"]) == ("bob", "ada")
    assert found["event"]["payload"] == {
        "resume_reason": "uncommitted_scope",
        "prior_session_agent": "ada",
        "adopted_agent": "ada",
        "evidence": "2 uncommitted files in src: src/new.py, src/parser.py",
    }
    assert maintenance.check(scene.hub) == []


@pytest.mark.parametrize("how", ["staged", "deleted", "renamed"])
def test_every_kind_of_uncommitted_change_counts(scene: Scene, how: str) -> None:
    _ada, bob = left_behind(scene)
    match how:
        case "staged":
            change(scene, "src/parser.py")
            git(scene.workspace, "add", ".")
        case "deleted":
            (scene.workspace / "src/parser.py").unlink()
        case _:
            git(scene.workspace, "mv", "src/parser.py", "lib/parser.py")
    assert bob.here("agents.adopt", agent_id="ada")["evidence"] == "1 uncommitted file in src: src/parser.py"


def test_changes_outside_the_claimed_scope_are_none(scene: Scene) -> None:
    _ada, bob = left_behind(scene)
    change(scene, "docs/guide.md")
    before = scene.dump()
    with refused("adoption_rejected") as caught:
        bob.here("agents.adopt", agent_id="ada")
    assert caught.value.details == {"agent_id": "ada", "scope": ["src"], "uncommitted": 0, "in_progress": []}
    assert caught.value.message == "There are no uncommitted files in src, and ada has no task in progress there."
    assert scene.dump() == before
    for scope in ("lib/*", "docs/*"):
        with refused("adoption_rejected"):
            bob.here("agents.adopt", agent_id="ada", scope=scope)
    change(scene, "src/deep/new.py")
    with refused("adoption_rejected"):
        bob.here("agents.adopt", agent_id="ada", scope="src/other/*")
    adopted = bob.here("agents.adopt", agent_id="ada", scope="src/deep/*")
    assert adopted["evidence"] == "1 uncommitted file in src/deep/*: src/deep/new.py"


def test_files_of_somebody_who_reserved_nothing_and_those_of_beads_are_none(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    change(scene, "docs/guide.md")
    cyd.here("reservations.reserve", path=".beads")
    change(scene, ".beads/issues.jsonl")
    scene.kill(ada)
    scene.kill(cyd)
    for gone in ("ada", "cyd"):
        with refused("adoption_rejected"):
            bob.here("agents.adopt", agent_id=gone)
    assert recommendation(bob)["action"] == "register"


def test_a_clean_repository_is_no_ground(scene: Scene) -> None:
    _ada, bob = left_behind(scene)
    with scene.refused("adoption_rejected"):
        bob.here("agents.adopt", agent_id="ada")


def test_without_a_repository_only_tasks_count(scene: Scene, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "AGENTS.md").touch()
    ada, bob = scene.agent("ada"), scene.agent("bob")
    for actor in (ada, bob):
        actor.join(plain)
    scene.kill(ada)
    with scene.refused("adoption_rejected"):
        bob.here("agents.adopt", agent_id="ada")


def test_a_task_in_progress_in_its_scope_is_a_ground(scene: Scene) -> None:
    _ada, bob = left_behind(scene)
    with_tasks(scene, ada=[OwnedTask(task_id="TASK-1", paths=["src/parser.py"]), OwnedTask(task_id="TASK-2")])
    adopted = bob.here("agents.adopt", agent_id="ada")
    assert (adopted["reason"], adopted["task_ids"]) == ("in_progress_ownership", ["TASK-1", "TASK-2"])
    (found,) = cast("list[Row]", bob.here("protocol.list", task_id="TASK-1")["events"])
    assert found["event"]["payload"]["resume_reason"] == "in_progress_ownership"
    assert found["event"]["bead_id"] == "TASK-1"


def test_a_task_elsewhere_or_of_somebody_else_is_none(scene: Scene) -> None:
    _ada, bob = left_behind(scene)
    elsewhere = [OwnedTask(task_id="TASK-1", paths=["docs/*", "../x", ""])]
    with_tasks(scene, ada=elsewhere, cyd=[OwnedTask(task_id="TASK-2")])
    with scene.refused("adoption_rejected"):
        bob.here("agents.adopt", agent_id="ada")


def test_an_active_agent_is_never_adopted(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.here("reservations.reserve", path="src")
    change(scene, "src/parser.py")
    with refused("agent_active"):
        bob.here("agents.adopt", agent_id="ada")
    scene.clock.forward(minutes=16)
    with refused("agent_active") as caught:
        bob.here("agents.adopt", agent_id="ada")
    assert caught.value.message == "The process of ada is alive."
    assert recommendation(bob)["action"] == "register"
    scene.kill(ada)
    assert bob.here("agents.adopt", agent_id="ada")["agent_id"] == "ada"


def test_the_stick_does_not_come_with_an_adoption(scene: Scene) -> None:
    ada, bob = left_behind(scene)
    scene.dead.clear()
    turn = ada.claim()
    change(scene, "src/parser.py")
    scene.kill(ada)
    bob.here("agents.adopt", agent_id="ada")
    assert bob.look()["status"] == "takeover_available"
    with refused("stale_lease"):
        bob.owner("turns.heartbeat", turn)
    assert bob.take_over(turn.turn_id, "going on for ada")["revoked_agent_id"] == "ada"


def test_a_living_session_without_a_process_keeps_its_turn_and_hears_of_its_adoption(scene: Scene) -> None:
    (bob,) = scene.joined("bob")
    ada = Actor(scene, Caller(agent_id="ada", session=SessionKind.NAMED), bob.room_id)
    ada.join()
    turn = ada.claim()
    ada.here("reservations.reserve", path="src")
    change(scene, "src/parser.py")
    scene.clock.forward(minutes=16)
    bob.here("agents.adopt", agent_id="ada")
    found = bob.look()
    assert (found["status"], cast("Row", found["other_session"])["session_id"]) == ("not_yet", "ada")
    with refused("session_superseded"):
        ada.owner("turns.heartbeat", turn)
    assert ada.owner("turns.heartbeat", turn)["status"] == "ok"
    with refused("stale_lease"):
        bob.owner("turns.heartbeat", turn)


@pytest.mark.parametrize(
    ("who", "code"), [("user", "not_adoptable"), ("human:wren:pts1", "not_adoptable"), ("svc:ci", "agent_not_found")]
)
def test_nobody_acts_for_a_person_or_a_service(scene: Scene, who: str, code: str) -> None:
    (bob,) = scene.joined("bob")
    target = Actor(scene, Caller(agent_id=who, session=SessionKind.HUMAN_CLI), bob.room_id)
    if who == "svc:ci":
        target.here("messages.send", text="green", to=["bob"])
    else:
        target.join()
    scene.clock.forward(minutes=60)
    person = scene.agent("human:eve:pts2", session=SessionKind.HUMAN_CLI)
    person.room_id = bob.room_id
    for actor in (bob, person):
        with scene.refused(code):
            actor.here("agents.adopt", agent_id=who, confirm=True)
    with scene.refused(code):
        person.here("agents.allow_adoption", agent_id=who, session_id="bob")


def test_a_task_that_the_adopter_assigned_or_started_is_no_ground(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    bob.here("tasks.create", title="assigned by bob", assignee="ada", status="running")
    cyd.here("tasks.create", title="started by bob", assignee="ada")
    bob.here("tasks.update", task="TASK-002", status="running")
    scene.kill(ada)
    with scene.refused("adoption_rejected"):
        bob.here("agents.adopt", agent_id="ada")
    assert cyd.here("agents.adopt", agent_id="ada")["task_ids"] == ["TASK-001"]


def test_the_adopting_session_acts_as_that_agent_from_then_on(scene: Scene) -> None:
    _ada, bob = left_behind(scene)
    (cyd,) = scene.joined("cyd")
    cyd.here("messages.send", to=["ada"], text="are you there?")
    change(scene, "src/parser.py")
    bob.here("agents.adopt", agent_id="ada")

    assert [each["agent_id"] for each in bob.members()] == ["ada", "cyd"]
    assert bob.here("reservations.check", paths=["src/parser.py"])["agent_id"] == "ada"
    checked = bob.call("reservations.check", path=str(scene.workspace), paths=["src/parser.py"])
    assert [each["verdict"] for each in cast("list[Row]", checked["paths"])] == ["mine"]
    assert cast("Row", bob.here("messages.inbox"))["unread"] == 1
    assert bob.join()["agent_id"] == "ada"
    assert bob.here("agents.heartbeat")["agent_id"] == "ada"
    bob.here("notes.add", body="going on")
    assert bob.events(kinds=["x.tally.note.add"])[0]["by"] == "ada"
    shown = bob.here("agents.show")
    assert (shown["agent_id"], shown["pid"], shown["liveness"]) == (
        "ada",
        bob.caller.process.pid if bob.caller.process else None,
        "active",
    )
    assert bob.look()["status"] == "your_turn"
    bob.here("reservations.release", path="src")
    assert maintenance.check(scene.hub) == []


def test_after_an_adoption_the_former_session_is_nobody_here(scene: Scene) -> None:
    ada, bob = left_behind(scene)
    change(scene, "src/parser.py")
    bob.here("agents.adopt", agent_id="ada")
    bob.here("rooms.leave")
    assert [each["agent_id"] for each in bob.members()] == []
    with refused("unknown_member"):
        bob.here("agents.heartbeat")
    assert ada.room_id == bob.room_id


def test_a_session_adopts_again_and_the_newest_adopter_has_the_agent(scene: Scene) -> None:
    _ada, bob = left_behind(scene)
    change(scene, "src/parser.py")
    bob.here("agents.adopt", agent_id="ada")
    scene.kill(bob)
    (cyd,) = scene.joined("cyd")
    cyd.here("agents.adopt", agent_id="ada")
    assert cyd.here("agents.heartbeat")["agent_id"] == "ada"
    with refused("unknown_member"):
        scene.reborn("bob").call("agents.heartbeat", room_id=cyd.room_id)
    assert maintenance.check(scene.hub) == []


def test_who_holds_the_stick_hands_it_over_before_it_becomes_somebody_else(scene: Scene) -> None:
    _ada, bob = left_behind(scene)
    change(scene, "src/parser.py")
    bob.claim()
    with scene.refused("holds_stick"):
        bob.here("agents.adopt", agent_id="ada")


def test_a_person_may_confirm_what_nothing_speaks_for_and_an_agent_may_not(scene: Scene) -> None:
    _ada, bob = left_behind(scene)
    named = Actor(scene, Caller(agent_id="zz", session=SessionKind.NAMED), bob.room_id)
    guardian = Actor(scene, Caller(agent_id="zz", session=SessionKind.HUMAN_GUARDIAN), bob.room_id)
    script = Actor(scene, Caller(agent_id="human:root:-", session=SessionKind.HUMAN_CLI), bob.room_id)
    for nobody in (bob, named, guardian, script):
        with scene.refused("adoption_rejected"):
            nobody.here("agents.adopt", agent_id="ada", confirm=True)
    person = scene.agent("human:wren:pts1", session=SessionKind.HUMAN_CLI)
    person.room_id = bob.room_id
    adopted = person.here("agents.adopt", agent_id="ada", confirm=True)
    assert (adopted["reason"], adopted["confirmed"]) == ("in_progress_ownership", True)
    assert adopted["evidence"] == "Nothing was found that is left to do; human:wren:pts1 confirmed it."


def by_token(scene: Scene, name: str, room_id: str) -> Actor:
    session = SessionKind.HUMAN_CLI if name == "user" else SessionKind.NAMED
    return Actor(scene, Caller(agent_id=name, session=session, by_token=True), room_id)


def test_a_visitor_adopts_only_what_a_person_let_it_and_signs_with_its_own_name(scene: Scene) -> None:
    _ada, bob = left_behind(scene)
    change(scene, "src/parser.py")
    eve, user = by_token(scene, "eve", bob.room_id), by_token(scene, "user", bob.room_id)
    eve.here("rooms.join")
    with scene.refused("adoption_not_allowed"):
        eve.here("agents.adopt", agent_id="ada", confirm=True)
    with scene.refused("person_needed"):
        bob.here("agents.allow_adoption", agent_id="ada", session_id="eve")
    allowed = user.here("agents.allow_adoption", agent_id="ada", session_id="eve")
    (event,) = bob.events(kinds=["x.tally.adoption.allow"])
    assert allowed == {"room_id": bob.room_id, "agent_id": "ada", "session_id": "eve", "event_seq": event["seq"]}
    assert (event["by"], event["data"]) == ("user", {"agent_id": "ada", "session_id": "eve"})
    eve.here("agents.adopt", agent_id="ada")
    eve.here("reservations.release", path="src")
    eve.here("messages.send", text="going on", to=["bob"])
    (said,) = bob.events(kinds=["chat.message"])
    assert (said["by"], said["data"]["acting_for"]) == ("eve", "ada")
    assert bob.events(kinds=["x.tally.reservation.release"])[0]["by"] == "eve"
    assert maintenance.check(scene.hub) == []


def test_a_persons_word_lets_an_agent_go_on_once_although_nothing_speaks_for_it(scene: Scene) -> None:
    _ada, bob = left_behind(scene)
    person = scene.agent("human:wren:pts1", session=SessionKind.HUMAN_CLI)
    person.room_id = bob.room_id
    seq = person.here("agents.allow_adoption", agent_id="ada", session_id="bob")["event_seq"]
    adopted = bob.here("agents.adopt", agent_id="ada")
    assert (adopted["confirmed"], adopted["evidence"]) == (
        True,
        f"Nothing was found that is left to do; a person allowed it (event {seq}).",
    )
    bob.here("rooms.leave")
    scene.agent("ada").join()
    bob.join()
    with refused("adoption_rejected"):
        bob.here("agents.adopt", agent_id="ada")


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"agent_id": "nobody"}, "agent_not_found"),
        ({"agent_id": "bob"}, "invalid_input"),
        ({"agent_id": "ada", "scope": "../x"}, "path_outside"),
        ({"agent_id": "ada", "scope": "src/*.py"}, "glob_not_supported"),
        ({"agent_id": "ada", "context_path": "relative"}, "invalid_input"),
        ({"agent_id": "ada", "context_path": "/"}, "path_outside"),
        ({"agent_id": ""}, "invalid_input"),
    ],
)
def test_what_cannot_be_adopted_is_refused(scene: Scene, given: dict[str, object], code: str) -> None:
    _ada, bob = left_behind(scene)
    with scene.refused(code):
        bob.here("agents.adopt", **given)


def recommendation(actor: Actor) -> Row:
    return cast("Row", actor.here("agents.candidates")["recommendation"])


def test_without_anything_left_behind_a_new_name_is_recommended(scene: Scene) -> None:
    _ada, bob = left_behind(scene)
    first = recommendation(bob)
    assert first == {
        "action": "register",
        "agent_id": None,
        "name": first["name"],
        "reason": "no_unfinished_work: nobody who left has uncommitted files or a task in progress here",
    }
    assert recommendation(bob) == first
    assert cast("Row", bob.here("agents.register")["agent"])["name"] == first["name"]


def test_the_one_who_left_work_behind_last_is_recommended_and_always_the_same(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    ada.here("reservations.reserve", path="src")
    scene.clock.forward(minutes=1)
    cyd.here("reservations.reserve", path="docs")
    for name in ("src/parser.py", "docs/guide.md", "lib/util.py"):
        change(scene, name)
    scene.kill(ada)
    scene.kill(cyd)
    assert recommendation(bob) == recommendation(bob)
    assert recommendation(bob) == {
        "action": "adopt",
        "agent_id": "cyd",
        "name": None,
        "reason": "uncommitted_scope: 1 uncommitted file in docs: docs/guide.md",
    }
    found = cast("list[Row]", bob.here("agents.candidates")["candidates"])
    assert [(each["agent_id"], each["liveness"], each["reason"]) for each in found] == [
        ("ada", "evicted", "uncommitted_scope"),
        ("cyd", "evicted", "uncommitted_scope"),
    ]
    before = scene.dump()
    recommendation(scene.stranger(bob.room_id))
    assert scene.dump() == before


def test_a_task_in_progress_is_recommended_too(scene: Scene) -> None:
    _ada, bob = left_behind(scene)
    with_tasks(scene, ada=[OwnedTask(task_id="TASK-1")])
    assert recommendation(bob)["reason"] == "in_progress_ownership: 1 task in progress: TASK-1"
