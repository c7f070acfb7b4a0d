"""The reference of events names every kind and every field; read from the golden bodies, not by its generator."""

from __future__ import annotations

import re

import msgspec
import pytest

from tests.frame.checkout import ROOT
from tests.ledger.shapes.everything import RETIRED, golden


def sections() -> dict[str, str]:
    """What the page says of each kind."""
    page = (ROOT / "docs" / "reference" / "events.md").read_text("utf-8").partition("\n## Objects\n")[0]
    _before, *found = re.split(r"^### (.+)$", page, flags=re.MULTILINE)
    return dict(zip(found[::2], found[1::2], strict=True))


SECTIONS = sections()


def test_every_kind_that_is_written_has_a_section_and_nothing_else_has() -> None:
    assert SECTIONS.keys() == {kind for kind, _body in golden()} | RETIRED


@pytest.mark.parametrize("kind", sorted(SECTIONS.keys() - RETIRED))
def test_a_section_says_who_writes_such_events_and_shows_one(kind: str) -> None:
    section = SECTIONS[kind]

    assert re.search(r"^Written by \[`[a-z_.]+`\]", section, re.MULTILINE)
    example = section.partition("```json\n")[2].partition("\n```")[0]
    assert msgspec.json.decode(example) in [msgspec.json.decode(body) for each, body in golden() if each == kind]


@pytest.mark.parametrize("kind", sorted(SECTIONS))
def test_every_field_that_is_written_is_described(kind: str) -> None:
    described = set(re.findall(r"^\| `(\w+)` \|", SECTIONS[kind], re.MULTILINE))
    bodies = [msgspec.json.decode(body, type=dict[str, object]) for each, body in golden() if each == kind]

    assert not SECTIONS[kind].lstrip().startswith("Written by"), "a sentence on what happened"
    assert {field for body in bodies for field in body} - described == set()
