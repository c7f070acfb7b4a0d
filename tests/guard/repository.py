"""A real git repository with an agent or two around it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.hooks.hooked import HookedWorkspace
from tests.surfaces.cli.place import TALLY, Done

IDENTITY = {
    "GIT_AUTHOR_NAME": "n",
    "GIT_AUTHOR_EMAIL": "n@example.test",
    "GIT_COMMITTER_NAME": "n",
    "GIT_COMMITTER_EMAIL": "n@example.test",
    "GIT_CONFIG_NOSYSTEM": "1",
    "TALLYSTICK_AGENT": "me",
}


@dataclass(frozen=True, slots=True)
class Repo:
    hooked: HookedWorkspace
    top: Path

    @property
    def hooks(self) -> Path:
        return self.top / ".git" / "hooks"

    def git(self, *args: str, cwd: Path | None = None, agent: str = "me", check: bool = False) -> Done:
        env = {**self.hooked.place.env, **IDENTITY, **self.hooked.env, "TALLYSTICK_AGENT": agent}
        env["PATH"] = f"{Path(TALLY).parent}{os.pathsep}{env['PATH']}"
        done = subprocess.run(["git", *args], cwd=cwd or self.top, env=env, capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, done.stderr
        return Done(code=done.returncode, out=done.stdout, err=done.stderr)

    def ok(self, *args: str, cwd: Path | None = None, agent: str = "me") -> str:
        return self.git(*args, cwd=cwd, agent=agent, check=True).out.strip()

    def guard(self, *args: str, cwd: Path | None = None) -> Done:
        env = {**IDENTITY, **self.hooked.env}
        return self.hooked.place.run("--json", "guard", *args, cwd=cwd or self.top, env=env)

    def write(self, name: str, text: str = "x\n", *, top: Path | None = None) -> None:
        path = (top or self.top) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def stage(self, name: str, text: str = "x\n", *, top: Path | None = None) -> None:
        self.write(name, text, top=top)
        self.ok("add", "-A", "--", name, cwd=top)

    def commit(self, *options: str, cwd: Path | None = None, agent: str = "me") -> Done:
        return self.git("commit", "-m", "change", *options, cwd=cwd, agent=agent)

    def hook(self, name: str, text: str, mode: int = 0o755) -> Path:
        path = self.hooks / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
        path.chmod(mode)
        return path

    def snapshot(self) -> dict[str, tuple[int, str | bytes]]:
        """The configuration and every hook of the repository: mode and content, or where a link leads."""
        files = [self.top / ".git" / "config", *sorted((self.top / ".git").glob("*hooks*/**/*"))]
        return {
            path.relative_to(self.top).as_posix(): (
                path.lstat().st_mode,
                str(path.readlink()) if path.is_symlink() else path.read_bytes(),
            )
            for path in files
            if path.is_symlink() or path.is_file()
        }
