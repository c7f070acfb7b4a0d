"""Hostile text in every field an agent can write: it is shown, nothing of it runs, and the page keeps its shape."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tallystick.capabilities.jobs.contract import MESSAGE_LIMIT, PROMPT_LIMIT, SUMMARY_LIMIT, TITLE_LIMIT
from tallystick.capabilities.jobs.runners_contract import BRANCH_LIMIT, COMMAND_LIMIT
from tallystick.proof.refs import REF_LIMIT
from tests.agents.repository import repository
from tests.http.running import RunningHub
from tests.web.browsing import Agent, Viewer, join
from tests.web.conftest import Look

pytestmark = pytest.mark.browser

EVIL = (
    (
        "<script>window.broken = 1</script><img src=x onerror='window.broken = 1'>"
        "\"'><svg onload=window.broken=1> {{ 7 * 7 }} {% raw %} javascript:alert(1)"
        " \x1b[31mred\x1b[0m \u202eright to left\u202c \u2066isolate \ud83d\ude00 «mark» ]]> --> </textarea></pre>"
    )
    .encode("utf-16", "surrogatepass")
    .decode("utf-16")
)
WORD = "w" * 2**20
"""One word of 1 MiB. No single field takes that much; each gets as much of it as its contract admits."""
MESSAGE, PIECE, EXTENSION = 64 * 1024, 16 * 1024, 250_000
"""What a message or card, a note or part of a handoff, and an extension's event may hold."""
RUNNER = "<b>runner</b>"
VIEWS = (
    "",
    "/sessions",
    "/history",
    "/history?q=script",
    "/replay",
    "/reservations",
    "/jobs",
    "/jobs/JOB-001",
    "/jobs/JOB-002",
    "/stick",
    "/agents/ada",
    "/tasks/TASK-001",
    "/cards/CARD-001",
    "/actions/a1",
    f"/runners/{quote(RUNNER, safe='')}",
)


def intact(viewer: Viewer, path: str, *, live: bool = True) -> str:
    """The text of a page on which nothing ran, nothing stands out over the edge, and all went through the policy."""
    page = viewer.page
    page.add_init_script("document.addEventListener('securitypolicyviolation', e => window.broken = e.blockedURI)")
    viewer.go(path, live=live)
    assert page.evaluate("window.broken") is None, path
    wide = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert page.evaluate(wide), f"{path} is wider than the window"
    return page.locator("body").inner_text()


def fill(hub: RunningHub, room: str, text: str) -> int:
    """Put a text into every field that an agent may write; the seq of a message with it."""
    ada, bob = join(hub, room, "ada", "bob")
    line = text[:200].replace("\x1b", "")
    seq = _said(ada, text)
    asked = {"tool": text[:200], "title": text[:2000], "paths": [text[:4096]], "diff": text[:PIECE]}
    ada.call("permissions.ask", **asked, command=text[:MESSAGE_LIMIT])
    denied = bob.call("permissions.ask", **asked)["permission"]
    hub.user.call("permissions.answer", room_id=room, permission=denied, decision="deny", message=text[:4096])
    ada.call("notifications.send", kind="info", title=text[:500], target_actor_id="user", requires_ack=True)
    _worked(ada, bob, text)
    hub.user.call("jobs.waive", room_id=room, job="JOB-001", reason=text[:MESSAGE_LIMIT])
    _acted(ada, bob, text)
    ada.call("reservations.reserve", path=f"src/<b>{line.replace('/', '')[:100]}</b>.py", task_id=text[:200])
    bob.client.post("reservations.reserve", {"room_id": room, "path": "src", "task_id": text[:200]})
    # All of it together is the megabyte that a request may carry.
    pieces = [text[:PIECE]] * 30
    handoff = {
        "status": text[:PIECE],
        "next_action": text[:PIECE],
        "artifacts": [{"path": text[:4096], "role": "edit", "note": text[:PIECE]}],
        "open_questions": pieces,
        "do_not": pieces,
    }
    ada.call("turns.pass", **ada.claim(), to_agent_id="bob", handoff=handoff)
    bob.claim()
    return seq


