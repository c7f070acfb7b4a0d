"""For everybody: no serious finding of axe on any view in either colour scheme, and everything by keyboard."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import pytest
from playwright.sync_api import expect

from tests import npm
from tests.http.running import RunningHub
from tests.web.browsing import HANDOFF, Viewer, hub_url, join, link
from tests.web.conftest import Look

pytestmark = pytest.mark.browser

PACKAGE = "axe-core@4.10.3"
VIEWS = (
    "",
    "/sessions",
    "/stick",
    "/agents/ada",
    "/cards/CARD-001",
    "/runners/r1",
    "/tasks/TASK-001",
    "/actions/a1",
    f"/blobs/{hashlib.sha256(b'x').hexdigest()}",
    "/history",
    "/history?q=plan",
    "/history?since=nonsense",
    "/replay",
    "/reservations",
    "/jobs",
    "/jobs/JOB-001",
    "/jobs/JOB-002",
    "/event/4",
)
PANELS = (
    ("", "#act-note"),
    ("", "#act-close"),
    ("", "#act-job"),
    ("", "#menu"),
    ("/jobs", "#act-report"),
    ("/jobs/JOB-001", "#act-cancel"),
    ("/sessions", "[id^=relay-]"),
)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
CONTROLS = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']"


@pytest.fixture(scope="session")
def axe() -> str:
    """The checker's source. It is fetched for the tests only, and nothing of it is in the product."""
    return (npm.installed(PACKAGE) / "axe-core" / "axe.min.js").read_text("utf-8")


def lively(hub: RunningHub, room: str) -> None:
    """A room in which every view has something to show."""
    hub.user.room("somewhere else")
    ada, bob = join(hub, room, "ada", "bob")
    ada.say("please **look**:\n- `one`\n- two", to=["@user"], priority="attention")
    ada.call("reservations.reserve", path="src/a.py")
    bob.client.post("reservations.reserve", {"room_id": room, "path": "src"})
    for number in range(3):
        ada.call("jobs.create", title=f"job {number}", prompt="Do it.")
    ada.call("runners.heartbeat", runner_id="r1", status="idle", max_parallel=2)
    claims = [ada.call("jobs.claim", runner_id="r1", job=job)["claim_revision"] for job in ("JOB-001", "JOB-002")]
    asks, ends = (
        {"job": f"JOB-00{number}", "runner_id": "r1", "claim_revision": claim} for number, claim in enumerate(claims, 1)
    )
    ada.call("jobs.report", **asks, kind="question", message="which?", percent=40)
    card = ada.call("cards.create", title="proof", body="it is done")["card_id"]
    ada.call("jobs.complete", **ends, status="DONE", summary="# Done\nall of it", refs=[card])
    ada.call("tasks.macro.merge_report", jobs=["JOB-001", "JOB-002"])
    ada.call("tasks.create", title="Retries", description="All of them.")
    ada.call("blobs.put", content_base64="eA==", name="x.txt", mime_type="text/plain")
    asked = {"type": "message", "dst": "bob", "action_id": "a1", "action_index": 0, "kind": "user", "text": "2+2?"}
    ada.call("actions.submit", group_id="g1", actions=[asked])
    ada.call("permissions.ask", tool="Bash", title="run it", command="make", diff="- a\n+ b")
    ada.call("turns.release", **ada.claim(), handoff={**HANDOFF, "do_not": ["stop"], "open_questions": ["why?"]})
    bob.claim()


def is_live(view: str) -> bool:
    return not any(still in view for still in ("event", "replay", "blobs"))


def findings(viewer: Viewer, axe: str) -> list[str]:
    """What axe has against the page, in its light colours and in its dark ones."""
    viewer.page.evaluate(axe)
    return [f"{scheme}: {each}" for scheme in SCHEMES for each in _findings(viewer, scheme)]


def _findings(viewer: Viewer, scheme: Literal["light", "dark"]) -> list[str]:
    viewer.page.emulate_media(color_scheme=scheme)
    found: list[dict[str, Any]] = viewer.page.evaluate("async () => (await axe.run()).violations")
    return [
        f"{each['id']}: {node['html'][:200]} {node['failureSummary'][:200]}"
        for each in found
        if each["impact"] in {"serious", "critical"}
        for node in each["nodes"]
    ]


