"""The page in a real Chromium: when it is first painted, how fast an event becomes visible, and what a view weighs.

Needs Playwright and the system's Chromium, which are no part of the product; without them nothing is measured.
"""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from tallybench import rooms, servers
from tallybench.engines import Setting
from tallybench.growing import MEMBERS, grow_to, member
from tallybench.report import Budget, Detail, Figure, median, percentile
from tallybench.servers import Served
from tallystick.hub.settings import Settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
KIB = 1024
WEIGHT = 150
"""KiB of one view with all that it loads, before compression."""
VIEWS = ("", "/sessions", "/stick", "/reservations", "/jobs", "/history", "/replay")
WAITING = 5
"""Messages in each room that ask for the person's attention."""
PAINTED = "performance.getEntriesByName('first-contentful-paint').map(entry => entry.startTime)[0] ?? 0"
WATCH = """([selector, text]) => new Promise(seen => {
    const look = () => document.querySelector(selector).textContent.includes(text)
        && requestAnimationFrame(() => requestAnimationFrame(() => seen(performance.timeOrigin + performance.now())));
    new MutationObserver((_, watch) => look() && watch.disconnect())
        .observe(document.body, {childList: true, subtree: true});
})"""


def measure(setting: Setting) -> Iterator[Figure]:
    program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if program is None or find_spec("playwright") is None:
        setting.tell("page: NOT measured, for want of Chromium or Playwright")
        return
    from playwright.sync_api import sync_playwright

    full, empty = _filled(setting), setting.engine.fresh()
    with servers.hub(full) as busy, servers.hub(empty) as calm, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        setting.tell("page: first paint")
        yield _first_paint(setting, browser, busy, calm)
        setting.tell("page: from an event to pixels")
        yield _event_to_pixel(setting, browser, calm)
        yield _request_to_pixel(setting, browser, busy, full)
        setting.tell("page: weight")
        yield _weight(setting, browser, calm)
        yield _full_weight(setting, browser, busy)
        browser.close()


