"""Installed by uv, pipx and pip, upgraded below a running hub, and taken away: as the table of the guide says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tallystick import __version__
from tests.frame.checkout import ROOT
from tests.install.stranger import Stranger

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROW = re.compile(r"^\| (uv|pipx|pip) \| `(.*)` \| `(.*)` \| `(.*)` \|$", re.MULTILINE)
GUIDE = (ROOT / "docs/guides/get-it.md").read_text("utf-8")
TABLE = {name: steps for name, *steps in ROW.findall(GUIDE)}
WHEEL = re.findall(r"`(python3 -m pip [^`]*\bdist\b[^`]*)`", GUIDE)
"""What makes a wheel, and what installs it."""

UV_SAYS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
}


def python(*args: str) -> str:
    return subprocess.run([sys.executable, "-m", *args], capture_output=True, text=True, check=True).stdout


def where_packages_are() -> dict[str, str]:
    """How pip gets them on this machine, in the words of uv, which does not read pip's settings."""
    told = re.findall(r"^(?:global|:env:)\.([\w-]+)='(.*)'$", python("pip", "config", "list"), re.MULTILINE)
    return {UV_SAYS[name]: value for name, value in told if name in UV_SAYS}


def with_program(person: Stranger, name: str) -> Stranger:
    """Somebody who has uv, pipx, or an environment of their own to use pip in."""
    programs = person.home / "own/bin"
    if name == "uv":
        programs.mkdir(parents=True)
        (programs / "uv").symlink_to(Path(sys.executable).with_name("uv"))
    else:
        python("venv", str(programs.parent))
    if name == "pipx":
        subprocess.run([programs / "pip", "install", "-q", "pipx"], env=person.env, check=True)
    return replace(person, programs=programs)


@pytest.mark.parametrize("name", ["uv", "pipx", "pip"])
def test_each_way_of_the_guide_installs_upgrades_and_leaves(
    stranger: Stranger, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for setting, value in where_packages_are().items():
        monkeypatch.setenv(setting, value)
    # What was downloaded before is not downloaded again, and what is never imported is not compiled.
    monkeypatch.setenv("PIP_CACHE_DIR", python("pip", "cache", "dir").strip())
    monkeypatch.setenv("PIP_COMPILE", "0")
    install, upgrade, uninstall = TABLE[name]
    person = with_program(stranger, name)
    person.cloned()

    def typed(*lines: str) -> tuple[int, str]:
        return person.terminal(f'export PATH="$PATH{os.pathsep}{person.home}/.local/bin"', *lines, where=person.clone)

    installed = typed(install, "tally --as ada join", "tally up --detach")
    upgraded = typed(upgrade, "tally status", "tally down", "tally up --detach")
    left = typed("tally down", uninstall, "hash -r", "command -v tally || echo gone")
    shutil.rmtree(person.home / ".local/share/tallystick")
    # pipx keeps an empty lock for every name that it has seen.
    ours = {name for name in person.files() if "tally" in name and not name.endswith("pipx/venvs/.tallystick.lock")}
    wheel = typed(*WHEEL, "tally --version") if name == "pip" else None

    assert (installed[0], "Tallystick runs. Open its page: " in installed[1]) == (0, True), installed
    assert (upgraded[0], upgraded[1].count(" runs. Open its page: ")) == (0, 2), upgraded
    assert (left[0], left[1].splitlines()[-1]) == (0, "gone"), left
    assert ours == set()
    assert wheel is None or (wheel[0], wheel[1].splitlines()[-1]) == (0, f"tally {__version__}"), wheel
