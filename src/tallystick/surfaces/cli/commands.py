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

TURNS = {
    "join": (HERE + "rooms:join", "Join the room of this workspace, or open it."),
    "wait": (HERE + "turns:wait", "Wait for your turn and claim it."),
    "hold": (HERE + "turns:hold", "Wait for the turn and keep it while this command runs."),
    "heartbeat": (HERE + "state:heartbeat", "Say that you still work, and keep the stick."),
    "release": (HERE + "turns:release", "Hand the stick on, or give back a reserved path."),
    "state": (HERE + "state:state", "Show whose turn it is, who is here and who comes next."),
}
TALK = {
    "send": (HERE + "messages:send", "Say something to one or several."),
    "ask": (HERE + "ask:ask", "Ask one agent, follow what it does, and print its answer."),
    "inbox": (HERE + "messages:inbox", "Show what you have to read, to accept, and to allow or deny."),
    "reply": (HERE + "messages:reply", "Answer a message, or a job's question."),
    "ack": (HERE + "messages:ack", "Accept a message that asked for it."),
    "allow": (HERE + "messages:allow", "Let an agent do what it asks permission for, this once."),
    "deny": (HERE + "messages:deny", "Keep an agent from what it asks permission for."),
    "note": (HERE + "rooms:note", "Leave a note for the others without taking a turn."),
}
WORK = {
    "reserve": (HERE + "work:reserve", "Reserve a file or a folder before you edit it."),
    "job": (HERE + "work:job", "Give a piece of work to whichever runner takes it."),
    "radar": (HERE + "jobs:radar", "Show which jobs need you and who is working."),
    "log": (HERE + "events:log", "Tell what happened in the room, latest last."),
    "who": (HERE + "work:who", "Show who is here, alive, and holding what."),
}
MORE = {
    "pass": (HERE + "turns:pass_", "Hand the stick to one member, with a handoff."),
    "takeover": (HERE + "turns:takeover", "Take the stick from a holder or recipient who failed."),
    "interrupt": (HERE + "ask:interrupt", "Stop what an attached agent is working on."),
    "open": (HERE + "jobs:open_", "Open anything by its id or ref."),
    "rooms": (HERE + "rooms:rooms", "List the rooms of this workspace."),
    "events": (HERE + "events:events", "Read or follow what happened in the room."),
    "leave": (HERE + "rooms:leave", "Leave the room."),
    "close": (HERE + "rooms:close", "Close the room for good; its history stays readable."),
    "whoami": (HERE + "doctor:whoami", "Show which agent this command speaks for, and why."),
    "help": (HERE + "tree:help_", "Show help for a command."),
    "agent": (HERE + "agent:agent", "Work as one of several agents: name, sign of life, messages, reservations."),
}
OPERATIONS = {
    "call": (HERE + "tree:call", "Call any operation with a JSON input."),
}
EXTENDED = {
    "jobs.create": HERE + "jobs:with_prompt_file",
    "jobs.list": HERE + "jobs:in_lines",
    "jobs.message": HERE + "jobs:in_lines",
    "jobs.open": HERE + "jobs:as_lines",
    "jobs.radar": HERE + "jobs:as_lines",
    "jobs.tail": HERE + "jobs:with_follow",
    "jobs.wait": HERE + "jobs:with_exit_codes",
}
"""Commands of operations that take more than the operation's fields, and who adds that."""
STORE = {
    "verify": (HERE + "events:verify", "Check the hash chain and the signed checkpoints of every room."),
    "checkpoint": (HERE + "store:checkpoint", "Sign where the ledger ends, and keep that elsewhere."),
    "archive": (HERE + "store:archive", "Move a closed room into one file, and back."),
    "export": (HERE + "store:export", "Write every event as JSON lines."),
    "import": (HERE + "store:import_", "Read an export into an empty store."),
    "backup": (HERE + "store:backup", "Copy the store into one file while it is in use."),
    "rebuild": (HERE + "store:rebuild", "Fold the ledger into its projections again."),
}
SETUP = {
    "setup": (HERE + "setup:setup", "Set up every harness here, guard commits and start the hub."),
    "init": (
        HERE + "init:init",
        "Begin a session: under a name of its own, or as an agent that left work behind.",
    ),
    "install": (HERE + "install:install", "Set a harness up: MCP server, skill and, with --hooks, hooks."),
    "uninstall": (HERE + "install:uninstall", "Take out of a harness what `tally install` put in."),
    "guard": (HERE + "install:guard", "Keep commits away from what others have reserved."),
    "doctor": (HERE + "doctor:doctor", "Check the store, the machine and who you are."),
    "completion": (HERE + "tree:completion", "Print the completion script for a shell."),
}
PROGRAMS = {
    "hook": ("tallystick.surfaces.hook.command:hook", "Answer a hook of a harness."),
    "mcp": ("tallystick.surfaces.mcp.command:mcp", "Serve MCP over stdin and stdout."),
    "up": ("tallystick.server.serve:up", "Run the hub, with a page that shows everything."),
    "status": ("tallystick.surfaces.http.commands:status", "Say whether a hub runs here, and where."),
    "down": ("tallystick.surfaces.http.commands:down", "Stop the hub that runs here."),
    "service": (
        "tallystick.server.service:service",
        "Run the hub at every login: a systemd user unit, or a launchd agent on macOS.",
    ),
    "token": ("tallystick.surfaces.http.commands:token", "Issue, list and revoke tokens for the hub."),
    "runner": ("tallystick.runner.options:runner", "Carry out the jobs of a room."),
    "attach": (
        "tallystick.runtime.commands:attach",
        "Put a coding agent on the bus: what is said to it is a request, which it answers.",
    ),
    "relay": ("tallystick.runtime.commands:relay", "Have an owner agent carry out a task through the others."),
    "demo": ("tallystick.demo.options:demo", "Show three agents at work in a room of their own."),
}
"""Commands that other parts of the program declare for themselves."""
CHECKOUT = {"bench": ("tallybench.options:bench", "Measure the budgets on this machine.")}
"""Commands of packages that are not in the wheel: offered where these can be imported."""
if PathFinder.find_spec("tallybench"):
    PROGRAMS.update(CHECKOUT)

