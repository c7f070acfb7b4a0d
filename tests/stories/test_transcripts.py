"""README and the guides are transcripts: what they have their reader type, in a new home, shows what stands there."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.frame.checkout import ROOT, shown
from tests.stories.team_programs import real_team
from tests.stories.transcript import PAGES, Typed, cast, reader, steps, typed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

COUNT = 127
"""Commands on all pages together."""


@pytest.fixture
def home() -> Generator[Path]:
    """A short one: a hub's socket lies below it, and the system bounds the length of its path."""
    with tempfile.TemporaryDirectory(prefix="t-") as folder:
        yield Path(folder) / "h"


@pytest.mark.parametrize("page", [page for page in PAGES if typed(page.read_text("utf-8"))], ids=shown)
def test_a_page_is_what_its_reader_sees(home: Path, page: Path) -> None:
    _read(page, home, cast(page, home))


@pytest.mark.npm
@pytest.mark.timeout(600)
def test_the_real_programs_of_three_makes_are_the_team_of_the_guide(home: Path) -> None:
    with real_team(home, "claude", "codex", "gemini") as team:
        _read(ROOT / "docs/guides/run-a-team.md", home, [str(team.bin)])


def _read(page: Path, home: Path, programs: list[str]) -> None:
    with reader(home, programs=programs) as person:
        for step in steps(page.read_text("utf-8")):
            seen = person.does(step)
            if isinstance(step, Typed):
                assert step.like(seen), f"$ {step.command}\n{seen}\ninstead of\n{step.shows}"


def test_all_commands_are_counted() -> None:
    assert sum(len(typed(page.read_text("utf-8"))) for page in PAGES) >= COUNT
