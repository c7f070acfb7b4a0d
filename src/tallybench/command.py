"""The program: measure, and put the figures where they were asked for. Progress goes to stderr."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tallybench import engines, report
from tallybench.catalogue import BENCHES
from tallybench.engines import BenchedStore, Setting
from tallybench.options import BenchArguments
from tallybench.report import Figure
from tallystick.commandline.command import Invocation


def run(arguments: BenchArguments, invocation: Invocation) -> None:
    names = arguments.names or tuple(BENCHES)
    with tempfile.TemporaryDirectory(prefix="tally-bench-") as folder, _progress() as tell:
        figures = list(_measured(names, arguments, Path(folder), tell))
    found = report.facts(figures, quick=arguments.quick)
    if arguments.out:
        arguments.out.write_text(report.as_json(found), "utf-8")
    if not invocation.finish(found):
        report.print_table(figures)


def _measured(
    names: Sequence[str], arguments: BenchArguments, folder: Path, tell: Callable[[str], None]
) -> Iterator[Figure]:
    url = os.environ.get("TALLYSTICK_DATABASE_URL") or None
    yield from _on(engines.sqlite(folder), names, arguments, folder, tell)
    if url or arguments.postgres:
        yield from _on(engines.postgres(folder, url), names, arguments, folder, tell)


def _on(
    opening: AbstractContextManager[BenchedStore],
    names: Sequence[str],
    arguments: BenchArguments,
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
    if not sys.stderr.isatty() or "NO_COLOR" in os.environ:
        yield lambda text: print(text, file=sys.stderr, flush=True)
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield status.update
