"""One Chromium for this folder, one hub for a module; every test has rooms of its own, and windows to itself."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeAlias

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.http.conftest import running
from tests.http.running import RunningHub
from tests.web.browsing import Viewer
from tests.web.chromium import ARGUMENTS, CHROMIUM

Look: TypeAlias = Callable[..., Viewer]


@pytest.fixture(scope="module")
def hub() -> Generator[RunningHub]:
    with running() as hub:
        yield hub


@pytest.fixture(scope="package")
def browser() -> Generator[Browser]:
    """Not for longer: while Playwright is open its event loop runs in this thread, and no other can."""
    if not CHROMIUM:
        pytest.skip("Chromium is not installed: the page was NOT tried in a browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def idle(browser: Browser) -> Generator[list[Viewer]]:
    """Windows that show nothing: to open one takes three times as long as to go to a page in it."""
    viewers: list[Viewer] = []
    yield viewers
    for viewer in viewers:
        viewer.context.close()


@pytest.fixture
def look(hub: RunningHub, browser: Browser, idle: list[Viewer]) -> Generator[Look]:
    """A browser window that is signed in; at the end nothing may have gone wrong in any of them.

    Options open a new one, as does `own` for who does something to a window that lasts: cookies, permissions, routes.
    """
    kept: list[Viewer] = []
    closed: list[Viewer] = []

    def opened(*, own: bool = False, **options: Any) -> Viewer:
        if own or options:
            closed.append(Viewer.at(hub, browser, **options))
            return closed[-1]
        kept.append(idle.pop() if idle else Viewer.at(hub, browser))
        return kept[-1]

    yield opened
    troubles = [trouble for viewer in (*kept, *closed) for trouble in viewer.troubles]
    for viewer in closed:
        viewer.context.close()
    for viewer in kept:
        viewer.empty()
    idle.extend(kept)
    assert troubles == []


@pytest.fixture
def room(hub: RunningHub) -> str:
    return hub.user.room("payments-api")
