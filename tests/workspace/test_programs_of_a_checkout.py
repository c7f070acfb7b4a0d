"""A checkout can name programs for git to run. Whoever only looks at what has changed in it runs none of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tallystick.kernel.scopes import PathOutside
from tallystick.workspace import git_changes, room_paths
from tallystick.workspace.room_paths import RoomRoots
from tests.agents.repository import git, repository


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo").resolve()


def test_a_branch_is_read_without_git_also_in_a_worktree_and_below_the_top(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "checkout", "-qb", "fix/retries")
    git(checkout, "worktree", "add", "-qb", "other", str(tmp_path / "beside"))
    found = [git_changes.branch(str(folder)) for folder in (checkout, checkout / "src", tmp_path / "beside")]
    assert found == ["fix/retries", "fix/retries", "other"]
    git(checkout, "checkout", "-q", "--detach")
    assert git_changes.branch(str(checkout)) == git(checkout, "rev-parse", "HEAD").strip()[:10]


def test_what_is_no_repository_has_no_branch_and_a_pipe_in_its_place_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "pipe" / ".git").mkdir(parents=True)
    os.mkfifo(tmp_path / "pipe" / ".git" / "HEAD")
    assert [git_changes.branch(str(tmp_path / name)) for name in ("pipe", "nowhere", "no\0path")] == ["", "", ""]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that leaves a trace when it is run."""
    path = tmp_path / "program"
    path.write_text(f"#!/bin/sh\necho ran >> {tmp_path}/trace\ncat\n")
    path.chmod(0o755)
    return path


def changed(checkout: Path, folder: Path | None = None) -> list[str] | None:
    found = git_changes.changes(str(folder or checkout), RoomRoots(roots=(str(checkout),), start=str(checkout)))
    return None if found.files is None else sorted(file.key for file in found.files)


def test_neither_a_monitor_nor_a_filter_nor_a_hook_is_run(checkout: Path, program: Path, tmp_path: Path) -> None:
    (checkout / ".gitattributes").write_text("* filter=x\n")
    (checkout / "src" / "parser.py").write_text("two\n")
    for name in ("core.fsmonitor", "filter.x.clean", "filter.x.process"):
        git(checkout, "config", name, str(program))
    git(checkout, "config", "filter.x.required", "true")

    assert changed(checkout) == [".gitattributes", "src/parser.py"]
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("setting", ["remote.origin.uploadpack", "core.sshCommand"])
def test_an_object_that_is_missing_is_fetched_from_nowhere(
    checkout: Path, program: Path, tmp_path: Path, setting: str
) -> None:
    tree = git(checkout, "rev-parse", "HEAD^{tree}").strip()
    (checkout / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    (checkout / ".git" / "index").unlink()
    url = "ssh://nowhere.invalid/x" if setting == "core.sshCommand" else f"file://{checkout}"
    for name, value in (
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", url),
        (setting, str(program)),
    ):
        git(checkout, "config", name, value)

    assert changed(checkout) is None
    assert not (tmp_path / "trace").exists()


def test_a_folder_that_looks_like_a_bare_repository_is_none(checkout: Path, program: Path, tmp_path: Path) -> None:
    bare = checkout / "vendor" / "evil"
    for folder in ("refs", "objects"):
        (bare / folder).mkdir(parents=True)
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    (bare / "config").write_text(f"[core]\n\tworktree = {checkout}\n\tfsmonitor = {program}\n\tbare = false\n")

    assert changed(checkout, bare) is None
    assert not (tmp_path / "trace").exists()


def test_a_folder_outside_the_room_is_not_looked_at(checkout: Path, tmp_path: Path) -> None:
    at = RoomRoots(roots=(str(checkout),), start=str(checkout))

    assert room_paths.folder_in_room(f"{checkout}/src", at) == f"{checkout}/src"
    for folder in (str(tmp_path), f"{checkout}-other"):
        with pytest.raises(PathOutside):
            room_paths.folder_in_room(folder, at)
