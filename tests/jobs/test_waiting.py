"""A job's question reaches the manager wherever the manager waits; tasks answer those who ask about them."""

from __future__ import annotations

from tallystick.capabilities.agents.model import OwnedTask, Ownership
from tests.jobs.shop import Shop
from tests.scene import refused


def wait(shop: Shop, **given: object) -> list[dict[str, object]]:
    found = shop.ask("turns.wait", include=["jobs"], max_wait_ms=0, **given)
    return found["jobs"]


def test_a_question_reaches_a_manager_who_waits_for_jobs(shop: Shop) -> None:
    shop.create()
    held = shop.runner().claim()
    assert wait(shop) == []
    asked = held.report("Which one?", kind="question")["event"]

    (event,) = wait(shop)
    assert (event["seq"], event["kind"]) == (asked["seq"], "x.tally.job.question")
    assert event["data"]["message"] == "Which one?"  # pyright: ignore[reportIndexIssue]
    assert wait(shop, cursor=str(asked["seq"])) == []
    assert [each["seq"] for each in wait(shop, cursor=str(asked["seq"] - 1))] == [asked["seq"]]


def test_an_answered_question_no_longer_comes_with_a_wait(shop: Shop) -> None:
    shop.create()
    shop.runner().claim().report("Which one?", kind="question")
    shop.ask("jobs.radar", reply_job="JOB-001", reply_message="the second")
    assert wait(shop) == []


def test_one_wait_brings_a_turn_messages_and_questions_together(shop: Shop) -> None:
    (other,) = shop.scene.joined("other")
    other.here("messages.send", text="hello", to=["boss"])
    shop.create()
    shop.runner().claim().report("Which one?", kind="question")
    found = shop.ask("turns.wait", include=["turn", "messages", "jobs"], max_wait_ms=0)

    assert found["status"] == "your_turn"
    assert [len(found["messages"]), len(found["jobs"])] == [1, 1]


def test_a_message_can_point_only_at_a_task_of_its_own_room(shop: Shop) -> None:
    shop.task()
    (other,) = shop.scene.joined("other")
    ours = {"kind": "task_ref", "task_id": "TASK-001"}
    sent = other.here("messages.send", text="about this", refs=[ours, {"kind": "task_ref", "task_id": "bd-7"}])
    assert sent["event"]

    with refused("unknown_task"):
        other.here("messages.send", text="about that", refs=[{"kind": "task_ref", "task_id": "TASK-002"}])


def test_an_agent_owns_the_tasks_that_it_is_working_on(shop: Shop) -> None:
    for name in ("codex", "claude"):
        shop.scene.agent(name).join(shop.scene.workspace)
    shop.task("mine", assignee="codex", status="running", paths=["src"])
    shop.task("not begun", assignee="codex")
    shop.task("another's", assignee="claude", status="running")
    with shop.scene.hub.reading() as tx:
        owned = tx.use(Ownership).in_progress(tx, shop.boss.room_id, "codex")
    assert list(owned) == [OwnedTask(task_id="TASK-001", paths=("src",), made_by=("boss",))]
