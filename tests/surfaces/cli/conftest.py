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
def place(tmp_path: Path, common_hub: Path) -> Place:
    """Where commands ask a hub; `test_both_modes` proves that without one they say the same."""
    return Place(root=tmp_path, hub=common_hub)


@pytest.fixture
def alone(tmp_path: Path) -> Place:
    """Where no hub runs, so that every command opens the store itself."""
    return Place(root=tmp_path)
