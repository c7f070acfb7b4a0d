"""`tally bench`: which benches, on which engines, and where the figures go."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tallybench.catalogue import BENCHES
from tallystick.commandline.command import Invocation, Program
from tallystick.kernel.errors import did_you_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchArguments:
    names: tuple[str, ...]
    quick: bool
    postgres: bool
    out: Path | None


def _known(name: str) -> str:
    if name not in BENCHES:
        raise click.BadParameter(
            f"there is no bench '{name}'; choose {', '.join(BENCHES)}.{did_you_mean(name, BENCHES)}"
        )
    return name


_LISTED = "\n".join(f"  {name:<14}{bench.about}" for name, bench in BENCHES.items())


@click.command(
    cls=Program,
    epilog=f"\b\nBenches:\n{_LISTED}\n\nCompare ratios, not times: times belong to one machine and one moment.",
)
@click.argument("names", nargs=-1, type=_known, metavar="[NAME]...")
@click.option("--quick", is_flag=True, help="Only see that it works; the figures mean little.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the figures there as JSON as well.")
@click.option(
    "--postgres",
    is_flag=True,
    help="Also on PostgreSQL: the server of TALLYSTICK_DATABASE_URL, or one started for this run.",
)
@click.pass_obj
def bench(invocation: Invocation, **given: Any) -> None:
    """Measure the budgets on this machine.

    Each beside a baseline in the same run, all of them when no NAME is given. Progress goes to stderr.
    """
    from tallybench.command import run

    run(BenchArguments(**given), invocation)
