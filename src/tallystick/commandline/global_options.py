"""The options that every command takes, as plain data: `tally --help`, `tally mcp` and hooks read them before click."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

OPTIONS = {
    "--json": ("", "Print one JSON envelope: ok, command, data, error."),
    "--as": ("AGENT", "Speak for this agent instead of the one found from the process and environment."),
    "--data-dir": ("DIR", "Use the store in this directory."),
    "--version": ("", "Show the version and exit."),
    "--help": ("", "Show help and exit; it reads and writes nothing."),
}
"""Each with its value and what it does; they stand before or after the command."""

VARIABLES = {"--as": "TALLYSTICK_AGENT", "--data-dir": "TALLYSTICK_DATA_DIR"}
"""Those that are settings, as the environment variables that mean the same."""


def quickly(args: list[str], variables: Mapping[str, str] = VARIABLES) -> tuple[list[str], dict[str, str]] | None:
    """The words and the settings of a command that must start before click is loaded, which it gets as variables.

    None where anything else is said: then click has to read it, and says what is wrong with it or helps.
    """
    words, settings, rest = list[str](), dict[str, str](), iter(args)
    for arg in rest:
        flag, given, value = arg.partition("=")
        if flag in variables:
            value = value if given else next(rest, "")
            if not value:
                return None
            settings[variables[flag]] = value
        elif arg.startswith("-"):
            return None
        else:
            words.append(arg)
    return words, settings