def _said(ada: Agent, text: str) -> int:
    content = base64.b64encode(b"x").decode()
    name = "".join(each for each in text if each.isprintable() and each not in "/\\")[:200]
    blob = ada.call("blobs.put", content_base64=content, name=name, mime_type="text/plain")
    event = ada.say(
        text[:MESSAGE],
        priority="attention",
        to=["bob", "@user"],
        quote_text=text[:PIECE],
        attachments=[{"path": blob["path"], "title": text[:200]}],
        refs=[{"kind": "url", "url": text[:500], "title": text[:200]}],
    )
    ada.say("relayed", src_group_id=text[:150], src_event_id=text[:150])
    ada.call("notes.add", body=text[:PIECE])
    ada.call("notifications.send", kind="info", title=text[:500], message=text[:PIECE])
    ada.call("messages.react", event_id=event["id"], emoji=text[:64])
    ada.call("context.sync", ops=[{"op": "set", "name": "goal", "value": text[:4000]}])
    ada.call("events.append", kind="x.acme.thing", data={"text": text[:EXTENSION], text[:100]: {"deep": text[:100]}})
    blocked = {"subject": text[:500], "blocker": text[:PIECE], "requested_action": text[:PIECE], "urgency": "high"}
    ada.call("protocol.send", event_type="BLOCKED", to="user", task_id=text[:200], **blocked)
    passed = {"subject": text[:500], "summary": text[:PIECE], "next_action": text[:PIECE]}
    ada.call("protocol.send", event_type="HANDOFF", to="bob", task_id=text[:200], **passed)
    return event["seq"]


def _worked(ada: Agent, bob: Agent, text: str) -> None:
    """Tasks, cards, anchors, runners and jobs: one that asks, one that ended."""
    lines, refs = [text[:1000]], [text[:128]]
    about = {"description": text[:PIECE], "definition_of_done": lines, "steps": [{"text": text[:1000]}], "refs": refs}
    task = ada.call("tasks.create", title=text[:200], paths=[text[:1024]], **about)["task_id"]
    ada.call("tasks.update", task=task, status="done", summary=text[:PIECE], assignee="bob")
    ada.call("anchors.create", anchor="a:evil", title=text[:200])
    given = {"title": text[:TITLE_LIMIT], "prompt": text[:PROMPT_LIMIT], "task": task}
    jobs = [ada.call("jobs.create", **given)["job"]["job_id"] for _ in range(3)]
    machine = {"meta": {text[:40]: text[:500]}, "sandbox_policy": text[:200]}
    ada.call("runners.heartbeat", runner_id=RUNNER, status="idle", max_parallel=2, **machine)
    claims = {job: ada.call("jobs.claim", runner_id=RUNNER, job=job)["claim_revision"] for job in jobs[:2]}
    fences = [{"job": job, "runner_id": RUNNER, "claim_revision": claims[job]} for job in claims]
    # Written while the jobs are worked on: what is older proves nothing.
    tagged = {"tags": [text[:80]], "refs": [text[:128]]}
    card = ada.call("cards.create", title=text[:200], body=text[:MESSAGE], type="report", pinned=True, **tagged)[
        "card_id"
    ]
    ada.call("jobs.artifact.put", **fences[0], artifact_key="report", content=text[:MESSAGE])
    ada.call("jobs.report", **fences[0], message=text[:MESSAGE_LIMIT], refs=[f"CMD: {text[:100]}"])
    ada.call("jobs.report", **fences[0], kind="question", message=text[:MESSAGE_LIMIT])
    saw: dict[str, object] = {
        "observed": [{"command": text[:COMMAND_LIMIT], "exit_code": 0}],
        "files": [{"path": text[:REF_LIMIT], "sha256": "0" * 64, "ms_ago": 0}],
        "branch": {
            "name": text[:BRANCH_LIMIT],
            "base": text[:BRANCH_LIMIT],
            "commit": "0" * 40,
            "conflicts": [{"branch": text[:BRANCH_LIMIT], "paths": [text[:1000]]}],
        },
    }
    refs = [card, f"CMD: {text[:100]}"]
    ada.call("jobs.complete", **fences[1], status="DONE", summary=text[:SUMMARY_LIMIT], refs=refs, **saw)
    bob.call("tasks.macro.merge_report", jobs=jobs[:2], title=text[:200])


def _acted(ada: Agent, bob: Agent, text: str) -> None:
    action = {
        "type": "message",
        "dst": "bob",
        "action_id": "a1",
        "action_index": 0,
        "kind": "user",
        "text": text[:MESSAGE],
    }
    ada.call("actions.submit", group_id="g1", actions=[action])
    bob.call("actions.attach", program=text[:200])
    ada.say(text[:MESSAGE], to=["bob"])
    bob.call("actions.pending")
    bob.call("actions.result", action_id="a1", status="error", detail=text[:PIECE])