@pytest.mark.npm
def test_axe_finds_nothing_serious_on_any_view(hub: RunningHub, look: Look, room: str, axe: str) -> None:
    lively(hub, room)
    viewer = look(own=True)
    closed = hub.user.room("closed")
    hub.user.call("rooms.join", room_id=closed)
    hub.user.call("rooms.close", room_id=closed, expected_turn_id=0, reason="over")
    found: dict[str, list[str]] = {}
    for view in ("/", "/waiting", f"/rooms/{closed}", f"/rooms/{hub.user.room('empty')}"):
        viewer.go(view)
        found[view] = findings(viewer, axe)
    for view in VIEWS:
        viewer.go(f"/rooms/{room}{view}", live=is_live(view))
        found[view] = findings(viewer, axe)
    for view, panel in PANELS:
        viewer.go(f"/rooms/{room}{view}")
        viewer.find(f"{panel} > summary").first.click()
        found[panel] = findings(viewer, axe)
    viewer.go("/search?q=plan", live=False)
    found["search"] = findings(viewer, axe)
    viewer.go(f"/rooms/{room}")
    for dialog, key in (("#palette", "Control+k"), ("#keys", "?")):
        viewer.page.keyboard.press(key)
        expect(viewer.find(dialog)).to_be_visible()
        found[dialog] = findings(viewer, axe)
        viewer.page.keyboard.press("Escape")
        expect(viewer.find(dialog)).not_to_be_visible()
    for summary in viewer.find("#needs details.act > summary").all():
        summary.click()
        found["an item's panel"] = [*found.get("an item's panel", []), *findings(viewer, axe)]
    for refused in ("/rooms/nowhere", "/nothing"):
        viewer.go(refused, live=False)
        found[refused] = findings(viewer, axe)
    viewer.context.clear_cookies()
    viewer.go("/", live=False)
    found["signed out"] = findings(viewer, axe)
    viewer.context.route(f"{hub_url(hub)}/**", lambda route: route.abort("namenotresolved"))
    viewer.page.goto(link(hub))
    expect(viewer.find("#unresolved")).to_be_visible()
    viewer.page.evaluate(axe)
    found["the way in"] = _findings(viewer, "light")
    # The link is at another name than the page, which is where it leads to.
    viewer.troubles[:] = [trouble for trouble in viewer.troubles if "127.0.0.1" not in trouble]
    assert {view: each for view, each in found.items() if each} == {}


def test_a_stranger_to_the_mouse_can_do_everything(hub: RunningHub, look: Look, room: str) -> None:
    join(hub, room, "ada")
    viewer = look()
    viewer.go(f"/rooms/{room}")
    keys = viewer.page.keyboard
    keys.press("Tab")
    expect(viewer.find(".skip").first).to_be_focused()
    viewer.tab_to("#act-note > summary")
    keys.press("Enter")
    expect(viewer.find("#act-note textarea")).to_be_focused()
    keys.type("by keyboard")
    keys.press("Control+Enter")
    viewer.shows("#talk", "by keyboard")
    expect(viewer.find("#act-note > summary")).to_be_focused()
    keys.press("Enter")
    expect(viewer.find("#act-note textarea")).to_be_focused()
    keys.press("Tab")
    keys.press("Escape")
    expect(viewer.find("#act-note")).not_to_have_attribute("open", "")


def test_every_control_can_be_reached_with_the_tab_key(hub: RunningHub, look: Look, room: str) -> None:
    lively(hub, room)
    viewer = look()
    missed = {"overview": _missed(viewer, "/")}
    for view in VIEWS:
        missed[view] = _missed(viewer, f"/rooms/{room}{view}", live=is_live(view))
    assert {view: each for view, each in missed.items() if each} == {}


def _missed(viewer: Viewer, path: str, *, live: bool = True) -> list[str]:
    """The controls that the tab key did not come to, going through it once; a field for a time is several stops."""
    page = viewer.go(path, live=live)
    page.evaluate("window.reached = new Set(); document.addEventListener('focusin', e => window.reached.add(e.target))")
    shown = f"[...document.querySelectorAll({CONTROLS!r})].filter(each => each.checkVisibility() && !each.disabled)"
    for _ in range(page.evaluate(f"{shown}.length + 30")):
        page.keyboard.press("Tab")
    found: list[str] = page.evaluate(f"{shown}.filter(each => !window.reached.has(each)).map(each => each.outerHTML)")
    return [html[:200] for html in found]
