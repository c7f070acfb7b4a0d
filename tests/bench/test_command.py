"""`tally bench` works and shows what it found. How fast anything is, no test asks."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import cast

import pytest

from tallybench.catalogue import BENCHES
from tests.web.chromium import CHROMIUM

SHAPE = {"bench", "what", "engine", "ratio", "ours", "baseline", "unit", "against", "budgets", "met", "details"}

BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM, reason="Chromium is not installed: the page was NOT tried in a browser"),
]
LONGER = [name for name, each in BENCHES.items() if "postgres" in each.engines and name not in {"append", "jobs"}]


def bench(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tallystick.surfaces.cli.main", "bench", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def figures(text: str) -> list[dict[str, object]]:
    return cast("list[dict[str, object]]", json.loads(text)["data"]["figures"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("handover", 2),
        ("append", 2),
        ("contend", 2),
        ("size", 22),
        ("sends", 6),
        ("followers", 2),
        ("bus", 5),
        ("reservations", 2),
        pytest.param("page", 5, marks=BROWSER),
        ("hook", 4),
        ("kills", 2),
        ("waits", 1),
        ("startup", 8),
    ],
)
def test_each_bench_gives_its_figures_beside_a_baseline(tmp_path: Path, name: str, count: int) -> None:
    done = bench(name, "--quick", "--json", folder=tmp_path)

    assert done.returncode == 0, done.stderr
    found = figures(done.stdout)
    assert [figure["bench"] for figure in found] == [name] * count
    assert all(set(figure) == SHAPE for figure in found)
    assert all(cast("float", figure["ours"]) > 0 and cast("float", figure["baseline"]) > 0 for figure in found)


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize("name", ["append", *(pytest.param(each, marks=pytest.mark.soak) for each in LONGER)])
def test_what_depends_on_the_engine_is_measured_on_postgres_too(tmp_path: Path, name: str) -> None:
    done = bench(name, "--quick", "--json", "--postgres", folder=tmp_path)

    assert done.returncode == 0, done.stderr
    assert {figure["engine"] for figure in figures(done.stdout)} == {"sqlite", "postgres"}


def test_a_table_has_the_ratio_first_and_progress_stays_out_of_it(tmp_path: Path) -> None:
    done = bench("append", "--quick", "--out", "figures.json", folder=tmp_path)

    assert done.returncode == 0, done.stderr
    header, row, _ = done.stdout.splitlines()
    assert header.split() == ["ratio", "bench", "what", "ours", "baseline", "against", "budget", "met"]
    assert row.split()[:2] == [row.split()[0], "append"]
    assert row.split()[0].endswith("x")
    assert "round 1 of 2" in done.stderr
    written = json.loads((tmp_path / "figures.json").read_text("utf-8"))
    assert [figure["bench"] for figure in written["figures"]] == ["append"] * 2


def test_an_unknown_bench_is_refused_with_the_names_there_are(tmp_path: Path) -> None:
    done = bench("apend", folder=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert f"there is no bench 'apend'; choose {', '.join(BENCHES)}" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "counts", "peer", "distribution"),
    [("jobs", (1, 3), "huey", "huey"), ("cccc", (0, 6), "cccc-pair 0.4.45", "cccc-pair")],
)
def test_a_bench_names_the_peer_that_is_missing_or_measures_beside_it(
    tmp_path: Path, name: str, counts: tuple[int, int], peer: str, distribution: str
) -> None:
    alone, beside = counts
    done = bench(name, "--quick", "--json", folder=tmp_path)

    assert done.returncode == 0, done.stderr
    if any(metadata.distributions(name=distribution)):
        assert [figure["bench"] for figure in figures(done.stdout)] == [name] * beside
    else:
        assert f"{peer} is not installed" in done.stderr
        assert [figure["bench"] for figure in figures(done.stdout)] == [name] * alone
