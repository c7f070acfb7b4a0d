"""Protocol events, actions and jobs in the conversation and on the board: first-class rows with their own labels."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tallystick.capabilities.agents.events import AgentResumed, ResumePayload
from tallystick.ledger.contract import Envelope
from tallystick.surfaces.web import rows
from tests.http.running import RunningHub
from tests.web.browsing import Agent, join
from tests.web.conftest import Look

pytestmark = pytest.mark.browser

BLOCKED = {
    "event_type": "BLOCKED",
    "to": "user",
    "task_id": "TASK-001",
    "subject": "no access",
    "blocker": "the registry refuses my token",
    "requested_action": "renew the token",
    "urgency": "high",
}


def test_a_blocked_agent_needs_input_and_accepting_it_is_on_record(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    sent = ada.call("protocol.send", **BLOCKED)
    viewer = look()
    viewer.go("/")
    viewer.shows("#needs", "no access")
    viewer.go(f"/rooms/{room}/sessions")
    row = viewer.find(f"#e{sent['seq']}")
    expect(row.locator(".tag")).to_have_text("Needs input")
    expect(row).to_contain_text("blocked by: the registry refuses my token")
    expect(viewer.find("#rows .ev:has-text('no access')")).to_have_count(1)
    row.get_by_role("button", name="Accepted").click()
    expect(row).to_contain_text("1 of 1 accepted")
    (listed,) = ada.call("protocol.list")["events"]
    assert listed["ack"]["acked_at"]


def test_a_handoff_of_work_says_passed_to(hub: RunningHub, look: Look, room: str) -> None:
    ada, _bob = join(hub, room, "ada", "bob")
    handoff = {"event_type": "HANDOFF", "to": "bob", "task_id": "TASK-001", "subject": "parser done"}
    sent = ada.call("protocol.send", **handoff, summary="grammar complete", next_action="review it")
    viewer = look()
    viewer.go(f"/rooms/{room}/sessions?task=TASK-001")
    row = viewer.find(f"#e{sent['seq']}")
    expect(row.locator(".tag")).to_have_text("Passed to")
    for text in ("bob", "parser done", "grammar complete", "review it", "0 of 1 accepted"):
        expect(row).to_contain_text(text)


def test_an_adoption_is_a_row_that_says_resumed() -> None:
    said = AgentResumed(
        agent_id="amber-otter",
        session_id="claude:1c4e",
        from_agent="claude:1c4e",
        to_agent="amber-otter",
        task_id=None,
        task_ids=[],
        scope=None,
        confirmed=False,
        payload=ResumePayload(
            resume_reason="uncommitted_work",
            prior_session_agent="amber-otter",
            adopted_agent="amber-otter",
            evidence="3 uncommitted files",
        ),
    )

    row = rows.row(
        Envelope(
            v=1,
            id="e",
            ts="2026-01-01T00:00:00.000Z",
            seq=7,
            kind=said.kind,
            group_id="g",
            scope_key="",
            by="amber-otter",
            data=said.to_data(),
        )
    )

    assert (row.tag, row.tone, row.text) == ("Resumed", "r", "claude:1c4e adopted amber-otter: 3 uncommitted files")


def test_actions_and_their_results_are_rows(hub: RunningHub, look: Look, room: str) -> None:
    ada, bob = join(hub, room, "ada", "bob")
    action = {"type": "message", "dst": "bob", "action_id": "a1", "action_index": 0, "kind": "user", "text": "run it"}
    ada.call("actions.submit", group_id="g1", actions=[action])
    bob.call("actions.pending")
    bob.call("actions.result", action_id="a1", status="completed", detail="all green")
    viewer = look()
    viewer.go(f"/rooms/{room}/sessions")
    for text in ("ada to bob", "run it", "Result: completed", "all green"):
        viewer.shows("#rows .exchange", text)


def test_a_notice_that_asks_for_an_ack_can_be_accepted(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    ada.call("notifications.send", kind="info", title="CI is red", target_actor_id="user", requires_ack=True)
    viewer = look()
    viewer.go(f"/rooms/{room}/sessions")
    row = viewer.find(".ev:has-text('CI is red')")
    row.get_by_role("button", name="Accepted").click()
    expect(row).to_contain_text("1 of 1 accepted")


def job(ada: Agent, **given: object) -> dict[str, Any]:
    return ada.call("jobs.create", title="Migrate retries", prompt="Move them.", **given)["job"]


def test_a_job_that_asks_is_answered_from_its_thread(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    made = job(ada, priority="HIGH")
    viewer = look()
    viewer.go(f"/rooms/{room}/jobs")
    viewer.shows(f"#{made['job_id']}", "Migrate retries")
    ada.call("runners.heartbeat", runner_id="r1", status="idle")
    claim = ada.call("jobs.claim", runner_id="r1", job=made["job_id"])
    fence = {"job": made["job_id"], "runner_id": "r1", "claim_revision": claim["claim_revision"]}
    ada.call("jobs.report", **fence, kind="question", message="keep v1?")
    viewer.shows("#needs", "“Migrate retries” asks")
    viewer.shows("#needs .said", "keep v1?")
    viewer.shows("#runners", "r1")
    viewer.find("#needs a.open").click()
    viewer.find("#reply textarea").fill("drop it")
    viewer.find("#reply button").click()
    viewer.shows("#thread", "drop it")
    ada.call("jobs.report", **fence, message="half way", percent=50)
    viewer.shows("#thread", "half way")
    assert [event["message"] for event in ada.call("jobs.tail", job=made["job_id"])["events"]][-2:] == [
        "drop it",
        "half way",
    ]


def test_a_job_is_canceled_with_its_revision_as_fence_and_queued_again(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    made = job(ada)
    viewer = look()
    viewer.go(f"/rooms/{room}/jobs/{made['job_id']}")
    viewer.find("#act-cancel > summary").click()
    viewer.find("#act-cancel textarea").fill("no longer needed")
    ada.call("runners.heartbeat", runner_id="r1", status="idle")
    ada.call("jobs.claim", runner_id="r1", job=made["job_id"])
    viewer.shows("#thread", "claimed")
    viewer.find("#act-cancel .danger").click()
    expect(viewer.find("#act-cancel .refusal")).to_be_visible()
    viewer.go(f"/rooms/{room}/jobs/{made['job_id']}")
    viewer.find("#act-cancel > summary").click()
    viewer.find("#act-cancel .danger").click()
    viewer.shows("#job", "canceled")
    viewer.find("#act-requeue > summary").click()
    viewer.find("#act-requeue textarea").fill("needed after all")
    viewer.find("#act-requeue .p").last.click()
    viewer.shows("#job", "queued")
    viewer.shows("#thread", "requeued: needed after all")


def test_a_finished_job_shows_its_proof(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    made = job(ada)
    ada.call("runners.heartbeat", runner_id="r1", status="idle")
    claim = ada.call("jobs.claim", runner_id="r1", job=made["job_id"])
    fence = {"job": made["job_id"], "runner_id": "r1", "claim_revision": claim["claim_revision"]}
    card = ada.call("cards.create", title="Merge report", body="all merged", type="report", pinned=True)
    ref = card["card_id"]
    ada.call("jobs.complete", **fence, status="DONE", summary="moved", refs=[ref])
    viewer = look()
    viewer.go(f"/rooms/{room}/jobs/{made['job_id']}")
    viewer.shows("#proof", ref)
    viewer.go(f"/rooms/{room}/jobs")
    viewer.shows("#report", "all merged")


def test_a_person_makes_the_merge_report_from_the_board(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    done, open_ = job(ada)["job_id"], job(ada)["job_id"]
    ada.call("runners.heartbeat", runner_id="r1", status="idle")
    claim = ada.call("jobs.claim", runner_id="r1", job=done)
    fence = {"job": done, "runner_id": "r1", "claim_revision": claim["claim_revision"]}
    card = ada.call("cards.create", title="what I did", body="all of it")["card_id"]
    ada.call("jobs.complete", **fence, status="DONE", summary="moved **all** of them", refs=[card])
    first, second = look(), look()
    for viewer in (first, second):
        viewer.go(f"/rooms/{room}/jobs")
    first.find("#act-report > summary").click()
    expect(first.find(f"#act-report [value={done}]")).to_be_checked()
    expect(first.find(f"#act-report [value={open_}]")).not_to_be_checked()
    first.find("#act-report [name=title]").fill("Retries, merged")
    first.find("#act-report button.p").click()
    for viewer in (first, second):
        expect(viewer.find("#report .hd").first).to_have_text("Retries, merged")
        expect(viewer.find("#report li").first).to_contain_text(f"{done} (DONE)")
        expect(viewer.find("#report li b")).to_have_text("all")
    (made,) = ada.call("cards.list", type="report")["cards"]
    assert (made["pinned"], made["created_by"]) == (True, "user")
