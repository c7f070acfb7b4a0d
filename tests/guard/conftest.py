from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.guard.repository import Repo
from tests.hooks.hooked import HookedWorkspace
from tests.surfaces.cli.place import Place


@pytest.fixture
def repo(tmp_path: Path, common_hub: Path) -> Repo:
    """Where `tally` asks a hub."""
    return made(tmp_path, common_hub)


@pytest.fixture
def lone_repo(tmp_path: Path) -> Repo:
    """Where `tally` opens the store itself."""
    return made(tmp_path, None)


def made(tmp_path: Path, hub: Path | None) -> Repo:
    """A repository with one commit and without the sample hooks that git brings along."""
    folder = tmp_path / "machine"
    folder.mkdir()
    hooked = HookedWorkspace(Place(root=folder, hub=hub))
    repo = Repo(hooked, hooked.root)
    repo.ok("init", "-q", "-b", "main")
    shutil.rmtree(repo.hooks)
    repo.ok("add", "-A")
    repo.ok("commit", "-q", "-m", "first")
    return repo
