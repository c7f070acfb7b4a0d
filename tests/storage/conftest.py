from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from tests.databases import EVERY_ENGINE, engine
from tests.places import Place


@pytest.fixture(params=EVERY_ENGINE)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A place without a store, on each engine in turn: here tables are built and broken."""
    url: str | None = request.getfixturevalue("postgres_url") if engine(request) == "postgres" else None
    return Place(data_dir=tmp_path / "data", database_url=url)


@pytest.fixture
def orchard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a package `orchard` that has neither queries nor a schema yet."""
    folder = tmp_path / "orchard"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    monkeypatch.delitem(sys.modules, "orchard", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    importlib.invalidate_caches()
    return folder
