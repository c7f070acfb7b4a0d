"""Fixtures of the command line's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tallystick.surfaces.cli import catalogue
from tests.surfaces.cli.place import Place


@pytest.fixture(autouse=True)
def catalogue_made() -> None:
    """The first command after a source file changed loads the registry; tests see those that come after it."""
    catalogue.operations()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(root=tmp_path)
