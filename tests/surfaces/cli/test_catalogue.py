"""What the command line knows of the operations is made when needed, never stale, and never a reason to fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.frame.checkout import PACKAGE

NOWHERE = "/dev/null/nowhere"


def listed(package: Path, home: str, **environ: str) -> str:
    """What `tally call --list` says from a package of its own."""
    return subprocess.run(
        [sys.executable, "-m", "tallystick.surfaces.cli.main", "call", "--list"],
        env={"PATH": os.environ["PATH"], "HOME": home, "PYTHONPATH": str(package.parent), **environ},
        cwd=package.parent,
        capture_output=True,
        check=True,
        text=True,
    ).stdout


def copied(folder: Path) -> Path:
    return shutil.copytree(PACKAGE, folder / "tallystick", ignore=shutil.ignore_patterns("*.catalogue"))


def kept(folder: Path) -> Mapping[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*.catalogue")}


def test_it_is_kept_beside_the_bytecode_until_a_source_changes(tmp_path: Path) -> None:
    package = copied(tmp_path)
    first = listed(package, NOWHERE)
    (file, before), *more = kept(tmp_path).items()
    again = listed(package, NOWHERE)
    assert (more, again, kept(tmp_path)) == ([], first, {file: before})

    source = package / "capabilities" / "turns" / "operations.py"
    source.write_text(source.read_text("utf-8").replace("give the stick back", "hand the stick back"), "utf-8")

    assert "hand the stick back" not in first
    assert "hand the stick back" in listed(package, NOWHERE)
    assert kept(tmp_path)[file] != before


def test_what_is_damaged_is_made_again(tmp_path: Path) -> None:
    package = copied(tmp_path)
    first = listed(package, NOWHERE)
    (file,) = kept(tmp_path)

    for damage in (b"", file.read_bytes()[:1000], b"x" * 100, b"N"):
        file.write_bytes(damage)
        assert listed(package, NOWHERE) == first
        assert len(file.read_bytes()) > 1000


def test_where_nothing_can_be_written_beside_it_the_persons_cache_keeps_it(tmp_path: Path) -> None:
    home = tmp_path / "home"

    first = listed(PACKAGE, str(home), PYTHONPYCACHEPREFIX=NOWHERE)
    again = listed(PACKAGE, str(home), PYTHONPYCACHEPREFIX=NOWHERE)

    assert first == again
    assert [path.is_relative_to(home / ".cache" / "tallystick") for path in kept(home)] == [True]


def test_nothing_is_added_to_a_package_that_an_installer_put_there(tmp_path: Path) -> None:
    package, home = copied(tmp_path / "site-packages"), tmp_path / "home"

    assert listed(package, str(home)) == listed(package, str(home))

    assert [path.is_relative_to(home / ".cache" / "tallystick") for path in kept(tmp_path)] == [True]


def test_where_nothing_can_be_written_at_all_it_works(tmp_path: Path) -> None:
    assert "turns.release" in listed(PACKAGE, NOWHERE, PYTHONPYCACHEPREFIX=NOWHERE)
