"""The documents hang together: links lead somewhere and every page can be reached from the index."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.frame.checkout import PACKAGE, ROOT, documents, shown

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


DECISIONS = ROOT / "docs" / "decisions"
HEADING = re.compile(r"# (\d{3})\. (.+)\n\nStatus: (accepted|superseded by \[\d{3}\]\(.+?\)), (\d{4}-\d\d-\d\d)[.;]")


def test_every_decision_has_a_number_a_title_a_status_and_a_date_and_is_in_the_index() -> None:
    index = (DECISIONS / "README.md").read_text("utf-8")
    rows, numbers = dict[str, str](), set[str]()
    for page in sorted(DECISIONS.glob("[0-9]*.md")):
        said = HEADING.match(page.read_text("utf-8"))
        assert said, page.name
        number, title, status, date = said.groups()
        assert page.name.startswith(f"{number}-")
        assert number not in numbers, page.name
        numbers.add(number)
        rows[f"[{number}. {title}]({page.name})"] = f"{status.replace('[', '').partition(']')[0]}|{date}"
    found = re.findall(r"^\| (\[.+\)) \| (.+?)(?:, in part .+?)? \| (\S+) \|$", index, re.MULTILINE)

    assert {link: f"{status}|{date}" for link, status, date in found} == rows


def test_the_glossary_explains_each_word_once() -> None:
    words = re.findall(r"\*\*(.+?)\*\*", (ROOT / "docs" / "glossary.md").read_text("utf-8"))
    seen = [word.lower() for word in words]

    assert sorted({word for word in seen if seen.count(word) > 1}) == []


def test_the_architecture_places_every_package_and_names_only_what_is_there() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    placed = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    named = re.findall(r"`((?:\w+/)+\w*(?:\.py)?)`", text)

    assert placed == packages
    assert [name for name in named if not ((PACKAGE / name).exists() or (ROOT / name).exists())] == []
