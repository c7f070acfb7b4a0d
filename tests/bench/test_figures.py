from __future__ import annotations

import pytest

from tallybench.report import Budget, Detail, Figure, percentile

RATIO = Budget(of="ratio", bound="at least", limit=0.5)
OURS = Budget(of="ours", bound="at most", limit=3)
ERRORS = Budget(of="detail", detail="errors", bound="at most", limit=0)


def figure(*budgets: Budget, ratio: float = 0.6, ours: float = 2.5, errors: float = 0) -> Figure:
    return Figure(
        bench="append",
        what="one append",
        engine="sqlite",
        unit="ms",
        ours=ours,
        baseline=4,
        against="nothing",
        ratio=ratio,
        budgets=budgets,
        details=(Detail(name="errors", value=errors),),
    )


def test_a_figure_without_a_budget_is_neither_met_nor_missed() -> None:
    assert figure().met is None


@pytest.mark.parametrize(
    ("found", "met"),
    [
        (figure(RATIO, OURS, ERRORS), True),
        (figure(RATIO, ratio=0.49), False),
        (figure(OURS, ours=3.01), False),
        (figure(RATIO, ERRORS, errors=1), False),
    ],
)
def test_every_budget_of_a_figure_must_be_met(found: Figure, met: bool) -> None:
    assert found.met is met


def test_budgets_are_written_out_in_words() -> None:
    assert [budget.text("ms") for budget in (RATIO, OURS, ERRORS)] == [
        "at least 0.5x",
        "at most 3 ms",
        "errors at most 0",
    ]


def test_a_percentile_is_one_of_the_samples() -> None:
    assert [percentile([4, 1, 3, 2], part) for part in (0, 0.5, 0.95)] == [1, 3, 4]