@pytest.mark.parametrize("text", [EVIL, WORD], ids=["evil", "long"])
def test_nothing_runs_and_nothing_breaks_the_layout(hub: RunningHub, look: Look, text: str) -> None:
    room = hub.user.room(text[:200])
    seq = fill(hub, room, text)
    viewer = look(own=True)
    intact(viewer, "/")
    for view in VIEWS:
        intact(viewer, f"/rooms/{room}{view}", live="replay" not in view)
    intact(viewer, f"/rooms/{room}/event/{seq}", live=False)
    intact(viewer, "/waiting")
    intact(viewer, f"/rooms/{room}/blobs/{hashlib.sha256(b'x').hexdigest()}", live=False)
    intact(viewer, "/search?q=script", live=False)
    intact(viewer, f"/search?q={quote(text[:500])}", live=False)


def test_the_panels_of_what_waits_show_hostile_text_too(hub: RunningHub, look: Look, room: str) -> None:
    fill(hub, room, EVIL)
    viewer = look(own=True)
    intact(viewer, f"/rooms/{room}")
    for summary in viewer.find("#needs details.act > summary").all():
        summary.click()
    assert viewer.page.evaluate("window.broken") is None
    viewer.page.keyboard.press("Escape")
    viewer.find("#act-close > summary").click()
    viewer.page.keyboard.press("Control+k")
    expect(viewer.find("#palette-text")).to_be_focused()
    viewer.page.keyboard.type("<script>")
    viewer.shows("#palette-list", "Search for “<script>”")
    assert viewer.page.evaluate("window.broken") is None


def test_a_branch_with_a_hostile_name_is_shown(hub: RunningHub, look: Look, tmp_path: Path) -> None:
    checkout = repository(tmp_path / "repo").resolve()
    (checkout / ".git" / "HEAD").write_text("ref: refs/heads/<script>window.broken=1</script>\x1b[31m\n")
    ada = hub.agent("ada")
    room = str(ada.call("rooms.join", context_path=str(checkout))["room_id"])
    shown = intact(look(own=True), f"/rooms/{room}")
    assert "on <script>window.broken=1</script>\\x1b[31m" in shown


def test_a_word_of_a_mebibyte_is_refused_with_the_bound_it_breaks(hub: RunningHub, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    whole, half = (ada.client.post("messages.send", {"room_id": room, "text": text}) for text in (WORD, WORD[: 2**19]))
    assert whole.refused == half.refused == (413, "too_large")
    assert (whole.error["details"], half.error["details"]) == ({"limit": 2**20}, {"field": "text", "limit": MESSAGE})


def test_what_does_not_print_is_shown(hub: RunningHub, look: Look, room: str) -> None:
    fill(hub, room, EVIL)
    shown = intact(look(own=True), f"/rooms/{room}/sessions")
    assert "<script>window.broken = 1</script>" in shown
    assert "\\x1b[31mred" in shown
    assert "\\u202eright to left" in shown
    assert "{{ 7 * 7 }}" in shown
    assert "\u202e" not in shown


def test_a_narrow_screen_keeps_its_shape_too(hub: RunningHub, look: Look, room: str) -> None:
    fill(hub, room, WORD)
    viewer = look(viewport={"width": 375, "height": 700})
    for view in VIEWS:
        intact(viewer, f"/rooms/{room}{view}", live="replay" not in view)
    intact(viewer, "/")


def test_a_long_text_is_cut_in_lists_and_whole_behind_a_link(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    long = WORD[:60_000]
    event = ada.say(long)
    viewer = look(own=True)
    viewer.go(f"/rooms/{room}/sessions")
    viewer.find(f"#e{event['seq']} >> text=Show all 60,000 characters").click()
    assert long in viewer.find("#raw pre").inner_text()


def test_evil_questions_are_answered_calmly(hub: RunningHub, look: Look, room: str) -> None:
    join(hub, room, "ada")
    viewer = look(own=True)
    for query in ("before=-1", "before=99999999999999999999", "before=x", "at=%00", "seq=%F0%9F%98%80", "show=<b>"):
        for view in ("sessions", "history", "replay"):
            intact(viewer, f"/rooms/{room}/{view}?{query}", live=view != "replay")
    shown = intact(viewer, f"/rooms/{room}/history?since=yesterday%3Cscript%3E")
    assert "is not an ISO-8601 time" in shown
