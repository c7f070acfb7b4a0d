"""Our MCP server for a harness that waits for it: where `tally` cannot be started, a line of shell answers instead.

Codex asks its model without the tools of a server that is slow, unless the server is `required`; without one of those
it does not start at all. What is installed outlives us, so it must come up in any case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tallystick.kernel.json_values import list_of, object_of

SHELL = "sh"
MISSING = "tally_cannot_be_started"
"""The one tool that there is then: model and person see by its name what is wrong."""
_HELLO = '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"tally","version":"0"}}'
_TOOL = f'{{"name":"{MISSING}","description":"Nothing is coordinated here.","inputSchema":{{"type":"object"}}}}'
_TOOLS = f'{{"tools":[{_TOOL}]}}'
SCRIPT = (
    r'"$0" "$@" && exit; while read -r l; do i=${l#*\"id\":};'
    rf" case $l in *\"initialize\"*) r='{_HELLO}';; *\"id\":*) r='{_TOOLS}';; *) continue;; esac;"
    r""" printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "${i%%,*}" "$r"; done"""
)
"""Only what asks something has an id, which comes first in a line."""


def guarded(command: Sequence[str]) -> Mapping[str, str | list[str]]:
    """The entry of a server that runs this command, and answers itself where that cannot be run."""
    return {"command": SHELL, "args": ["-c", SCRIPT, *command]}


def started(entry: object) -> list[str]:
    """The command that a server's entry runs, without the shell around it."""
    found = object_of(entry)
    words = [word for word in [found.get("command"), *list_of(found.get("args"))] if isinstance(word, str)]
    return words[3:] if words[:2] == [SHELL, "-c"] else words
