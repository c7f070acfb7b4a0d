"""The entry point. It answers the commonest calls itself and loads click only for the rest."""

from __future__ import annotations

import os
import sys
from importlib import import_module

from tallystick.surfaces.cli import commands


def main() -> int:
    args = sys.argv[1:]
    if "_TALLY_COMPLETE" not in os.environ:
        if args in ([], ["--help"], ["-h"]):
            return _print(commands.help_text())
        if args == ["--version"]:
            from tallystick import __version__

            return _print(f"tally {__version__}\n")
        if args[0] == "mcp" and _speak_to_the_hub(args[1:]):
            return 0
        if args[0] == "hook":
            # Before every edit of every agent: it answers for itself, whatever goes wrong.
            return import_module("tallystick.surfaces.hook.main").main(args[1:])
        if args[0] in commands.ELSEWHERE:
            from tallystick.surfaces.cli.elsewhere import start
            from tallystick.surfaces.cli.failures import guarded
            from tallystick.surfaces.cli.session import Session

            return guarded(Session(command=args[0]), lambda: start(args[0], args[1:]))
    from tallystick.surfaces.cli.run import run

    return run(args)


def _speak_to_the_hub(args: list[str]) -> bool:
    """The way of `tally mcp` through a running hub, which must be up before anything else could be imported."""
    return import_module("tallystick.surfaces.mcp.shim").serve(args)


def _print(text: str) -> int:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        from tallystick.surfaces.cli.failures import hang_up

        return hang_up()
    return 0


if __name__ == "__main__":
    sys.exit(main())
