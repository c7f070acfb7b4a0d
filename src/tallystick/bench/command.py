"""The program: which benches, on which engines, and where the figures go. Progress goes to stderr."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tallystick.bench import engines, report
from tallystick.bench.catalogue import BENCHES
from tallystick.bench.engines import Engine
from tallystick.bench.figures import Figure
from tallystick.bench.setting import Setting


class _Arguments(argparse.Namespace):
    names: list[str]
    json: bool
    quick: bool
    postgres: bool
    out: Path | None


def run(argv: list[str]) -> int:
    arguments = _parser().parse_args(argv, namespace=_Arguments())
    names = arguments.names or list(BENCHES)
    with tempfile.TemporaryDirectory(prefix="tally-bench-") as folder, _progress() as tell:
        figures = list(_measured(names, arguments, Path(folder), tell))
    text = report.as_json(figures, quick=arguments.quick)
    if arguments.out:
        arguments.out.write_text(text, "utf-8")
    if arguments.json:
        sys.stdout.write(text)
    else:
        report.print_table(figures)
    return 0


def _parser() -> argparse.ArgumentParser:
    listed = "\n".join(f"  {name:<10}{bench.about}" for name, bench in BENCHES.items())
    parser = argparse.ArgumentParser(
        prog="tally bench",
        description="Measure the budgets on this machine, each beside a baseline in the same run.",
        epilog=f"benches:\n{listed}\n\nCompare ratios, not times: times belong to one machine and one moment.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", type=_known, help="all of them when left out")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--quick", action="store_true", help="only see that it works; the figures mean little")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the JSON there as well")
    parser.add_argument(
        "--postgres",
        action="store_true",
        help="also on PostgreSQL: the server of TALLYSTICK_DATABASE_URL, or one started for this run",
    )
    return parser


def _known(name: str) -> str:
    if name not in BENCHES:
        raise argparse.ArgumentTypeError(f"there is no bench '{name}'; choose {', '.join(BENCHES)}")
    return name


def _measured(names: list[str], arguments: _Arguments, folder: Path, tell: Callable[[str], None]) -> Iterator[Figure]:
    url = os.environ.get("TALLYSTICK_DATABASE_URL") or None
    yield from _on(engines.sqlite(folder), names, arguments, folder, tell)
    if url or arguments.postgres:
        yield from _on(engines.postgres(folder, url), names, arguments, folder, tell)


def _on(
    opening: AbstractContextManager[Engine],
    names: list[str],
    arguments: _Arguments,
    folder: Path,
    tell: Callable[[str], None],
) -> Iterator[Figure]:
    with opening as engine:
        for name in names:
            if engine.name in BENCHES[name].engines:
                yield from BENCHES[name].measure(
                    Setting(engine=engine, folder=folder, quick=arguments.quick, tell=tell)
                )


@contextmanager
def _progress() -> Generator[Callable[[str], None]]:
    """One line that changes on a terminal, one line after the other elsewhere."""
    if not sys.stderr.isatty():
        yield lambda text: print(text, file=sys.stderr, flush=True)
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield status.update
