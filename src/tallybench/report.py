"""The figures before a reader: a table with the ratios first, or JSON with the shape of the machine beside them."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

import msgspec

from tallybench.figures import Figure
from tallystick import __version__

HEADERS = ("ratio", "bench", "what", "ours", "baseline", "against", "budget", "met")


def facts(figures: Sequence[Figure], *, quick: bool) -> dict[str, object]:
    return {
        "tallystick": __version__,
        "quick": quick,
        "machine": machine(),
        "figures": [figure.data() for figure in figures],
    }


def as_json(found: Mapping[str, object]) -> str:
    return msgspec.json.format(msgspec.json.encode(found), indent=2).decode() + "\n"


def machine() -> dict[str, object]:
    """What a reader must know to compare: never the machine's name."""
    import apsw

    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
    }


def print_table(figures: Sequence[Figure], out: TextIO = sys.stdout) -> None:
    rows = [_row(figure) for figure in figures]
    if out.isatty():
        _draw(rows, out)
        return
    widths = [max(len(row[column]) for row in [HEADERS, *rows]) for column in range(len(HEADERS))]
    for row in [HEADERS, *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip(), file=out)


def _draw(rows: Sequence[tuple[str, ...]], out: TextIO) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for header in HEADERS:
        table.add_column(header, justify="right" if header in {"ratio", "ours", "baseline"} else "left")
    for row in rows:
        style = {"yes": "green", "no": "red"}.get(row[-1], "")
        table.add_row(*(Text(cell, style=style if at in {0, len(row) - 1} else "") for at, cell in enumerate(row)))
    Console(file=out, highlight=False).print(table)


def _row(figure: Figure) -> tuple[str, ...]:
    details = ", ".join(f"{each.name} {_number(each.value)}" for each in figure.details)
    return (
        f"{_number(figure.ratio)}x",
        figure.bench if figure.engine == "sqlite" else f"{figure.bench} ({figure.engine})",
        f"{figure.what} ({details})" if details else figure.what,
        f"{_number(figure.ours)} {figure.unit}",
        f"{_number(figure.baseline)} {figure.unit}",
        figure.against,
        "; ".join(budget.text(figure.unit) for budget in figure.budgets) or "-",
        {True: "yes", False: "no", None: "-"}[figure.met],
    )


def _number(value: float) -> str:
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
