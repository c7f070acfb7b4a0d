"""Which tests of a parallel run go to the same worker, and in which order groups of tests are handed out."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from xdist.remote import Producer  # pyright: ignore[reportMissingTypeStubs]
from xdist.scheduler import LoadScopeScheduling  # pyright: ignore[reportMissingTypeStubs]

SHARING = {"bus", "client", "http", "runtime", "web"}
"""Folders whose modules start one hub for all their tests."""
WHOLE = {"web"}
"""Folders all of whose modules share one browser."""
ONCE = {"test_dependencies.py", "test_refusals.py", "test_repository.py"}
"""Modules that read our whole source, once for all their tests."""
APART = {"test_chaos.py", "test_kill.py", "test_kills.py", "test_restart.py"}
"""Modules of those folders in which every test kills a hub of its own."""
SHORT = {
    *("actions", "agents", "hub", "jobs", "kernel", "ledger", "messages", "permissions", "proof", "protocol"),
    *("reservations", "rooms", "storage", "tasks", "turns"),
}
"""Folders whose tests start no process, but for those that are marked as slow."""
BUNDLE = 20
"""How many of their tests, of a few milliseconds each, are handed out at a time."""


class ByModule(LoadScopeScheduling):
    """Keeps the tests of a module that share something in one worker, or every worker would start its own.

    Groups are handed out in the order of the tests, which is that of `longest_first`.
    """

    def __init__(self, config: pytest.Config, log: Producer) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False
        self._met = Counter[str]()
        self._groups: dict[str, str] = {}

    def _split_scope(self, nodeid: str) -> str:
        # Asked again when the test is done.
        if nodeid not in self._groups:
            self._groups[nodeid] = self._group(nodeid)
        return self._groups[nodeid]

    def _group(self, nodeid: str) -> str:
        module, _, test = nodeid.partition("::")
        path = self.config.rootpath / module
        if path.parent.name in WHOLE:
            return path.parent.name
        if _shares(path):
            return f"{module} {next((engine for engine in ('sqlite', 'postgres') if engine in test), '')}"
        if path.parent.name not in SHORT:
            return nodeid
        self._met[module] += 1
        return f"{module} {self._met[module] // BUNDLE}"


def longest_first(rootpath: Path, items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that at the end no worker has a long group left while the others idle."""
    items.sort(key=lambda item: _rank(rootpath / item.nodeid.partition("::")[0], item))


def _rank(module: Path, item: pytest.Item) -> int:
    if _shares(module):
        return 0 if module.parent.name == "web" else 2
    if item.get_closest_marker("slow"):
        return 1
    return 4 if module.parent.name in SHORT else 3


@cache
def _shares(module: Path) -> bool:
    if module.name in APART:
        return False
    return module.parent.name in SHARING or module.name in ONCE or 'scope="module"' in module.read_text("utf-8")
