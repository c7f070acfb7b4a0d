"""The documents hang together: links lead somewhere and every page can be reached from the index."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.frame.checkout import ROOT, documents, shown

LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
OUTSIDE = re.compile(r"[a-z]+:")


def links(page: Path) -> Iterator[Path]:
    """The files a page links to; addresses outside the checkout and places within the page are left out."""
    for found in LINK.finditer(FENCE.sub("", page.read_text("utf-8"))):
        target = found[1].partition("#")[0]
        if target and not OUTSIDE.match(target):
            yield (page.parent / target).resolve()


def test_every_link_between_documents_leads_to_a_file() -> None:
    broken = [
        f"{shown(page)} -> {target.name}" for page in documents() for target in links(page) if not target.exists()
    ]

    assert broken == []


def test_every_page_can_be_reached_from_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    reached, waiting = set[Path](), [index]
    while waiting:
        page = waiting.pop()
        if page.suffix == ".md" and page.is_file() and page not in reached:
            reached.add(page)
            waiting.extend(links(page))

    assert [shown(page) for page in sorted((ROOT / "docs").rglob("*.md")) if page not in reached] == []
