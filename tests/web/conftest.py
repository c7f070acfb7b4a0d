"""One hub and one Chromium for a module's tests; every test has rooms and browser windows of its own."""

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


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    """Not for longer: while Playwright is open its event loop runs in this thread, and no other can."""
    if not CHROMIUM:
        pytest.skip("Chromium is not installed: the page was NOT tried in a browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def look(hub: RunningHub, browser: Browser) -> Generator[Look]:
    """Open a browser window that is signed in; at the end nothing may have gone wrong in any of them."""
    viewers: list[Viewer] = []

    def opened(**options: Any) -> Viewer:
        viewers.append(Viewer.at(hub, browser, **options))
        return viewers[-1]

    yield opened
    troubles = [trouble for viewer in viewers for trouble in viewer.troubles]
    for viewer in viewers:
        viewer.context.close()
    assert troubles == []


@pytest.fixture
def room(hub: RunningHub) -> str:
    return hub.user.room("payments-api")
