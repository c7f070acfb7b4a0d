"""Programs from npm, each installed once into the temporary directory, whichever test needs it first."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.memory import kept_folder

CACHE = kept_folder() / "tallystick-npm"
HANDED_OVER = ("cafile", "registry")
"""Settings of this machine's own npmrc, which npm does not read once it is given a prefix."""


def installed(package: str) -> Path:
    """The folder `node_modules` with this package in it; skips the test where npm or the package is not to be had."""
    if shutil.which("npm") is None:
        pytest.skip(f"npm is not installed: {package} was NOT run")
    folder = CACHE / package.replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / ".complete").exists():
            install = ["npm", "install", "--no-audit", "--no-fund", "--cache", str(CACHE), "--prefix", str(folder)]
            tried = subprocess.run(
                [*install, package], env={**os.environ, **_settings()}, capture_output=True, text=True, check=False
            )
            if tried.returncode:
                pytest.skip(f"npm cannot install {package}: it was NOT run. {tried.stderr[-300:]}")
            (folder / ".complete").touch()
    return folder / "node_modules"


@cache
def obtainable() -> bool:
    """Whether this machine has npm and npm reaches its registry."""
    return shutil.which("npm") is not None and _npm("ping").returncode == 0


def _settings() -> dict[str, str]:
    shown = dict(line.split("=", 1) for line in _npm("config", "get", *HANDED_OVER).stdout.splitlines() if "=" in line)
    return {f"npm_config_{name}": value for name in HANDED_OVER if (value := shown.get(name, "null")) != "null"}


def _npm(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["npm", *args], capture_output=True, text=True, check=False)
