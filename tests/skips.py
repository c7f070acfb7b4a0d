"""What was not run: each run ends with it, and in CI it is a failure where the machine could have run it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Generator, Mapping

import pytest

from tests import npm
from tests.web import chromium

CI = os.environ.get("CI") == "true"

OBTAINABLE: Mapping[str, Callable[[], bool]] = {
    "postgres": lambda: True,  # its server comes as a wheel
    "browser": chromium.obtainable,
    "npm": npm.obtainable,
}
"""By mark, whether this machine has what such a test needs, or can have it."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if CI and report.skipped and not hasattr(report, "wasxfail"):
        lacking = [mark for mark, obtainable in OBTAINABLE.items() if item.get_closest_marker(mark) and obtainable()]
        if lacking:
            report.outcome = "failed"
            report.longrepr = f"CI can run what is marked {' and '.join(lacking)}, but this was skipped: {_why(report)}"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports: list[pytest.TestReport] = terminalreporter.stats.get("skipped", [])
    reasons = Counter(_why(report) for report in reports)
    terminalreporter.section(f"{len(reports)} tests were not run" if reports else "nothing was skipped")
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count:5}  {reason}")


def _why(report: pytest.TestReport) -> str:
    """The reason on one line."""
    where = report.longrepr
    reason = where[2] if isinstance(where, tuple) else str(where)
    return " ".join(reason.removeprefix("Skipped: ").split())[:200]
