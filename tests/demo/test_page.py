"""The demo on the page: a newcomer sees a working team, and afterwards nothing of it is left."""

from __future__ import annotations

import os
import signal
import tempfile
import urllib.request
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.demo.theatre import Opening

pytestmark = pytest.mark.slow


@pytest.fixture
def tmp_path() -> Generator[Path]:
    """A short one: a hub's socket lies below it, and the system bounds the length of its path."""
    with tempfile.TemporaryDirectory(prefix="t-") as folder:
        yield Path(folder)


def test_the_page_is_full_of_life_and_ctrl_c_deletes_it_all(show: Opening, tmp_path: Path) -> None:
    demo = show("--page", "--fast")
    link = demo.until("Watch it on the page").split()[-1]
    demo.until("Ctrl-C ends the demo and deletes everything it made")
    hop = urllib.request.urlopen(link).read().decode()
    host = {"Host": hop.partition('data-go="http://')[2].partition("/")[0]}
    entered = urllib.request.urlopen(urllib.request.Request(link, headers=host))
    session = {**host, "Cookie": entered.headers["Set-Cookie"].partition(";")[0]}

    shown = urllib.request.urlopen(urllib.request.Request(link.partition("/login")[0], headers=session)).read().decode()

    for text in ("lighthouse", "harbour-charts", "Which do we order?", "eve", "tried lamp, reserved by"):
        assert text in shown
    os.killpg(demo.process.pid, signal.SIGINT)
    assert demo.to_the_end() == 0, demo.text
    assert demo.survivors() == []
    assert list(tmp_path.iterdir()) == []


def test_a_demo_that_is_killed_takes_its_hub_along(show: Opening) -> None:
    demo = show("--page", "--fast")
    demo.until("Watch it on the page")

    demo.process.kill()

    assert demo.to_the_end() == -signal.SIGKILL
    assert demo.survivors() == []


def test_a_page_of_its_own_and_your_own_store_exclude_each_other(show: Opening) -> None:
    demo = show("--page", "--here")

    assert demo.to_the_end() == 2
