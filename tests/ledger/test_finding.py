"""Finding what one agent did and what one task is about: all of it, in order, however long the ledger is."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tallystick.hub import maintenance
from tallystick.kernel.envelope import TASK_LIMIT, Draft, tasks_of
from tests.scene import Actor, Row, Scene, refused


def seqs(actor: Actor, **given: object) -> list[int]:
    return [event["seq"] for event in actor.events(**given)]


def test_only_what_one_agent_did_is_found(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    for actor in (ada, bob, ada, bob):
        actor.here("notes.add", body="a note")
    assert seqs(ada, by="bob") == [4, 6, 8]
    assert seqs(ada, by="bob", kinds=["x.tally.note.add"]) == [6, 8]
    assert seqs(ada, by="bob", newest=True, limit=1) == [8]
    assert seqs(ada, by="bob", newest=True, before_seq=8, limit=1) == [6]
    assert seqs(ada, by="bob", since_seq=6) == [8]
    assert seqs(ada, by="nobody") == []


def test_everything_about_a_task_is_found_whatever_kind_names_it(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    task = cast("str", ada.here("tasks.create", title="the parser")["task_id"])
    about = {"refs": [{"kind": "task_ref", "task_id": task}]}
    ada.here("messages.send", text="about it", **about)
    bob.here("messages.send", text="about nothing")
    ada.here("reservations.reserve", path="src/a.py", task_id=task)
    bob.here("events.append", kind="x.acme.build", data={"task_id": task})
    found = [(event["by"], event["kind"]) for event in ada.events(task_id=task)]
    assert found == [
        ("ada", "x.tally.task.create"),
        ("ada", "chat.message"),
        ("ada", "x.tally.reservation.grant"),
        ("bob", "x.acme.build"),
    ]
    assert [event["kind"] for event in ada.events(task_id=task, by="bob")] == ["x.acme.build"]
    assert [event["kind"] for event in ada.events(task_id=task, kinds=["chat.message"])] == ["chat.message"]
    newest = ada.events(task_id=task, newest=True, limit=2)
    assert [event["kind"] for event in newest] == ["x.tally.reservation.grant", "x.acme.build"]
    assert ada.events(task_id="TASK-999") == []


def test_what_a_job_says_is_about_its_task(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    task = ada.here("tasks.create", title="the parser")["task_id"]
    made = cast("Row", ada.here("jobs.create", title="do it", prompt="now", task=task)["job"])
    ada.here("jobs.message", job=made["job_id"], message="how far are you?")
    kinds = [event["kind"] for event in ada.events(task_id=task)]
    assert kinds == ["x.tally.task.create", "x.tally.job.create", "x.tally.job.message"]


def test_an_old_event_is_found_behind_many_of_others(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    bob.here("events.append", kind="x.acme.once", data={"task_id": "T-1"})
    _fill(scene, ada.room_id, 10_000)
    assert [event["kind"] for event in ada.events(by="bob", newest=True)] == ["actor.add", "x.acme.once"]
    assert [event["kind"] for event in ada.events(task_id="T-1", newest=True)] == ["x.acme.once"]


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_an_old_event_is_found_in_a_ledger_of_a_hundred_thousand(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    bob.here("events.append", kind="x.acme.once", data={"task_id": "T-1"})
    _fill(scene, ada.room_id, 100_000)
    assert [event["kind"] for event in ada.events(by="bob", newest=True)] == ["actor.add", "x.acme.once"]
    assert [event["kind"] for event in ada.events(task_id="T-1", newest=True)] == ["x.acme.once"]


def _fill(scene: Scene, room_id: str, count: int) -> None:
    for start in range(0, count, 1000):
        with scene.hub.writing() as tx:
            tx.lock(room_id)
            drafts = [Draft(kind="x.acme.tick", data={"number": number}) for number in range(start, start + 1000)]
            tx.append(room_id, "ada", drafts)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"by": 7}, "invalid_input"),
        ({"by": "a\0b"}, "invalid_input"),
        ({"by": "x" * 201}, "too_large"),
        ({"task_id": "x" * 201}, "too_large"),
        ({"task": "T-1"}, "unknown_field"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(scene: Scene, given: dict[str, Any], code: str) -> None:
    (ada,) = scene.joined("ada")
    with refused(code):
        ada.events(**given)


@pytest.mark.parametrize(
    ("data", "tasks"),
    [
        ({"task_id": "T-1", "task": "T-2", "bead_id": "T-1"}, ["T-1", "T-2"]),
        ({"refs": [{"kind": "task_ref", "task_id": "T-3"}, {"kind": "url", "task_id": "T-4"}, "T-5", None]}, ["T-3"]),
        ({"task_id": 7, "task": None, "bead_id": "", "refs": "T-1"}, []),
        ({"task_id": "x" * (TASK_LIMIT + 1), "task": "a\0b"}, []),
        ({}, []),
    ],
)
def test_an_event_is_about_the_tasks_that_it_names(data: dict[str, object], tasks: list[str]) -> None:
    assert tasks_of(data) == tasks


def test_a_rebuilt_store_finds_the_same(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    task = ada.here("tasks.create", title="the parser")["task_id"]
    ada.here("jobs.create", title="do it", prompt="now", task=task)
    before = scene.rows("event_tasks")
    maintenance.rebuild(scene.hub)
    assert before
    assert scene.rows("event_tasks") == before
