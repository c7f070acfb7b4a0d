"""What can be said to `tally attach` and `tally relay`: options first, and the program after `--`."""

from __future__ import annotations

import argparse

from tallystick.harnesses.headless import Sandbox

EPILOG = (
    "PROGRAM is codex, claude or gemini, called in its own headless manner, or any command that reads a prompt on stdin"
    " and writes its answer. Options of its own may follow it."
)


class Options(argparse.Namespace):
    name: str
    room: str | None
    cwd: str
    harness: str | None
    sandbox: str
    model: str | None
    task: str
    max_turns: int
    hub: str | None
    program: list[str]


def read_attach(argv: list[str]) -> Options:
    parser = _parser(
        "tally attach",
        "tally attach --name NAME [--room ROOM] -- PROGRAM [ARG]...",
        "Put a coding agent on the bus: each message it gets is one run of the program, and its answer goes back.",
    )
    return _read(parser, argv)


def read_relay(argv: list[str]) -> Options:
    parser = _parser(
        "tally relay",
        "tally relay --name NAME [--room ROOM] TASK -- PROGRAM [ARG]...",
        "Have an owner agent carry out a task through others: what it says is sent to them, and their answers go back.",
    )
    parser.add_argument("task", metavar="TASK", help="what is to be done; - reads it from stdin")
    parser.add_argument(
        "--max-turns", type=_turns, default=20, metavar="N", help="end after so many turns of the owner (default: 20)"
    )
    return _read(parser, argv)


def _parser(prog: str, usage: str, description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, usage=usage, description=description, epilog=EPILOG)
    parser.add_argument("--name", required=True, metavar="NAME", help="the agent's name in the room")
    parser.add_argument("--room", metavar="ROOM", help="the room's id (default: the room of the folder)")
    parser.add_argument("--cwd", default=".", metavar="DIR", help="where the program works (default: here)")
    parser.add_argument(
        "--harness",
        metavar="KIND",
        help="how to call the program: codex, claude-code, gemini or plain (default: by its name)",
    )
    parser.add_argument(
        "--sandbox",
        default=Sandbox.WORKSPACE_WRITE.value,
        choices=[each.value for each in Sandbox],
        metavar="POLICY",
        help="read-only, workspace-write or full-access (default: workspace-write)",
    )
    parser.add_argument(
        "--hub",
        metavar="URL",
        help="a hub on another machine; its token for NAME is $TALLYSTICK_TOKEN, and --room is needed",
    )
    parser.add_argument("--model", metavar="MODEL", help="the model to use (default: the program's own)")
    return parser


def _read(parser: argparse.ArgumentParser, argv: list[str]) -> Options:
    mine, found, program = _split(argv)
    options = parser.parse_args(mine, namespace=Options())
    if not found or not program:
        parser.error("name a program after --, for example: -- claude")
    options.program = program
    return options


def _split(argv: list[str]) -> tuple[list[str], bool, list[str]]:
    if "--" not in argv:
        return argv, False, []
    place = argv.index("--")
    return argv[:place], True, argv[place + 1 :]


def _turns(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number from 1 to 1000")
    return int(text)
