"""Somebody who has never seen the product: a bare home, and what is typed there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.frame.checkout import ROOT

PACKAGES = ("PIP_", "UV_", "SSL_CERT", "REQUESTS_CA", "https_proxy", "HTTPS_PROXY")
"""How this machine gets Python packages: the one thing that a bare home needs of it."""

SHARED = frozenset({".local", ".local/share"})
"""Empty folders that are not ours alone, and stay."""


@dataclass(frozen=True, slots=True)
class Stranger:
    """A home with nothing in it but a clone, and nothing on the PATH but the system, git, make and Python."""

    home: Path
    programs: Path | None = None
    """A folder before all others on the PATH."""

    @property
    def clone(self) -> Path:
        return self.home / "tallystick"

    @property
    def shop(self) -> Path:
        return self.home / "shop"

    @property
    def env(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name.startswith(PACKAGES)}
        python = str(Path(sys.executable).resolve().parent)
        first = [str(self.programs)] if self.programs else []
        path = os.pathsep.join([*first, python, "/usr/local/bin", "/usr/bin", "/bin"])
        return {**kept, "HOME": str(self.home), "PATH": path, "LANG": "C.UTF-8", "TALLYSTICK_PORT": "0"}

    def files(self) -> set[str]:
        """Everything in the home but what pip keeps for next time."""
        every = (path.relative_to(self.home).as_posix() for path in self.home.rglob("*"))
        return {name for name in every if not f"{name}/".startswith((".cache/", "tallystick/"))}

    def cloned(self) -> None:
        subprocess.run(["git", "clone", "-q", str(ROOT), str(self.clone)], env=self.env, check=True)

    def terminal(self, *lines: str, where: Path | None = None) -> tuple[int, str]:
        """A new terminal in the repository, in which these lines are typed one after the other."""
        done = subprocess.run(
            ["bash", "-c", "\n".join(["set -e", *lines])],
            cwd=where or self.shop,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout


@contextmanager
def newcomer() -> Generator[Stranger]:
    """In a short place: a hub's socket lies below it."""
    with tempfile.TemporaryDirectory(prefix="t-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        person = Stranger(Path(folder))
        for name in (".config/pip/pip.conf", ".pip/pip.conf"):
            if (settings := Path.home() / name).is_file():
                (person.home / name).parent.mkdir(parents=True)
                shutil.copy(settings, person.home / name)
        (person.home / ".gitconfig").write_text("[user]\n\tname = You\n\temail = you@shop.example\n")
        person.shop.mkdir()
        (person.shop / "cart.py").write_text("total = 0\n")
        subprocess.run(["git", "init", "-q"], cwd=person.shop, env=person.env, check=True)
        yield person
