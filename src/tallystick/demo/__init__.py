"""`tally demo`: three scripted agents share one small repository, and one of them dies at work.

Every agent is a process with a real MCP client and a `tally mcp` server of its own. What they do is in `parts`, what
they say in `script`; `director` follows the ledger, which is all that a reader is shown, and `ending` checks it.
"""

from __future__ import annotations


def main(argv: list[str]) -> int:
    from tallystick.demo import options

    arguments = options.read(argv)
    from tallystick.demo.command import run

    return run(arguments)
