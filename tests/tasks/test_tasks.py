"""Tasks, cards and anchors: small, durable, and changed only where it was asked for."""

from __future__ import annotations

import pytest

from tallystick.hub import maintenance
from tallystick.kernel.clock import to_wire
from tests.jobs.shop import Shop
from tests.scene import START, Scene, refused

WHEN = to_wire(START)


@pytest.fixture
def shop(scene: Scene) -> Shop:
    return Shop.opened(scene)


def test_a_task_says_what_done_means_and_how_it_is_verified(shop: Shop) -> None:
    task = shop.ask(
        "tasks.create",
        title="Rewrite the parser",
        description="It is slow.",
        definition_of_done=["all tests pass"],
        steps=[{"text": "pytest -q"}],
        anchor="a:parser",
        paths=["src/parser"],
    )
    assert task == {
        "task_id": "TASK-001",
        "revision": 1,
        "status": "ready",
        "title": "Rewrite the parser",
        "description": "It is slow.",
        "definition_of_done": ["all tests pass"],
        "steps": [{"text": "pytest -q", "done": False}],
        "assignee": None,
        "anchor": "a:parser",
        "paths": ["src/parser"],
        "refs": [],
        "summary": None,
        "created_by": "boss",
        "created_at": WHEN,
        "updated_at": WHEN,
    }
    assert shop.ask("tasks.show", task="TASK-001") == task
    assert shop.ask("anchors.show", anchor="a:parser")["tasks"] == [task]


def test_an_update_changes_only_what_is_given(shop: Shop) -> None:
    before = shop.ask("tasks.create", title="a", definition_of_done=["x"], assignee="user")
    after = shop.ask("tasks.update", task="TASK-001", status="running", steps=[{"text": "run it", "done": True}])
    assert after == {**before, "revision": 2, "status": "running", "steps": [{"text": "run it", "done": True}]}
    freed = shop.ask("tasks.update", task="TASK-001", assignee=None)
    assert (freed["assignee"], freed["status"]) == (None, "running")


def test_an_update_that_expects_another_revision_or_names_nothing_is_refused(shop: Shop) -> None:
    shop.task()
    with shop.scene.refused("task_moved_on"):
        shop.ask("tasks.update", task="TASK-001", status="done", expected_revision=2)
    with shop.scene.refused("nothing_to_change"):
        shop.ask("tasks.update", task="TASK-001")
    with shop.scene.refused("unknown_task"):
        shop.ask("tasks.update", task="TASK-404", status="done")
    with shop.scene.refused("invalid_input"):
        shop.ask("tasks.update", task="TASK-001", status="finished")


@pytest.mark.parametrize("status", ["ready", "running", "blocked", "done", "canceled"])
def test_a_task_has_the_statuses_that_the_bus_and_messages_use(shop: Shop, status: str) -> None:
    shop.task()
    assert shop.ask("tasks.update", task="TASK-001", status=status)["status"] == status
    assert [task["task_id"] for task in shop.ask("tasks.list", status=status)["tasks"]] == ["TASK-001"]


def test_tasks_come_in_pages_the_most_recently_changed_first(shop: Shop) -> None:
    for _ in range(3):
        shop.task()
    shop.ask("tasks.update", task="TASK-001", status="running")
    page = shop.ask("tasks.list", limit=2)
    assert [task["task_id"] for task in page["tasks"]] == ["TASK-001", "TASK-003"]
    rest = shop.ask("tasks.list", limit=2, before_seq=page["cursor"])
    assert ([task["task_id"] for task in rest["tasks"]], rest["has_more"]) == (["TASK-002"], False)


def test_focus_is_each_ones_own(shop: Shop) -> None:
    shop.task("mine")
    shop.task("yours")
    (other,) = shop.scene.joined("other")
    shop.ask("tasks.focus", task="TASK-001")
    other.here("tasks.focus", task="TASK-002")

    assert shop.ask("tasks.snapshot")["task"]["task_id"] == "TASK-001"
    assert other.here("tasks.snapshot")["task"]["task_id"] == "TASK-002"  # pyright: ignore[reportIndexIssue]
    events = shop.boss.events()
    shop.ask("tasks.focus", task="TASK-001")
    assert shop.boss.events() == events
    assert shop.ask("tasks.focus")["task"] is None
    assert shop.ask("tasks.snapshot")["task"] is None


