from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.guard.repository import Repo
from tests.hooks.desk import Desk
from tests.surfaces.cli.place import Place


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with one commit and without the sample hooks that git brings along."""
    folder = tmp_path / "machine"
    folder.mkdir()
    desk = Desk(Place(root=folder))
    repo = Repo(desk, desk.root)
    repo.ok("init", "-q", "-b", "main")
    shutil.rmtree(repo.hooks)
    repo.ok("add", "-A")
    repo.ok("commit", "-q", "-m", "first")
    return repo
