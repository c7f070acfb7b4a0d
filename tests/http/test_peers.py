"""The process at the other end of a connection is looked at once, however many requests it makes."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tallystick.harnesses import processes
from tallystick.harnesses.processes import Ancestor
from tallystick.surfaces.http import authentication


def test_a_process_is_looked_at_once_for_all_its_requests_and_surfaces(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    look = processes.ancestors

    def ancestors(pid: int) -> Iterator[Ancestor]:
        looks.append(pid)
        return look(pid)

    monkeypatch.setattr(processes, "ancestors", ancestors)
    scope = {"extensions": {authentication.PEER: {"pid": os.getpid(), "uid": os.getuid()}}}

    for surface in ("cli", "mcp", "cli"):
        peer = authentication.peer_of(scope)
        assert peer
        assert peer.caller("ada", surface).agent_id == "ada"

    assert looks == [os.getpid()]
