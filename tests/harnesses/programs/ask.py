"""Plays the MCP server or the command: says as JSON, in one line, who it takes its caller for."""

from __future__ import annotations

import json
import os
import sys

import msgspec

from tallystick.harnesses import identity
from tallystick.harnesses.registry import HarnessSession


def main(surface: str, client_name: str = "", explicit: str = "", tty: str = "", told: str = "") -> None:
    caller = identity.resolve(
        os.environ,
        pid=os.getpid(),
        user="ada",
        tty=tty or None,
        surface="mcp" if surface == "mcp" else "cli",
        client_name=client_name or None,
        explicit=explicit or None,
        told=msgspec.json.decode(told, type=HarnessSession) if told else None,
    )
    sys.stdout.write(json.dumps(msgspec.to_builtins(caller)) + "\n")


main(*sys.argv[1:])
