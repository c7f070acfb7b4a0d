"""The shape of the repository itself: what its modules are called, what its locks say, what its wheel carries."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import tallystick
from tests.frame.checkout import LOCKS, PACKAGE, ROOT, modules, shown

NAMES_THAT_SAY_NOTHING = {"base", "common", "core", "helper", "helpers", "manager", "managers", "misc", "util", "utils"}
PLACE = re.compile(r"://|^--?(?:f|i|find-links|index-url|extra-index-url)\b|^-e\b|\s@\s|(?:^|\s)~?/\w", re.MULTILINE)
PINNED = re.compile(r"^[a-z0-9][a-z0-9-]*(?:\[[a-z,]+\])?==\S+(?: ; [^\\]+?)? \\$")
HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}(?: \\)?$")


def test_the_locks_name_no_place_that_packages_come_from() -> None:
    assert [f"{lock.name}: {found[0]}" for lock in LOCKS for found in PLACE.finditer(lock.read_text("utf-8"))] == []


def test_every_locked_package_is_pinned_and_hashed() -> None:
    odd = [
        f"{lock.name}: {line}"
        for lock in LOCKS
        for line in lock.read_text("utf-8").splitlines()
        if line and not line.startswith("#") and not PINNED.match(line) and not HASH.match(line)
    ]

    assert [lock.name for lock in LOCKS] == [
        *("requirements-bench.lock", "requirements-build.lock", "requirements-dev.lock", "requirements.lock"),
    ]
    assert odd == []


def test_the_locks_agree_on_every_version() -> None:
    pins = [set(re.findall(r"^([a-z0-9-]+==\S+)", lock.read_text("utf-8"), re.MULTILINE)) for lock in LOCKS]
    bench, build, dev, runtime = pins
    measured, developed = (dict(pin.split("==") for pin in each) for each in (bench, dev))

    assert runtime - dev == set()
    assert build - dev == set()
    assert runtime - bench == set()
    assert {name for name in measured.keys() & developed.keys() if measured[name] != developed[name]} == set()


def test_every_module_says_what_it_is() -> None:
    silent = [shown(path) for path in modules() if not ast.get_docstring(ast.parse(path.read_text("utf-8")))]

    assert silent == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    vague = [
        shown(path)
        for path in modules()
        if NAMES_THAT_SAY_NOTHING & set(path.relative_to(PACKAGE).with_suffix("").parts)
    ]

    assert vague == []


def test_every_folder_of_modules_is_a_package() -> None:
    assert sorted({shown(path.parent) for path in modules() if not (path.parent / "__init__.py").is_file()}) == []


def test_the_changelog_has_an_entry_for_the_current_version() -> None:
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)

    assert tallystick.__version__ in headings


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    built = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    (made,) = folder.glob("*.whl")
    return zipfile.ZipFile(made)


def test_the_wheel_carries_every_file_of_the_package_and_no_other(wheel: zipfile.ZipFile) -> None:
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    ours = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }

    assert {name for name in ours if name.endswith(".sql")}
    assert packed == ours


def test_bench_is_not_in_the_wheel_and_says_where_it_is(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path)
    # Without `site`, whose path file would lead to the checkout.
    start = [sys.executable, "-S", "-m", "tallystick.surfaces.cli.main"]
    path = f"{tmp_path}:{sysconfig.get_path('purelib')}"

    listed, asked = (
        subprocess.run([*start, *words], env={"PYTHONPATH": path}, capture_output=True, text=True, check=False)
        for words in ([], ["bench", "--quick"])
    )

    assert "tally NOUN" in listed.stdout
    assert "bench" not in listed.stdout
    assert asked.returncode == 2
    assert "`tally bench` is not part of the installed package; `make bench` in a checkout runs it." in asked.stderr
