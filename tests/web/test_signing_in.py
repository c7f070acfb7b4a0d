"""The way in: a link that works once, a cookie, and in place of a bare refusal a page that says what to do."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from tests.http.running import Client, RunningHub
from tests.web.browsing import hub_url, link
from tests.web.conftest import Look

HTML = {"Accept": "text/html,application/xhtml+xml"}


@pytest.mark.browser
def test_a_printed_link_opens_the_page_and_works_only_once(hub: RunningHub, browser: Browser, look: Look) -> None:
    address = link(hub)
    first = look(own=True)
    first.context.clear_cookies()
    first.page.goto(address)
    first.page.wait_for_url(f"{hub_url(hub)}/")
    expect(first.find("h1")).to_have_text("Needs a human")
    stranger = browser.new_context()
    page = stranger.new_page()
    page.goto(address)
    expect(page.locator("#refused")).to_contain_text("used already")
    stranger.close()


@pytest.mark.browser
def test_without_a_session_the_page_says_how_to_get_in(hub: RunningHub, browser: Browser) -> None:
    stranger = browser.new_context()
    page = stranger.new_page()
    page.goto(hub_url(hub))
    expect(page.locator("#refused")).to_contain_text("tally status")
    assert page.evaluate("getComputedStyle(document.querySelector('.card')).borderRadius") == "10px"
    stranger.close()


@pytest.mark.browser
def test_a_session_that_was_revoked_leads_back_to_the_way_in(hub: RunningHub, look: Look, room: str) -> None:
    viewer = look(own=True)
    viewer.go(f"/rooms/{room}")
    listed = hub.control("token", "list", "--json").stdout
    newest = max(_browsers(listed), key=lambda token: token["created_at"])
    hub.control("token", "revoke", newest["id"])
    viewer.shows("#refused", "tally status")


def _browsers(listed: str) -> list[dict[str, str]]:
    import json

    tokens = json.loads(listed)["data"]["tokens"]
    return [token for token in tokens if token["label"] == "browser" and not token["revoked_at"]]


def test_a_program_gets_json_where_a_browser_gets_a_page(hub: RunningHub) -> None:
    nobody = Client(hub)
    assert nobody.get("/").refused == (401, "token_missing")
    page = nobody.get("/", **HTML)
    assert (page.status, page.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert b"tally status" in page.body


def test_an_unknown_page_and_an_unknown_room_are_refused_as_pages(hub: RunningHub) -> None:
    for path, code in (("/rooms/nowhere", b"room_not_found"), ("/rooms/a/b/c/d", b"route_not_found")):
        reply = hub.user.get(path, **HTML)
        assert (reply.status, code in reply.body) == (404, True)


def test_every_page_forbids_inline_code_and_everything_from_outside(hub: RunningHub, room: str) -> None:
    for path in ("/", f"/rooms/{room}", f"/rooms/{room}/sessions", f"/rooms/{room}/history", f"/rooms/{room}/replay"):
        reply = hub.user.get(path, **HTML)
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
        assert "unsafe" not in policy
        assert b" style=" not in reply.body
        assert b" onclick=" not in reply.body


def test_a_foreign_page_can_neither_look_nor_act(hub: RunningHub, room: str) -> None:
    opened = Client(hub).get(link(hub).removeprefix(hub_url(hub)))
    cookie = opened.headers["set-cookie"].partition(";")[0]
    browser = Client(hub, headers={"Cookie": cookie})
    act = "/act/notes.add"
    body = b'{"room_id": "%b", "body": "from elsewhere"}' % room.encode()
    kind = {"Content_Type": "application/json"}
    assert browser.get("/", Sec_Fetch_Site="cross-site").status == 403
    assert browser.request("POST", act, body, **kind, Origin="http://evil.example").status == 403
    assert browser.request("POST", act, body, **kind).status == 403


def test_a_token_for_one_room_sees_that_room_and_no_other(hub: RunningHub, room: str) -> None:
    other = hub.user.room("elsewhere")
    guest = hub.agent("ada", room)
    assert [guest.get(path).status for path in (f"/rooms/{room}", f"/rooms/{other}", "/", "/live")] == [
        200,
        403,
        403,
        403,
    ]


def test_files_are_kept_by_the_browser_until_they_change(hub: RunningHub) -> None:
    page = hub.user.get("/").body.decode()
    style = page.partition('rel="stylesheet" href="')[2].partition('"')[0]
    reply = Client(hub).get(style)
    assert (reply.status, reply.headers["cache-control"]) == (200, "private, max-age=31536000, immutable")
    assert Client(hub).get("/static/older/page.css").headers["cache-control"] == "no-cache"
    assert Client(hub).get("/static/older/../site.py").status in {401, 404}
