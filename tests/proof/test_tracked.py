"""What git tracks is read from its index as git writes it, and nothing else of a repository is believed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from tallystick.proof import files
from tallystick.proof.files import FilesToRead
from tests.agents.repository import git, repository


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = repository(tmp_path / "repo").resolve()
    (root / ".env").write_text("TOKEN=1\n")
    for name in ("plain.txt", "with space.txt", 'é"q.txt', f"{'long' * 40}.txt"):
        (root / name).write_text(name)
        (root / "src" / name).write_text(name)
    git(root, "add", "--", *(each.name for each in root.glob("*.txt")), "src")
    (root / "later.txt").write_text("")
    git(root, "add", "--intent-to-add", "later.txt")
    return root


def names(root: Path) -> set[str]:
    return {name for name in git(root, "ls-files", "-z").split("\0") if name}


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_every_version_of_an_index_is_read(checkout: Path, version: str) -> None:
    git(checkout, "update-index", "--index-version", version)

    assert files.tracked_files(checkout) == names(checkout)
    assert files.tracked_files(checkout / "src") == {
        name.removeprefix("src/") for name in names(checkout) if name.startswith("src/")
    }


def test_a_working_tree_beside_the_repository_has_an_index_of_its_own(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "commit", "-qam", "all")
    git(checkout, "worktree", "add", "-q", str(tmp_path / "beside"))

    assert files.tracked_files(tmp_path / "beside") == names(checkout)


@pytest.mark.parametrize("broken", [b"", b"DIRC", b"DIRC\0\0\0\2\0\0\0\7", b"DIRC\0\0\0\x09\0\0\0\1", b"x" * 100])
def test_an_index_that_cannot_be_read_names_nothing(checkout: Path, broken: bytes) -> None:
    (checkout / ".git" / "index").write_bytes(broken)

    assert files.tracked_files(checkout) == frozenset()


def test_an_index_that_would_grow_beyond_any_memory_names_nothing(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGEST_INDEX", 100_000)
    entry = bytes(62)
    repeated = b"".join(entry + b"\0" + b"x\0" for _ in range(100))
    long = b"DIRC" + (4).to_bytes(4) + (101).to_bytes(4) + entry + b"\0" + b"n" * 2000 + b"\0" + repeated
    (checkout / ".git" / "index").write_bytes(long)

    assert files.tracked_files(checkout) == frozenset()


def test_a_pipe_in_the_place_of_the_index_holds_nobody_up(checkout: Path) -> None:
    (checkout / ".git" / "index").unlink()
    os.mkfifo(checkout / ".git" / "index")

    assert files.tracked_files(checkout) == frozenset()


def test_only_what_is_tracked_is_hashed_where_nothing_else_may_be(checkout: Path, tmp_path: Path) -> None:
    (checkout / "link.txt").symlink_to(".env")
    git(checkout, "add", "link.txt")
    refs = ["FILE: plain.txt", "FILE: .env", "FILE: link.txt", "FILE: .git/config", "FILE: no-such-file"]

    seen = files.survey(FilesToRead(refs=refs, roots=[checkout], tracked_only=True))

    assert {path: fact.sha256 for path, fact in seen.items() if fact.sha256} == {
        "plain.txt": hashlib.sha256(b"plain.txt").hexdigest()
    }
    assert len({fact for path, fact in seen.items() if path != "plain.txt"}) == 1
