"""Fixtures of the command line's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.surfaces.cli.place import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(root=tmp_path)
