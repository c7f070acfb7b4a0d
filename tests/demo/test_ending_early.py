"""However the play ends, nobody stays behind and nobody is told that all went well."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.demo.theatre import Opening

pytestmark = pytest.mark.slow


def test_ctrl_c_sends_everybody_home_and_cleans_up(show: Opening, tmp_path: Path) -> None:
    demo = show()
    demo.until("has the stick: turn 1")

    os.killpg(demo.process.pid, signal.SIGINT)

    assert demo.to_the_end() == 130, demo.text
    assert "every hash checked" not in demo.text
    assert demo.survivors() == []
    assert demo.group() == []
    assert list(tmp_path.iterdir()) == []


def test_a_director_that_is_killed_takes_nobody_with_it_into_limbo(show: Opening) -> None:
    demo = show()
    demo.until("has the stick: turn 1")

    demo.process.kill()

    assert demo.to_the_end() == -signal.SIGKILL
    assert demo.survivors() == []


def test_an_agent_that_dies_out_of_turn_fails_the_demo(show: Opening) -> None:
    demo = show()
    demo.until("has the stick: turn 1")
    (ada,) = demo.family("tallystick.demo.agent ada")

    ada.kill()

    assert demo.to_the_end() == 4, demo.text
    assert "ada ended too early" in demo.text
    assert demo.survivors() == []