GROUPS = {
    "Turns": TURNS,
    "Talk": TALK,
    "Work": WORK,
    "More": MORE,
    "Operations": OPERATIONS,
    "Store": STORE,
    "Setup": {**SETUP, **PROGRAMS},
}
COMMANDS = {name: entry for group in GROUPS.values() for name, entry in group.items()}

NEED_A_HUB = ("attach", "relay")
"""Everything else works without one, on the store itself."""
FIRST = ("setup", "join", "up")
"""What somebody who is new here does, in this order."""

NOUNS_TOO = frozenset({"events", "open", "rooms"})
"""Everyday commands whose name is also a noun with operations; for the others nobody needs to load the catalogue."""

ELSEWHERE = {
    "msg": "send",
    "message": "send",
    "say": "send",
    "tell": "send",
    "mail": "inbox",
    "claim": "wait",
    "lock": "reserve",
    "unlock": "release",
    "history": "log",
    "start": "up",
    "serve": "up",
    "stop": "down",
}
"""What other programs call it: whoever types that is told our word."""

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
        "Usage: tally COMMAND [ARGS]...",
        "",
        "One record of whose turn it is, who is here and what was said in a workspace.",
        "",
        "Start here",
        *(_row(name, COMMANDS[name][1]) for name in FIRST),
    ]
    for title in ("Turns", "Talk", "Work"):
        rest = {name: entry for name, entry in GROUPS[title].items() if name not in FIRST}
        lines += [title, *(_row(name, summary) for name, (_, summary) in rest.items())]
    for title in ("More", "Store", "Setup"):
        names = [name for name in GROUPS[title] if name not in FIRST]
        lines.append(_folded(", ".join(names), f"{title + ':':<11}"))
    lines.append(_folded(", ".join(["call", *sorted(catalogue.nouns())]), "Operations:"))
    lines += [
        _folded(f"Only {' and '.join(NEED_A_HUB)} need a hub (`tally up`); the rest works without one too."),
        _folded("Everywhere: " + ", ".join(f"{flag} {value}".rstrip() for flag, (value, _) in OPTIONS.items()) + "."),
        _folded("`tally help COMMAND` says more, and `tally NOUN` lists a noun's operations."),
    ]
    return "\n".join([*lines, ""])


def _row(name: str, text: str) -> str:
    """A name and its text, folded at the width of the terminal."""
    return _folded(text, f"  {name:<12}")


def _folded(text: str, first: str = "") -> str:
    indent, width = len(first), _width()
    lines, line = list[str](), first
    for word in text.split():
        if len(line) + 1 + len(word) > width and line.strip():
            lines.append(line)
            line = " " * indent
        line += (" " if line else "") + word
    return "\n".join([*lines, line])


def _width() -> int:
    try:
        return max(60, min(os.get_terminal_size(sys.stdout.fileno()).columns, 120))
    except (OSError, ValueError):
        return 80
