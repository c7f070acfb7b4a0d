"""What a run says about what it did not run, and when that is a failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOOKS = "from tests.skips import pytest_runtest_makereport, pytest_terminal_summary\n"
TESTS = """
import pytest

@pytest.mark.postgres
def test_on_a_server():
    pytest.skip("the server is left out")

@pytest.mark.parametrize("number", [1, 2])
def test_as_somebody_else(number):
    pytest.skip("only root can become somebody else")
"""


def ran(folder: Path, ci: str) -> tuple[int, list[str]]:
    """Exit code and the lines of a run of these tests that say what was not run, and what failed."""
    (folder / "conftest.py").write_text(HOOKS)
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {ROOT}\nmarkers = postgres\n")
    (folder / "test_some.py").write_text(TESTS)
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rf", "--tb=line"],
        cwd=folder,
        env={**os.environ, "CI": ci},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line.strip(" =") for line in found.stdout.splitlines()]
    return found.returncode, [line for line in lines if "not run" in line or line[:1].isdigit() or "skipped" in line]


def test_a_run_ends_with_what_was_skipped_and_why(tmp_path: Path) -> None:
    code, lines = ran(tmp_path, "")

    assert (code, lines[:3]) == (
        0,
        ["3 tests were not run", "2  only root can become somebody else", "1  the server is left out"],
    )


def test_in_ci_a_skip_of_what_the_machine_can_have_is_a_failure(tmp_path: Path) -> None:
    code, lines = ran(tmp_path, "true")

    assert code == pytest.ExitCode.TESTS_FAILED
    assert "CI can run what is marked postgres, but this was skipped: the server is left out" in lines
    assert lines[1:3] == ["2 tests were not run", "2  only root can become somebody else"]
