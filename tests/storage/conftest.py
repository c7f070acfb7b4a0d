from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest


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
