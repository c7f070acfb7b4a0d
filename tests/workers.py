"""Which tests of a parallel run go to the same worker."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling  # pyright: ignore[reportMissingTypeStubs]

SHARING = {"bus", "client", "http", "runtime", "web"}
"""Folders whose modules start one hub, and perhaps a browser, for all their tests."""


class ByModule(LoadScopeScheduling):
    """Keeps the tests of a module that share something in one worker, or every worker would start its own."""

    def _split_scope(self, nodeid: str) -> str:
        module, _, test = nodeid.partition("::")
        if not _shares(self.config.rootpath / module):
            return nodeid
        return f"{module} {next((engine for engine in ('sqlite', 'postgres') if engine in test), '')}"


@cache
def _shares(module: Path) -> bool:
    return module.parent.name in SHARING or 'scope="module"' in module.read_text()
