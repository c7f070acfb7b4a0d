"""`tally hook` as a command; `main` takes the common case before click is loaded."""

from __future__ import annotations

import click

from tallystick.commandline.command import Program
from tallystick.harnesses.hook_protocol import EVENTS
from tallystick.surfaces.hook.main import answer

_LISTED = "\n".join(f"  {harness:<8}{', '.join(events)}" for harness, events in EVENTS.items())


class _Open(Program):
    """It refuses no command line: the exit code would be 2, which tells a harness that the edit is forbidden."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, list(args))
        except click.UsageError:
            ctx.params = {"words": tuple(args)}
            return []


@click.command(cls=_Open, epilog=f"\b\n{_LISTED}")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="HARNESS EVENT")
@click.pass_context
def hook(ctx: click.Context, *, words: tuple[str, ...]) -> int:
    """Answer a hook of a harness.

    It reads the event as JSON from standard input. `tally install --hooks` sets it up.
    """
    if not words:
        click.echo(ctx.get_help())
        return 0
    return answer(list(words))
