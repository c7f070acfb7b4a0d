"""Makes the pictures in this folder: plays `tally demo --page` and looks at every view, light and dark.

Run it from the project's environment, with Chromium installed: `.venv/bin/python docs/screenshots/make.py`. With a
folder as argument it looks at every view at five widths, for somebody who wants to see them all: `make.py /tmp/all`.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal, TypeAlias

from playwright.sync_api import Page, ViewportSize, sync_playwright

HERE = Path(__file__).parent
SIZE: ViewportSize = {"width": 1280, "height": 860}
PHONE: ViewportSize = {"width": 390, "height": 844}


WIDTHS = (390, 768, 1024, 1440, 1920)
STILL = ("replay", "event", "search", "blobs", "nowhere")
"""Views of something that does not change."""
THINGS = ("actions", "blobs")


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    name: str
    path: str
    keys: tuple[str, ...] = ()
    """What is pressed there."""
    shows: str = "main .card"
    """What has to be in sight then."""


OPENED = (
    View(name="answer", path="/", keys=("j", "j", "r"), shows="#needs textarea:focus"),
    View(name="palette", path="/", keys=("Control+k",), shows="#palette-list li:nth-child(3)"),
    View(name="keys", path="/", keys=("?",), shows="#keys[open]"),
)
Scheme: TypeAlias = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")


def main() -> None:
    every = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    command = [sys.executable, "-m", "tallystick.surfaces.cli.main", "demo", "--page", "--fast"]
    demo = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        lines = iter(demo.stdout or ())
        link = next(line.split()[-1] for line in lines if "page: " in line)
        next(line for line in lines if "Ctrl-C ends" in line)
        _look(link, every)
    finally:
        demo.send_signal(signal.SIGINT)
        demo.wait()


def _look(link: str, every: Path | None) -> None:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        context = browser.new_context(viewport=SIZE, reduced_motion="reduce")
        page = context.new_page()
        page.goto(link)
        page.wait_for_selector("#rooms")
        # The page goes on to a name of its own, where it stays.
        base = page.url.rstrip("/")
        views = _views(page)
        if every:
            every.mkdir(parents=True, exist_ok=True)
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 844 if width == PHONE["width"] else 900})
                for view, scheme in product([*views, *OPENED], SCHEMES):
                    _shoot(page, base, view, scheme, every / f"{view.name}-{width}-{scheme}.png")
        else:
            for view, scheme in product(views, SCHEMES):
                _shoot(page, base, view, scheme, HERE / f"{view.name}-{scheme}.png")
            page.set_viewport_size(PHONE)
            _shoot(page, base, views[0], "light", HERE / "phone-light.png")
        browser.close()


def _shoot(page: Page, base: str, view: View, scheme: Scheme, target: Path) -> None:
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{base}{view.path}")
    if not any(f"/{name}" in view.path for name in STILL):
        page.wait_for_selector("#live[data-state=on]")
    for key in view.keys:
        page.keyboard.press(key)
    page.wait_for_selector(view.shows)
    page.screenshot(path=target)


def _views(page: Page) -> list[View]:
    """Every view, the overview first."""
    rooms = {link.inner_text(): link.get_attribute("href") or "" for link in page.locator(".rooms .title").all()}
    at = rooms["lighthouse"]
    page.goto(f"{page.url.rstrip('/')}{at}")
    request, file = (page.locator(f"a.soft[href*='/{name}/']").first.get_attribute("href") for name in THINGS)
    return [
        View(name="overview", path="/"),
        View(name="room", path=at),
        View(name="sessions", path=f"{at}/sessions"),
        View(name="stick", path=f"{at}/stick"),
        View(name="reservations", path=f"{at}/reservations"),
        View(name="jobs", path=f"{at}/jobs"),
        View(name="job", path=f"{at}/jobs/JOB-002"),
        View(name="history", path=f"{at}/history"),
        View(name="search", path="/search?q=lens"),
        View(name="replay", path=f"{at}/replay?seq=58"),
        View(name="event", path=f"{at}/event/37"),
        View(name="agent", path=f"{at}/agents/dov"),
        View(name="task", path=f"{at}/tasks/TASK-001"),
        View(name="card", path=f"{at}/cards/CARD-001"),
        View(name="runner", path=f"{at}/runners/eves-bench"),
        View(name="request", path=request or ""),
        View(name="file", path=file or ""),
        View(name="refused", path="/rooms/nowhere"),
    ]


if __name__ == "__main__":
    main()
