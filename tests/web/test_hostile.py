"""Hostile text in every field an agent can write: it is shown, nothing of it runs, and the page keeps its shape."""

from __future__ import annotations

import base64

import pytest

from tests.http.running import RunningHub
from tests.web.browsing import Viewer, join
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
LONG = "w" * 60_000
VIEWS = ("", "/sessions", "/history", "/history?q=script", "/replay", "/reservations")


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
    ada.call("agents.update", name=text[:128].replace("\x1b", "").replace("\n", " "))
    content = base64.b64encode(b"x").decode()
    blob = ada.call("blobs.put", content_base64=content, name="a<b>.txt", mime_type="text/plain")
    event = ada.say(
        text,
        priority="attention",
        to=["bob", "@user"],
        quote_text=text[:16_000],
        attachments=[{"path": blob["path"], "title": text[:200]}],
        refs=[{"kind": "url", "url": text[:500], "title": text[:200]}],
    )
    ada.say("relayed", src_group_id=text[:150], src_event_id=text[:150])
    ada.call("notes.add", body=text[:4000])
    ada.call("notifications.send", kind="info", title=text[:200], message=text[:4000])
    ada.call("messages.react", event_id=event["id"], emoji="<b>")
    ada.call("context.sync", ops=[{"op": "set", "name": "goal", "value": text[:4000]}])
    ada.call("events.append", kind="x.acme.thing", data={"text": text[:8000], text[:100]: {"deep": text[:100]}})
    ada.call("reservations.reserve", path="src/<b>a</b>.py")
    handoff = {
        "status": text[:8000],
        "next_action": text[:8000],
        "artifacts": [{"path": text[:200], "role": "edit", "note": text[:400]}],
        "open_questions": [text[:1000]],
        "do_not": [text[:1000]],
    }
    ada.call("turns.pass", **ada.claim(), to_agent_id="bob", handoff=handoff)
    bob.claim()
    return event["seq"]


@pytest.mark.parametrize("text", [EVIL, LONG], ids=["evil", "long"])
def test_nothing_runs_and_nothing_breaks_the_layout(hub: RunningHub, look: Look, text: str) -> None:
    room = hub.user.room(text[:200])
    seq = fill(hub, room, text)
    viewer = look()
    intact(viewer, "/")
    for view in VIEWS:
        intact(viewer, f"/rooms/{room}{view}", live="replay" not in view)
    intact(viewer, f"/rooms/{room}/event/{seq}", live=False)


def test_what_does_not_print_is_shown(hub: RunningHub, look: Look, room: str) -> None:
    fill(hub, room, EVIL)
    shown = intact(look(), f"/rooms/{room}/sessions")
    assert "<script>window.broken = 1</script>" in shown
    assert "\\x1b[31mred" in shown
    assert "\\u202eright to left" in shown
    assert "{{ 7 * 7 }}" in shown
    assert "\u202e" not in shown


def test_a_narrow_screen_keeps_its_shape_too(hub: RunningHub, look: Look, room: str) -> None:
    fill(hub, room, LONG)
    viewer = look(viewport={"width": 375, "height": 700})
    for view in ("", "/sessions", "/history", "/reservations"):
        intact(viewer, f"/rooms/{room}{view}")
    intact(viewer, "/")


def test_a_long_text_is_cut_in_lists_and_whole_behind_a_link(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    event = ada.say(LONG)
    viewer = look()
    viewer.go(f"/rooms/{room}/sessions")
    viewer.find(f"#e{event['seq']} >> text=Show all 60,000 characters").click()
    assert LONG in viewer.find("#raw pre").inner_text()


def test_evil_questions_are_answered_calmly(hub: RunningHub, look: Look, room: str) -> None:
    join(hub, room, "ada")
    viewer = look()
    for query in ("before=-1", "before=99999999999999999999", "before=x", "at=%00", "seq=%F0%9F%98%80", "show=<b>"):
        for view in ("sessions", "history", "replay"):
            intact(viewer, f"/rooms/{room}/{view}?{query}", live=view != "replay")
    shown = intact(viewer, f"/rooms/{room}/history?since=yesterday%3Cscript%3E")
    assert "is not an ISO-8601 time" in shown
