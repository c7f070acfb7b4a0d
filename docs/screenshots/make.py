"""Makes the pictures in this folder: plays `tally demo --page` and looks at every view, light and dark.

Run it from the project's environment, with Chromium installed: `.venv/bin/python docs/screenshots/make.py`. With a
folder as argument it looks at every view at five widths, for somebody who wants to see them all: `make.py /tmp/all`.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Literal, TypeAlias

from playwright.sync_api import Page, ViewportSize, sync_playwright

HERE = Path(__file__).parent
SIZE: ViewportSize = {"width": 1280, "height": 860}
PHONE: ViewportSize = {"width": 390, "height": 844}


WIDTHS = (390, 768, 1024, 1440, 1920)
STILL = ("replay", "event", "search")
"""Views of something that does not change."""
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
                for name, path in views.items():
                    for scheme in SCHEMES:
                        _shoot(page, base, path, scheme, every / f"{name}-{width}-{scheme}.png")
        else:
            for name, path in views.items():
                for scheme in SCHEMES:
                    _shoot(page, base, path, scheme, HERE / f"{name}-{scheme}.png")
            page.set_viewport_size(PHONE)
            _shoot(page, base, "/", "light", HERE / "phone-light.png")
        browser.close()


def _shoot(page: Page, base: str, path: str, scheme: Scheme, target: Path) -> None:
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{base}{path}")
    if not any(f"/{name}" in path for name in STILL):
        page.wait_for_selector("#live[data-state=on]")
    page.screenshot(path=target)


def _views(page: Page) -> dict[str, str]:
    """Every view by the name of its picture."""
    rooms = {link.inner_text(): link.get_attribute("href") or "" for link in page.locator(".rooms .title").all()}
    lighthouse = rooms["lighthouse"]
    return {
        "overview": "/",
        "room": lighthouse,
        "sessions": f"{lighthouse}/sessions",
        "stick": f"{lighthouse}/stick",
        "reservations": f"{lighthouse}/reservations",
        "jobs": f"{lighthouse}/jobs",
        "job": f"{lighthouse}/jobs/JOB-002",
        "history": f"{lighthouse}/history",
        "search": "/search?q=lens",
        "replay": f"{lighthouse}/replay?seq=58",
        "event": f"{lighthouse}/event/37",
        "agent": f"{lighthouse}/agents/dov",
        "task": f"{lighthouse}/tasks/TASK-001",
        "card": f"{lighthouse}/cards/CARD-001",
    }


if __name__ == "__main__":
    main()
