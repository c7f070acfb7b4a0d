"""A real git repository to leave work behind in."""

from __future__ import annotations

import subprocess
from pathlib import Path


def git(folder: Path, *args: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", *identity, *args], cwd=folder, check=True, capture_output=True).stdout.decode()


def repository(folder: Path) -> Path:
    """A repository with one commit of a few files."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet")
    for name in ("src/parser.py", "docs/guide.md", "lib/util.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("one\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "first")
    return folder
