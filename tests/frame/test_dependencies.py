"""What the package declares and what it imports are the same: nothing is installed for nothing, nothing is borrowed."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import cast

from tests.frame.checkout import BENCH, ROOT, modules, nodes, shown

NEEDED_BY = {"httptools": "uvicorn.protocols.http.httptools_impl"}
"""What uvicorn leaves to whoever installs it, and the module of uvicorn that we import and that needs it."""


def _named(requirement: str) -> str:
    """A distribution's name as the index spells it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\s\[<>=!~;]", requirement, maxsplit=1)[0]).lower()


@cache
def declared(*groups: str) -> set[str]:
    """The runtime dependencies, and those of some groups."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wanted: list[object] = [*project["project"]["dependencies"]]
    for group in groups:
        wanted += cast("list[object]", project["dependency-groups"][group])
    return {_named(each) for each in wanted if isinstance(each, str)}


def imported(path: Path) -> Iterator[str]:
    """Every module that a file of ours takes from elsewhere, wherever in the file it does."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module


installed = cache(packages_distributions)


def distributions(names: Iterable[str]) -> set[str]:
    """The distributions that foreign modules come from; a module that is not installed stands for itself."""
    tops = {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"tallybench", "tallystick"}
    return {_named(each) for top in tops for each in installed().get(top, [top])}


def test_every_dependency_is_imported() -> None:
    names = {name for path in modules() for name in imported(path)}
    used = distributions(names) | {package for package, module in NEEDED_BY.items() if module in names}

    assert declared() - used == set()


def test_every_import_is_a_declared_dependency() -> None:
    borrowed = {
        f"{shown(path)}: {name}"
        for paths, groups in ((modules(), ()), (modules(BENCH), ("bench", "dev")))
        for path in paths
        for name in distributions(imported(path)) - declared(*groups)
    }

    assert borrowed == set()


def test_nothing_in_the_wheel_imports_what_is_not_in_it() -> None:
    """But by name, where the command line offers it if it is there."""
    assert [shown(path) for path in modules() if any(name.startswith(BENCH.name) for name in imported(path))] == []
