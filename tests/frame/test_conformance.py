"""Every row of a conformance table names a test that exists, or says openly that there is none yet."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.frame.checkout import ROOT, shown

TABLES = sorted((ROOT / "docs" / "conformance").glob("*.md"))
ROW_ID = re.compile(r"[A-Z]{2,4}-[A-Z]?\d+")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    table: Path
    id: str
    requirement: str
    proof: str

    def __str__(self) -> str:
        return f"{self.table.name} {self.id}: {self.proof}"

    @property
    def tests(self) -> list[tuple[str, str]]:
        return [(found[1], found[2]) for found in TEST.finditer(self.proof)]

    @property
    def well_formed(self) -> bool:
        """`not yet`, or nothing but named tests separated by commas."""
        return self.proof == "not yet" or TEST.sub("", self.proof).strip(", ") == "" != self.proof


def rows() -> Iterator[Row]:
    for table in TABLES:
        for line in table.read_text("utf-8").splitlines():
            cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
            if line.startswith("| ") and ROW_ID.fullmatch(cells[0]):
                yield Row(table=table, id=cells[0], requirement=cells[1], proof=" | ".join(cells[2:]))


@cache
def tests_in(file: str) -> frozenset[str]:
    path = ROOT / file
    if not path.is_file():
        return frozenset()
    tree = ast.parse(path.read_text("utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_every_row_names_tests_or_says_not_yet() -> None:
    assert [str(row) for row in rows() if not row.well_formed] == []


def test_every_test_that_a_row_names_exists() -> None:
    missing = [f"{row.id} {file}::{name}" for row in rows() for file, name in row.tests if name not in tests_in(file)]

    assert missing == []


def test_every_row_has_an_id_of_its_own_and_a_requirement() -> None:
    seen = Counter(row.id for row in rows())

    assert [row_id for row_id, times in seen.items() if times > 1] == []
    assert [row.id for row in rows() if not row.requirement] == []


def test_every_line_of_a_conformance_table_is_read_as_a_row() -> None:
    header = re.compile(r"\|\s*(id\s*\||-)")
    lines = [
        f"{shown(table)}: {line}"
        for table in TABLES
        for line in table.read_text("utf-8").splitlines()
        if line.startswith("|") and not header.match(line)
    ]

    assert len(lines) == len(list(rows())) > 0
