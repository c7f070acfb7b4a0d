"""Commands that are programs of their own (`tally mcp`, `tally up`, …), loaded by name when they are called.

They take their arguments as a list. The global options reach them as environment variables, like any setting.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import cast

from tallystick.surfaces.cli import commands
from tallystick.surfaces.cli.errors import Usage

VARIABLES = {"--as": "TALLYSTICK_AGENT", "--data-dir": "TALLYSTICK_DATA_DIR"}


def start(name: str, args: list[str]) -> int:
    """Run such a program with its own arguments; the result is its exit code."""
    left, settings = settings_in(args)
    os.environ.update(settings)
    module, _, attribute = commands.ELSEWHERE[name][0].partition(":")
    program = cast("Callable[[list[str]], int | None]", getattr(importlib.import_module(module), attribute))
    return program(left) or 0


def settings_in(args: list[str]) -> tuple[list[str], dict[str, str]]:
    """Take the global options that are settings out of a list of arguments."""
    left, settings = list[str](), dict[str, str]()
    rest = iter(args)
    for arg in rest:
        flag, given, value = arg.partition("=")
        if arg == "--":
            return [*left, arg, *rest], settings
        if flag not in VARIABLES:
            left.append(arg)
            continue
        if not given and (value := next(rest, "")) == "":
            raise Usage(f"Option '{flag}' requires an argument.")
        settings[VARIABLES[flag]] = value
    return left, settings
