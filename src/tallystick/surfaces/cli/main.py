"""The entry point. It answers the commonest calls itself and loads click only for the rest."""

from __future__ import annotations

import gc
import os
import sys

from tallystick.surfaces.cli import commands


def main() -> int:
    args = sys.argv[1:]
    if "_TALLY_COMPLETE" not in os.environ:
        if args in ([], ["--help"], ["-h"], ["help"]):
            return _print(commands.help_text())
        if args == ["--version"]:
            from tallystick import __version__

            return _print(f"tally {__version__}\n")
        if args[0] in commands.SHORT_CUTS:
            code = commands.loaded(commands.SHORT_CUTS[args[0]])(args[1:])
            if code is not None:
                return code
    # What is loaded stays: the collector would look at all of it several times for nothing.
    gc.disable()
    from tallystick.surfaces.cli.tree import run

    gc.freeze()
    gc.enable()
    return run(args)


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