def test_a_snapshot_shows_at_most_one_active_job_for_the_task_in_focus(shop: Shop) -> None:
    shop.ask("tasks.create", title="parser", definition_of_done=["tests pass"], steps=[{"text": "pytest"}], focus=True)
    assert shop.ask("tasks.snapshot")["job"] is None
    for number in range(3):
        shop.create(f"part {number}", task="TASK-001")
    shop.create("of nobody")
    runner = shop.runner()
    runner.claim("JOB-002").report("Which one?", kind="question")
    found = shop.ask("tasks.snapshot")

    asked = shop.open("JOB-002")["question"]["ref"]
    assert found["job"] == {
        "job_id": "JOB-002",
        "status": "RUNNING",
        "marker": "?",
        "ref": asked,
        "title": "part 1",
    }
    assert found["inbox"] == {"running": 1, "queued": 3, "runner": "idle"}
    assert found["text"].splitlines() == [
        "inbox running=1 queued=3 runner=idle job=JOB-002 (RUNNING?)",
        "TASK-001 (ready) parser | open id=TASK-001",
        "dod: tests pass",
        "steps: 0/1 verified",
    ]


def test_a_snapshot_says_what_to_type_where_jobs_wait_for_a_runner(shop: Shop) -> None:
    shop.ask("tasks.create", title="parser", focus=True)
    shop.create("part", task="TASK-001")

    lines = shop.ask("tasks.snapshot")["text"].splitlines()

    assert lines[:2] == [
        "inbox running=0 queued=1 runner=offline job=JOB-001 (QUEUED)",
        f"CMD: tally runner --room {shop.boss.room_id}",
    ]
    shop.runner().claim().report("the build is broken", kind="error")
    assert shop.ask("tasks.snapshot")["text"].startswith(
        "inbox running=1 queued=0 runner=idle job=JOB-001 (RUNNING!)\n"
    )


def test_a_card_keeps_a_finding_and_pinned_ones_come_first(shop: Shop) -> None:
    first = shop.ask(
        "cards.create", title="Slow", body="It is quadratic.", type="evidence", tags=["b", "a:parser", "b"]
    )
    assert first == {
        "card_id": "CARD-001",
        "revision": 1,
        "title": "Slow",
        "body": "It is quadratic.",
        "type": "evidence",
        "tags": ["a:parser", "b"],
        "refs": [],
        "pinned": False,
        "created_by": "boss",
        "created_at": WHEN,
        "updated_at": WHEN,
    }
    shop.card("Other", tags=["a:parser"])
    pinned = shop.ask("cards.update", card="CARD-001", pinned=True)
    assert pinned == {**first, "revision": 2, "pinned": True}
    assert [card["card_id"] for card in shop.ask("cards.list", tag="a:parser")["cards"]] == ["CARD-001", "CARD-002"]
    assert [card["card_id"] for card in shop.ask("cards.list", pinned=True)["cards"]] == ["CARD-001"]
    shop.ask("cards.update", card="CARD-001", tags=["c"])
    assert [card["card_id"] for card in shop.ask("cards.list", tag="a:parser")["cards"]] == ["CARD-002"]


def test_a_card_that_moved_on_or_is_not_there_is_refused(shop: Shop) -> None:
    shop.card()
    with shop.scene.refused("card_moved_on"):
        shop.ask("cards.update", card="CARD-001", title="x", expected_revision=9)
    with shop.scene.refused("unknown_card"):
        shop.ask("cards.show", card="CARD-404")
    with shop.scene.refused("too_large"):
        shop.card(body="x" * 70_000)


def test_an_anchor_is_made_once_and_by_whatever_names_it_first(shop: Shop) -> None:
    shop.create(anchor="a:core")
    shop.create(anchor="a:core")
    assert [anchor["anchor_id"] for anchor in shop.ask("anchors.list")["anchors"]] == ["a:core"]
    with refused("anchor_exists"):
        shop.ask("anchors.create", anchor="a:core")
    changed = shop.ask("anchors.update", anchor="a:core", title="The core", paths=["src"])
    assert (changed["title"], changed["paths"]) == ("The core", ["src"])
    with refused("unknown_anchor"):
        shop.ask("anchors.update", anchor="a:none", title="x")
    with refused("nothing_to_change"):
        shop.ask("anchors.update", anchor="a:core")


def test_a_rebuild_gives_the_same_tasks_cards_and_anchors(shop: Shop) -> None:
    shop.ask("tasks.create", title="a", focus=True, anchor="a:x")
    shop.ask("tasks.update", task="TASK-001", status="blocked", summary="waiting")
    shop.card(tags=["a:x"])
    shop.ask("cards.update", card="CARD-001", tags=["z"], pinned=True)
    shop.ask("anchors.update", anchor="a:x", title="x")
    before = shop.scene.dump()

    maintenance.rebuild(shop.scene.hub)
    assert shop.scene.dump() == before
