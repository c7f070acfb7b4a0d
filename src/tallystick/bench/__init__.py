"""`tally bench`: the budgets measured on this machine, each beside a baseline in the same run.

`command` is the program and `catalogue` the list of benches; one module measures one budget and gives `figures`.
"""

from __future__ import annotations


def main(argv: list[str]) -> int:
    from tallystick.bench.command import run

    return run(argv)
