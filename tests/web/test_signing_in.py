"""The way in: a link that works once, a cookie, and in place of a bare refusal a page that says what to do."""

from __future__ import annotations

import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest
from playwright.sync_api import Browser, expect

from tests.http.running import Client, RunningHub, signed_in
from tests.web.browsing import hub_url, link
from tests.web.conftest import Look

HTML = {"Accept": "text/html,application/xhtml+xml"}


@pytest.mark.browser
def test_a_printed_link_lets_one_browser_in_and_stays_good_for_that_one(hub: RunningHub, browser: Browser) -> None:
    address = link(hub)
    person = browser.new_context()
    first = person.new_page()
    first.goto(address)
    first.wait_for_url(f"{hub_url(hub)}/")
    expect(first.locator("h1")).to_have_text("Needs a human")
    first.goto(address)
    first.wait_for_url(f"{hub_url(hub)}/")
    expect(first.locator("h1")).to_have_text("Needs a human")
    person.close()
    stranger = browser.new_context()
    page = stranger.new_page()
    page.goto(address)
    expect(page.locator("#refused")).to_contain_text("tally status")
    stranger.close()


@pytest.fixture
def neighbour() -> Generator[Neighbour]:
    """Another server on this machine, such as an agent's own."""
    server = Neighbour(("127.0.0.1", 0), Listener)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


class Neighbour(ThreadingHTTPServer):
    heard: ClassVar[list[tuple[str, str | None]]] = []


class Listener(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        Neighbour.heard.append((self.path, self.headers["Cookie"]))
        self.send_response(200)
        self.send_header("Set-Cookie", "own=1")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>neighbour</title>")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.mark.browser
def test_what_the_browser_holds_reaches_no_other_server_of_this_machine(
    hub: RunningHub, browser: Browser, neighbour: Neighbour
) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(link(hub))
    page.wait_for_url(f"{hub_url(hub)}/")
    Neighbour.heard.clear()

    for host in ("127.0.0.1", "localhost", "other.localhost"):
        page.goto(f"http://{host}:{neighbour.server_port}/{host}")
        asked = page.evaluate(
            "address => fetch(address, {credentials: 'include'}).then(reply => reply.status, () => 'refused')",
            f"{hub_url(hub)}/v1/rooms.list",
        )
        assert asked == "refused"

    asked_for = [(path, cookie) for path, cookie in Neighbour.heard if path != "/favicon.ico"]
    assert asked_for == [("/127.0.0.1", None), ("/localhost", None), ("/other.localhost", None)]
    page.goto(hub_url(hub))
    expect(page.locator("h1")).to_have_text("Needs a human")
    assert [cookie.get("domain") for cookie in context.cookies() if cookie.get("name", "").startswith("tally")] == [
        hub_url(hub).removeprefix("http://").partition(":")[0]
    ]
    context.close()


@pytest.mark.browser
def test_a_browser_that_does_not_find_the_pages_name_says_what_to_do(hub: RunningHub, browser: Browser) -> None:
    context = browser.new_context()
    context.route(f"{hub_url(hub)}/**", lambda route: route.abort("namenotresolved"))
    page = context.new_page()
    page.goto(link(hub))
    host = hub_url(hub).removeprefix("http://").partition(":")[0]
    expect(page.locator("#unresolved code").first).to_have_text(f"127.0.0.1 {host}")
    expect(page.locator("#unresolved")).to_be_visible()
    context.close()


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
    assert (b"You are not signed in." in page.body, b"Bearer" in page.body) == (True, False)


def test_an_unknown_page_and_an_unknown_room_are_refused_as_pages(hub: RunningHub) -> None:
    for path, code in (("/rooms/nowhere", b"room_not_found"), ("/rooms/a/b/c/d", b"route_not_found")):
        reply = hub.user.get(path, **HTML)
        assert (reply.status, code in reply.body) == (404, True)
        assert (b"openapi.json" in reply.body, b"Join (rooms)" in reply.body) == (False, False)


def test_every_page_forbids_inline_code_and_everything_from_outside(hub: RunningHub, room: str) -> None:
    for path in ("/", f"/rooms/{room}", f"/rooms/{room}/sessions", f"/rooms/{room}/history", f"/rooms/{room}/replay"):
        reply = hub.user.get(path, **HTML)
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
        assert "unsafe" not in policy
        assert b" style=" not in reply.body
        assert b" onclick=" not in reply.body


def test_a_foreign_page_can_neither_look_nor_act(hub: RunningHub, room: str) -> None:
    browser = Client(hub, headers=signed_in(hub, link(hub)).headers)
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