def _filled(setting: Setting) -> Settings:
    settings = setting.engine.fresh()
    count, events = setting.pick(100, 3), setting.pick(1_000_000, 300)
    made = [rooms.make_room(settings, f"project {number}") for number in range(count)]
    with rooms.opened(settings) as hub:
        for number, room_id in enumerate(made):
            if number % 10 == 0:
                setting.tell(f"page: filling room {number} of {count}")
            for name in MEMBERS:
                hub.call("rooms.join", {"room_id": room_id}, member(name))
            grow_to(hub, room_id, events // count)
            for place in range(WAITING):
                asks = {"text": f"question {place}", "to": ["@user"], "priority": "attention"}
                hub.call("messages.send", {"room_id": room_id, **asks}, member(MEMBERS[0]))
    return settings


def _first_paint(setting: Setting, browser: Browser, busy: Served, calm: Served) -> Figure:
    pages = [_signed_in(browser, served) for served in (busy, calm)]
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(setting.pick(25, 2) + 1):
        for page, found in zip(pages, times, strict=True):
            page.goto(page.url)
            page.wait_for_function(f"() => {PAINTED} > 0")
            if number:  # The first round warms both alike.
                found.append(cast("float", page.evaluate(f"() => {PAINTED}")))
    ours, baseline = median(times[0]), median(times[1])
    return Figure(
        bench="page",
        what=f"first paint of the overview, {setting.pick(1_000_000, 300):,} events, {_crowd(setting)}",
        engine=setting.engine.name,
        unit="ms",
        ours=ours,
        baseline=baseline,
        against="an empty store",
        ratio=ours / baseline,
        budgets=(Budget(of="ratio", bound="at most", limit=1.5),),
    )


def _event_to_pixel(setting: Setting, browser: Browser, served: Served) -> Figure:
    room_id = _call(served, "rooms.create", title="pixels")["room_id"]
    page = _signed_in(browser, served)
    page.goto(f"{page.url}rooms/{room_id}/sessions")
    page.wait_for_selector("#live[data-state=on]")
    # Not before: a page that goes away takes its person out of the turn order.
    _call(served, "rooms.join", room_id=room_id)
    shown, answered = list[float](), list[float]()
    for number in range(setting.pick(100, 3)):
        text = f"event number {number} of this bench"
        _watch(page, "#rows", text)
        began = time.time() * 1000
        _call(served, "notes.add", room_id=room_id, body=text)
        answered.append(time.time() * 1000 - began)
        shown.append(cast("float", page.evaluate("window.shown")) - began)
    return _until_pixels(setting, "from sending an event to its pixels", shown, answered)


def _request_to_pixel(setting: Setting, browser: Browser, served: Served, settings: Settings) -> Figure:
    """The overview of everything: an agent in one of the rooms asks for leave, which comes first in the list."""
    page = _signed_in(browser, served)
    page.wait_for_selector("#live[data-state=on]")
    shown, answered = list[float](), list[float]()
    asker = member(MEMBERS[0])
    room_id = rooms.make_room(settings, "one that asks")
    with rooms.opened(settings) as hub:
        hub.call("rooms.join", {"room_id": room_id}, asker)
        for number in range(setting.pick(50, 3)):
            text = f"request number {number} of this bench"
            _watch(page, "#needs", text)
            began = time.time() * 1000
            asked = hub.call("permissions.ask", {"room_id": room_id, "tool": "Bash", "title": text}, asker)
            answered.append(time.time() * 1000 - began)
            shown.append(cast("float", page.evaluate("window.shown")) - began)
            given = {"room_id": room_id, "permission": asked.to_data()["permission"], "reason": "seen"}
            hub.call("permissions.withdraw", given, asker)
    return _until_pixels(setting, f"from a request to its pixels on the overview, {_crowd(setting)}", shown, answered)


def _crowd(setting: Setting) -> str:
    count = setting.pick(100, 3)
    return f"{count} rooms, {count * WAITING} things waiting"


def _watch(page: Page, selector: str, text: str) -> None:
    page.evaluate(f"given => {{ window.shown = ({WATCH})(given); }}", [selector, text])


def _until_pixels(setting: Setting, what: str, shown: list[float], answered: list[float]) -> Figure:
    ours, baseline = median(shown), median(answered)
    return Figure(
        bench="page",
        what=what,
        engine=setting.engine.name,
        unit="ms",
        ours=ours,
        baseline=baseline,
        against="the answer to its sender",
        ratio=ours / baseline,
        budgets=(Budget(of="ours", bound="at most", limit=100),),
        details=(Detail(name="p95 ms", value=percentile(shown, 0.95)),),
    )


def _weight(setting: Setting, browser: Browser, served: Served) -> Figure:
    """Everything that one view of an empty room loads, without compression."""
    room_id = _call(served, "rooms.create", title="weight")["room_id"]
    addresses = ["/", *(f"/rooms/{room_id}{view}" for view in VIEWS)]
    weights = {address: _loaded(browser, served, address) for address in addresses[: setting.pick(len(addresses), 2)]}
    heaviest = max(sum(parts) for parts in weights.values())
    return Figure(
        bench="page",
        what="weight of the heaviest view, without data",
        engine=setting.engine.name,
        unit="KiB",
        ours=heaviest / KIB,
        baseline=max(page for page, _ in weights.values()) / KIB,
        against="its HTML alone",
        ratio=heaviest / max(page for page, _ in weights.values()),
        budgets=(Budget(of="ours", bound="at most", limit=WEIGHT),),
        details=tuple(
            Detail(name=f"{address.replace(room_id, 'ID')} KiB", value=sum(parts) / KIB)
            for address, parts in weights.items()
        ),
    )


def _full_weight(setting: Setting, browser: Browser, served: Served) -> Figure:
    """The overview with all that it shows at once of many rooms and of a long list."""
    html, files = _loaded(browser, served, "/")
    return Figure(
        bench="page",
        what=f"weight of the overview, {_crowd(setting)}",
        engine=setting.engine.name,
        unit="KiB",
        ours=(html + files) / KIB,
        baseline=html / KIB,
        against="its HTML alone",
        ratio=(html + files) / html,
        budgets=(Budget(of="ours", bound="at most", limit=WEIGHT),),
    )


def _loaded(browser: Browser, served: Served, address: str) -> tuple[int, int]:
    """The bytes of the page itself, and of all that it loads besides."""
    page = _signed_in(browser, served)
    sizes: list[int] = []

    def heard(url: str) -> None:
        if "/static/" in url:
            sizes.append(len(_get(served, urlsplit(url).path)))

    page.on("response", lambda response: heard(response.url))
    page.goto(page.url.rstrip("/") + address)
    page.wait_for_load_state("load")
    page.context.close()
    return len(_get(served, address)), sum(sizes)


def _signed_in(browser: Browser, served: Served) -> Page:
    """At the overview, under the name that the page has to itself."""
    page = browser.new_context().new_page()
    page.goto(_link(served))
    page.wait_for_url(f"http://*.localhost:{served.port}/")
    return page


def _link(served: Served) -> str:
    class Socket(http.client.HTTPConnection):
        def connect(self) -> None:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.connect(str(Path(served.socket)))

    asking = Socket("localhost")
    asking.request("GET", "/v1/status")
    return str(json.loads(asking.getresponse().read())["login"])


def _get(served: Served, path: str) -> bytes:
    asking = http.client.HTTPConnection("127.0.0.1", served.port)
    asking.request("GET", path, headers={"Authorization": f"Bearer {served.token}"})
    return asking.getresponse().read()


def _call(served: Served, operation: str, **given: object) -> dict[str, str]:
    asking = http.client.HTTPConnection("127.0.0.1", served.port)
    headers = {"Authorization": f"Bearer {served.token}", "Content-Type": "application/json"}
    asking.request("POST", f"/v1/{operation}", json.dumps(given), headers)
    return cast("dict[str, str]", json.loads(asking.getresponse().read()))
