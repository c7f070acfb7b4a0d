"""The table of commands and the text of `tally --help`, in plain tuples: this much must load without click.

Importing dataclasses, typing or click here would cost more than everything `tally --help` does.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import PathFinder

from tallystick.commandline.global_options import OPTIONS
from tallystick.surfaces.cli import catalogue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HERE = "tallystick.surfaces.cli."

EVERYDAY = {
    "rooms": (HERE + "rooms:rooms", "List the rooms of this workspace."),
    "join": (HERE + "rooms:join", "Join the room of this workspace, creating it when there is none."),
    "wait": (HERE + "turns:wait", "Wait for your turn and claim it."),
    "hold": (HERE + "turns:hold", "Wait for the turn and keep it while this command runs."),
    "release": (HERE + "turns:release", "Hand the stick to the next in turn, with a handoff."),
    "pass": (HERE + "turns:pass_", "Hand the stick to one member, with a handoff."),
    "takeover": (HERE + "turns:takeover", "Take the stick from a holder or recipient who failed."),
    "state": (HERE + "state:state", "Show whose turn it is, who is here and who comes next."),
    "events": (HERE + "events:events", "Read or follow what happened in the room."),
    "radar": (HERE + "jobs:radar", "Show which jobs need you and who is working."),
    "open": (HERE + "jobs:open_", "Open anything by its id or ref."),
    "note": (HERE + "rooms:note", "Leave a note for the others without taking a turn."),
    "leave": (HERE + "rooms:leave", "Leave the room."),
    "close": (HERE + "rooms:close", "Close the room for good; its history stays readable."),
    "agent": (HERE + "agent:agent", "Work as one of several agents: name, sign of life, messages, reservations."),
    "whoami": (HERE + "doctor:whoami", "Show which agent this command speaks for, and why."),
}
OPERATIONS = {
    "call": (HERE + "call:call", "Call any operation with a JSON input."),
}
STORE = {
    "verify": (HERE + "events:verify", "Prove that no event was changed, removed or reordered."),
    "export": (HERE + "store:export", "Write every event as JSON lines."),
    "import": (HERE + "store:import_", "Read an export into an empty store."),
    "backup": (HERE + "store:backup", "Copy the store into one file while it is in use."),
    "rebuild": (HERE + "store:rebuild", "Fold the ledger into its projections again."),
}
SETUP = {
    "init": (
        HERE + "init:init",
        "Begin a session: under a name of its own, or as an agent that left work behind.",
    ),
    "install": (HERE + "install:install", "Set a harness up: MCP server, skill and, with --hooks, hooks."),
    "uninstall": (HERE + "install:uninstall", "Take out of a harness what `tally install` put in."),
    "guard": (HERE + "guard:guard", "Keep commits away from what others have reserved."),
    "doctor": (HERE + "doctor:doctor", "Check the store, the machine and who you are."),
    "completion": (HERE + "call:completion", "Print the completion script for a shell."),
}
PROGRAMS = {
    "hook": ("tallystick.surfaces.hook.command:hook", "Answer a hook of a harness."),
    "mcp": ("tallystick.surfaces.mcp.command:mcp", "Serve MCP over stdin and stdout."),
    "up": ("tallystick.server.serve:up", "Run the hub: HTTP with live streams, and MCP."),
    "status": ("tallystick.surfaces.http.control:status", "Say whether a hub runs here, and where."),
    "down": ("tallystick.surfaces.http.control:down", "Stop the hub that runs here."),
    "token": ("tallystick.surfaces.http.token_commands:token", "Issue, list and revoke tokens for the hub."),
    "runner": ("tallystick.runner.options:runner", "Carry out the jobs of a room."),
    "attach": ("tallystick.runtime.options:attach", "Put a coding agent on the bus: one run of it for each message."),
    "relay": ("tallystick.runtime.options:relay", "Have an owner agent carry out a task through the others."),
    "demo": ("tallystick.demo.options:demo", "Show three agents at work in a room of their own."),
}
"""Commands that other parts of the program declare for themselves."""
CHECKOUT = {"bench": ("tallybench.options:bench", "Measure the budgets on this machine.")}
"""Commands of packages that are not in the wheel: offered where these can be imported."""
if PathFinder.find_spec("tallybench"):
    PROGRAMS.update(CHECKOUT)

GROUPS = {"Everyday": EVERYDAY, "Operations": OPERATIONS, "Store": STORE, "Setup": {**SETUP, **PROGRAMS}}
COMMANDS = {name: entry for group in GROUPS.values() for name, entry in group.items()}

NOUNS_TOO = frozenset({"events", "open", "rooms"})
"""Everyday commands whose name is also a noun with operations; for the others nobody needs to load the catalogue."""

SHORT_CUTS = {
    "mcp": "tallystick.surfaces.mcp.shim:main",
    "hook": "tallystick.surfaces.hook.main:main",
}
"""Two commands that stand before every session and every edit of every agent, so that even loading click would show.

Each gets its arguments before click does, reads the same options with the same meaning, and returns the exit code, or
None for anything it does not understand: then the command of the same name answers, or says what is wrong.
"""


def loaded(place: str) -> Any:
    """What stands at `module:attribute`. By name, so that a command costs nothing until it is called."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


def help_text() -> str:
    lines = [
        "Usage: tally [OPTIONS] COMMAND [ARGS]...",
        "",
        "One record of whose turn it is, who is here and what was said, for all who share a workspace.",
    ]
    for title, group in GROUPS.items():
        lines += ["", title]
        lines += [_row(name, summary) for name, (_, summary) in group.items()]
        if group is OPERATIONS:
            lines += [_row(noun, ", ".join(verbs)) for noun, verbs in sorted(catalogue.nouns().items())]
    lines += ["", "Options, before or after the command"]
    lines += [_row(f"{flag} {value}".rstrip(), text) for flag, (value, text) in OPTIONS.items()]
    return "\n".join([*lines, "", "`tally COMMAND --help` and `tally NOUN VERB --help` say more.", ""])


def _row(name: str, text: str) -> str:
    """A name and its text, folded at the width of the terminal."""
    indent, width = 18, _width()
    lines, line = list[str](), f"  {name:<{indent - 3}}"
    for word in text.split():
        if len(line) + 1 + len(word) > width and line.strip():
            lines.append(line)
            line = " " * (indent - 1)
        line += " " + word
    return "\n".join([*lines, line])


def _width() -> int:
    try:
        return max(60, min(os.get_terminal_size(sys.stdout.fileno()).columns, 120))
    except (OSError, ValueError):
        return 80
