"""Two ways into a room for one agent: its own hub in its own process, or a `tally mcp` server of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias, cast

from tallybench.engines import agent, tally
from tallybench.wire import StdioServer
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings

Call: TypeAlias = Callable[[str, Mapping[str, object]], dict[str, object]]
"""An operation by its name."""

_TOOLS = {"rooms.join": "join_path", "turns.wait": "wait_for_turn", "turns.release": "release_stick"}


@contextmanager
def through_hub(settings: Settings, name: str) -> Generator[Call]:
    me = agent(name, os.getpid())
    hub = Hub.open(settings)
    try:
        yield lambda operation, given: hub.call(operation, given, me).to_data()
    finally:
        hub.close()


@contextmanager
def through_mcp(settings: Settings, name: str) -> Generator[Call]:
    with StdioServer(tally("mcp"), {**environment(settings), "TALLYSTICK_AGENT": name}) as server:
        server.initialize()
        yield lambda operation, given: server.call(_TOOLS[operation], given)


def environment(settings: Settings) -> dict[str, str]:
    """This process's environment, pointing at the store."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TALLYSTICK_")}
    url = {"TALLYSTICK_DATABASE_URL": settings.database_url} if settings.database_url else {}
    sync = {"TALLYSTICK_SYNC": "full"} if settings.full_sync else {}
    return {**inherited, **url, **sync, "TALLYSTICK_DATA_DIR": str(settings.data_dir)}


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantedTurn:
    turn_id: int
    lease_id: str

    @classmethod
    def of(cls, answer: Mapping[str, object]) -> GrantedTurn | None:
        """The turn that a wait brought, if it did."""
        if answer["status"] != "your_turn":
            return None
        return cls(turn_id=cast("int", answer["turn_id"]), lease_id=cast("str", answer["lease_id"]))
