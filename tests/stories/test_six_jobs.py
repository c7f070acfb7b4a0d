"""Six jobs, two runners and a manager at a terminal, the agents being small programs; at the end somebody looks."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tests.http.conftest import running
from tests.http.running import RunningHub
from tests.stories.six_jobs import SECRET, SHARED, Story, shop
from tests.web.browsing import Viewer
from tests.web.chromium import ARGUMENTS, CHROMIUM

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.timeout(180)]

WORKER = f"""
    def leave(name, text, summary=""):
        open(name, "w").write(text + "\\n")
        end("DONE", summary or text, f"FILE: {{name}}")
    title, words = job["title"], [word["message"] for word in job["manager"]]
    number, prior = job["slice"]["number"], job["prior"]["summary"]
    if title == "port" and not words:
        held = ["--job", job["job_id"], "--runner-id", os.environ["TALLYSTICK_RUNNER"]]
        held += ["--claim-revision", os.environ["TALLYSTICK_CLAIM_REVISION"], "--room", job["room_id"]]
        ask = ["tally", "jobs", "report", *held, "--kind", "question", "--message", "Which port?"]
        subprocess.run(ask, check=True, stdout=sys.stderr)
        end("CONTINUE", "asked for the port")
    elif title == "port":
        leave("{SHARED}", f"port {{words[-1]}}")
    elif title == "table":
        told = json.loads(sys.stdin.readline())["message"]
        leave("{SHARED}", "renamed", f"renamed it, as I was told: {{told}}")
    elif title == "long" and number == 1:
        end("CONTINUE", "{SECRET}")
    elif title == "endless" or (title == "long" and number == 2):
        signal.pause()
    elif title == "long":
        leave("long.txt", f"done after {{prior.split()[-1]}}")
    elif title == "both" and number == 1:
        end("DONE", "All tests pass (exit 0), I checked them with pytest -q.")
    else:
        leave(f"{{title}}.txt", "done")
"""


@pytest.fixture
def hub() -> Generator[RunningHub]:
    with running() as hub:
        yield hub


@pytest.fixture
def story(hub: RunningHub, tmp_path: Path) -> Generator[Story]:
    with shop(hub.data_dir, tmp_path) as shift:
        yield Story.begun(shift, {})


def test_six_jobs_come_to_their_ends_whatever_happens_to_their_runners(story: Story, hub: RunningHub) -> None:
    options = ("--max-parallel", "3", "--stdin-notes")
    first = story.shift.runner(WORKER, *options, runner_id="r1", env=story.manager.env)
    second = story.shift.runner(WORKER, *options, runner_id="r2", env=story.manager.env)
    with first as r1, second as r2:
        story.played({"r1": r1, "r2": r2})
    story.ended_well()
    story.reported()
    _seen_on_the_page(story, hub)


def _seen_on_the_page(story: Story, hub: RunningHub) -> None:
    if not CHROMIUM:
        pytest.skip("Chromium is not installed: the page was NOT tried in a browser")
    jobs = f"/rooms/{story.shift.room_id}/jobs"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        viewer = Viewer.at(hub, browser)
        viewer.go(f"{jobs}/{story.ids['table']}")
        viewer.shows("#proof", f"FILE: {SHARED}")
        viewer.shows("#proof", "file · found · measured by r")
        viewer.shows("#proof", f"Conflicts with {story.branch('port')} in {SHARED}")
        viewer.go(f"{jobs}/{story.ids['both']}")
        viewer.shows("#thread", "DONE without proof")
        viewer.go(f"{jobs}/{story.ids['long']}")
        viewer.shows("#thread", "SECRET-STATE-42")
        viewer.go(jobs)
        viewer.shows("#needs", "No job waits for you.")
        viewer.shows(f"#{story.ids['endless']}", "canceled")
        viewer.shows("#report", f"conflicts with {story.branch('port')} in {SHARED}")
        assert viewer.troubles == []
        browser.close()
