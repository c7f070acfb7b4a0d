"""Makes the pictures in this folder: plays `tally demo --page` and looks at every view, light and dark.

Run it from the project's environment, with Chromium installed: `.venv/bin/python docs/screenshots/make.py`.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, ViewportSize, sync_playwright

HERE = Path(__file__).parent
SIZE: ViewportSize = {"width": 1280, "height": 860}
PHONE: ViewportSize = {"width": 390, "height": 844}


def main() -> None:
    command = [sys.executable, "-m", "tallystick.surfaces.cli.main", "demo", "--page", "--fast"]
    demo = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        lines = iter(demo.stdout or ())
        link = next(line.split()[-1] for line in lines if "page: " in line)
        next(line for line in lines if "Ctrl-C ends" in line)
        _look(link)
    finally:
        demo.send_signal(signal.SIGINT)
        demo.wait()


def _look(link: str) -> None:
    base = link.partition("/login")[0]
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        context = browser.new_context(viewport=SIZE, reduced_motion="reduce")
        page = context.new_page()
        page.goto(link)
        page.wait_for_url(f"{base}/")
        for name, path in _views(page).items():
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
                page.goto(f"{base}{path}")
                if "replay" not in path and "event" not in path:
                    page.wait_for_selector("#live[data-state=on]")
                page.screenshot(path=HERE / f"{name}-{scheme}.png")
        page.set_viewport_size(PHONE)
        page.emulate_media(color_scheme="light")
        page.goto(f"{base}/")
        page.wait_for_selector("#live[data-state=on]")
        page.screenshot(path=HERE / "phone-light.png")
        browser.close()


def _views(page: Page) -> dict[str, str]:
    """Every view by the name of its picture."""
    rooms = {link.inner_text(): link.get_attribute("href") or "" for link in page.locator(".rooms .title").all()}
    lighthouse = rooms["lighthouse"]
    return {
        "overview": "/",
        "room": lighthouse,
        "sessions": f"{lighthouse}/sessions",
        "reservations": f"{lighthouse}/reservations",
        "jobs": f"{lighthouse}/jobs",
        "job": f"{lighthouse}/jobs/JOB-002",
        "history": f"{lighthouse}/history",
        "search": f"{lighthouse}/history?q=lens",
        "replay": f"{lighthouse}/replay?seq=58",
        "event": f"{lighthouse}/event/37",
    }


if __name__ == "__main__":
    main()
