"""Work that takes long says so at a terminal, and nowhere else."""

from __future__ import annotations

import io
import sys

import pytest

from tallystick.surfaces.cli import progress
from tests.waiting import until


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_long_work_says_what_it_is_and_how_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = _Terminal()
    monkeypatch.setattr(sys, "stderr", screen)

    with progress.told("Checking", first=0.001, again=0.002):
        until(lambda: screen.getvalue().count("\n") >= 2)

    assert screen.getvalue().splitlines()[:2] == ["Checking…", "Checking, for 0 s now…"]


@pytest.mark.parametrize(("terminal", "first"), [(False, 0.0), (True, 60.0)])
def test_short_work_and_a_program_that_reads_along_hear_nothing(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, first: float
) -> None:
    screen = _Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)

    with progress.told("Checking", first=first):
        pass

    assert screen.getvalue() == ""
