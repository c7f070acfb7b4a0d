"""The figures before a reader: a table with the ratios first, or JSON with the shape of the machine beside them."""

from __future__ import annotations

import os
import platform
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TextIO

import msgspec

from tallystick import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    of: Literal["ratio", "ours", "detail"]
    """What is bounded: the ratio, our own figure, or the detail of that name."""
    bound: Literal["at least", "at most"]
    limit: float
    detail: str = ""

    def text(self, unit: str) -> str:
        match self.of:
            case "ratio":
                return f"{self.bound} {self.limit:g}x"
            case "ours":
                return f"{self.bound} {self.limit:g} {unit}"
            case "detail":
                return f"{self.detail} {self.bound} {self.limit:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    name: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    bench: str
    what: str
    engine: str
    unit: str
    ours: float
    baseline: float
    against: str
    """What the baseline is."""
    ratio: float
    budgets: tuple[Budget, ...] = ()
    details: tuple[Detail, ...] = ()

    @property
    def met(self) -> bool | None:
        """Whether every budget is met; None where there is none."""
        return all(self._meets(budget) for budget in self.budgets) if self.budgets else None

    def _meets(self, budget: Budget) -> bool:
        found = {detail.name: detail.value for detail in self.details} | {"ratio": self.ratio, "ours": self.ours}
        value = found[budget.detail or budget.of]
        return value >= budget.limit if budget.bound == "at least" else value <= budget.limit

    def data(self) -> dict[str, object]:
        return {
            "bench": self.bench,
            "what": self.what,
            "engine": self.engine,
            "ratio": round(self.ratio, 3),
            "ours": round(self.ours, 3),
            "baseline": round(self.baseline, 3),
            "unit": self.unit,
            "against": self.against,
            "budgets": [budget.text(self.unit) for budget in self.budgets],
            "met": self.met,
            "details": {detail.name: round(detail.value, 3) for detail in self.details},
        }


def median(samples: Sequence[float]) -> float:
    return statistics.median(samples)


def percentile(samples: Sequence[float], part: float) -> float:
    """The sample below which that part of them lies, such as 0.95."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


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
    if out.isatty() and "NO_COLOR" not in os.environ:
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
