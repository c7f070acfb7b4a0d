"""What a bench finds: our figure, the baseline's of the same run, their ratio, and the budget it is held against."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


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
