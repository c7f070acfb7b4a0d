"""The checkout as the frame tests see it: where its files are and which of them are ours."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "tallystick"
BENCH = ROOT / "src" / "tallybench"
"""What measures it, which is not in the wheel."""
LOCKS = sorted(ROOT.glob("requirements*.lock"))


def modules(package: Path = PACKAGE) -> list[Path]:
    return sorted(package.rglob("*.py"))


@cache
def nodes(module: Path) -> list[ast.AST]:
    """Everything in its source, read once."""
    return list(ast.walk(ast.parse(module.read_text("utf-8"))))


def documents() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def shown(path: Path) -> str:
    """The path as a failure should print it."""
    return path.relative_to(ROOT).as_posix()
