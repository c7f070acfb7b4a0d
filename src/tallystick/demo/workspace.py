"""The scratch repository: made with git, edited by the agents, and checked by its own tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tallystick.demo import story
from tallystick.kernel.errors import Unavailable


class GitMissing(Unavailable):
    """The demo's agents work in a git repository, and there is no git on this machine."""

    hint = "Install git and run `tally demo` again."


class DemoRepository:
    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def made(cls, root: Path) -> DemoRepository:
        if not shutil.which("git"):
            raise GitMissing
        root.mkdir()
        new = cls(root)
        # As a setting: a git from before it leaves it out, where it would refuse an option that it does not know.
        new.git("-c", "init.defaultBranch=main", "init", "--quiet")
        new.write("README.md", story.README)
        new.write("lamp.py", story.LAMP)
        new.commit("keeper", "The light at Skerry Point")
        return new

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text, "utf-8")

    def commit(self, author: str, message: str) -> str:
        """Commit everything; the result is the commit's short name."""
        self.git("add", "--all")
        who = (f"user.name={author}", f"user.email={author}@example.invalid", "commit.gpgsign=false")
        self.git(*(word for setting in who for word in ("-c", setting)), "commit", "--quiet", "-m", message)
        return self.git("rev-parse", "--short", "HEAD")

    def unfinished(self) -> str:
        """What was changed and not committed, as git shows it."""
        return self.git("diff", "--unified=0")

    def log(self) -> list[str]:
        """Author and title of every commit, oldest first."""
        return self.git("log", "--reverse", "--format=%an: %s").splitlines()

    def git(self, *arguments: str) -> str:
        # Nobody's own settings or hooks have a part in this play.
        environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
            environ.pop(name, None)
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env=environ,
            stdin=subprocess.DEVNULL,
            check=True,
            capture_output=True,
            encoding="utf-8",
            process_group=0,
        )
        return done.stdout.strip()

    def tests_pass(self) -> bool:
        done = subprocess.run(
            [sys.executable, "-B", "-m", "unittest", "--quiet"],
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            check=False,
            capture_output=True,
            process_group=0,
        )
        return done.returncode == 0
