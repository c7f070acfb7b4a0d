"""CCCC's daemon as its users run it, in a home folder of its own: the peer that messages are measured beside.

It speaks JSON, one object per line, over a Unix socket, keeps each group's ledger in one file of JSON lines, and syncs
that file with every append. The wheel holds one native program and no Python, so it is found by its distribution.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import cast

from tallybench import servers

DISTRIBUTION, VERSION = "cccc-pair", "0.4.45"
"""The version that the budgets were set beside; another one is not measured under its name."""


class PeerRefused(RuntimeError):
    """CCCC did not do what it was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group of CCCC, its members stopped: a message is appended for them and nothing is started."""

    socket: Path
    group_id: str
    ledger: Path

    def message_ids(self) -> set[str]:
        """Of every message on the ledger."""
        with self.ledger.open("rb") as lines:
            events = map(json.loads, lines)
            return {str(event["id"]) for event in events if event["kind"] == "chat.message"}


def program() -> Path | None:
    """The installed program of that version."""
    try:
        found = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None
    script = next((file for file in found.files or () if file.name == "cccc"), None)
    return Path(str(script.locate())).resolve() if script and found.version == VERSION else None


@contextmanager
def group(cccc: Path, home: Path, members: Sequence[str]) -> Generator[Group]:
    """A group with these members, for as long as its daemon runs."""
    home.mkdir()
    path = home / "daemon" / "ccccd.sock"
    # Nothing of the user's: neither an account nor a home of theirs is found.
    env = {"PATH": os.environ.get("PATH", ""), "HOME": str(home), "CCCC_HOME": str(home)}
    with servers.process([str(cccc), "daemon", "run"], lambda: _listens(path), env):
        made = _ask(path, "group_create", title="bench", topic="", by="user")
        group_id = str(made["group_id"])
        for member in members:
            _ask(path, "actor_add", group_id=group_id, actor_id=member, runtime="custom", command=["true"], by="user")
        yield Group(socket=path, group_id=group_id, ledger=home / "groups" / group_id / "ledger.jsonl")


def _ask(path: Path, op: str, **args: object) -> dict[str, object]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        connection.sendall(json.dumps({"v": 1, "op": op, "args": args}).encode() + b"\n")
        reply = cast("dict[str, object]", json.loads(connection.makefile("rb").readline()))
    if not reply["ok"]:
        raise PeerRefused(f"{op}: {reply['error']}")
    return cast("dict[str, object]", reply["result"])


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0
