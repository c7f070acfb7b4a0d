"""The app under a server that is not ours: it needs no extension, and without one everybody shows a token."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest
import uvicorn

from tallystick.hub import tokens
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.server import asgi
from tallystick.surfaces.http import authentication
from tallystick.surfaces.http.browser_sessions import HubAddress
from tallystick.surfaces.http.logs import Log
from tests.waiting import until


@pytest.fixture
def hub(tmp_path: Path) -> Generator[Hub]:
    hub = Hub.open(Settings(data_dir=tmp_path), grouped=True)
    yield hub
    hub.close()


@pytest.fixture
def log(tmp_path: Path) -> Generator[Log]:
    log = Log(tmp_path / "hub.log")
    yield log
    log.close()


ADDRESS = HubAddress(host="127.0.0.1", port=7433)


def test_plain_uvicorn_serves_it_to_whoever_has_a_token(hub: Hub, log: Log) -> None:
    token = tokens.issue(hub, principal="ann").secret
    server = uvicorn.Server(
        uvicorn.Config(asgi.application(hub, log=log, address=ADDRESS), port=0, lifespan="on", log_config=None)
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    until(lambda: server.started)
    url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/v1/rooms.list"

    with_token = httpx2.get(url, headers={"Authorization": f"Bearer {token}"})
    without = httpx2.get(url)
    server.should_exit = True
    thread.join(60)

    assert (with_token.status_code, with_token.json()) == (200, {"rooms": []})
    assert (without.status_code, without.json()["error"]["code"]) == (401, "token_missing")
    assert not thread.is_alive()


def asked(hub: Hub, log: Log, **extensions: object) -> tuple[int, object]:
    """Status and author of a room that is created through httpx's own transport, in this process."""

    async def ask() -> httpx2.Response:
        async with asgi.opened(hub, log=log, address=ADDRESS) as opened:

            async def extended(scope: dict[str, object], receive: object, send: object) -> None:
                await opened.asgi({**scope, "extensions": extensions}, receive, send)  # pyright: ignore[reportArgumentType]

            transport = httpx2.ASGITransport(extended)  # pyright: ignore[reportArgumentType]
            async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return await client.post("/v1/rooms.create", json={"title": "a room"}, headers={"Tally-Agent": "ann"})

    reply = asyncio.run(ask())
    return reply.status_code, reply.json().get("error", {}).get("code")


def test_a_server_that_knows_the_process_lets_it_in_without_a_token(hub: Hub, log: Log) -> None:
    me: authentication.Facts = {"pid": os.getpid(), "uid": os.geteuid()}

    assert asked(hub, log, **{authentication.PEER: me}) == (200, None)
    seen = me.get("seen")
    assert seen
    assert [caller.agent_id for caller in seen.callers.values()] == ["ann"]


def test_a_process_of_another_user_is_turned_away(hub: Hub, log: Log) -> None:
    assert asked(hub, log, **{authentication.PEER: {"pid": os.getpid(), "uid": os.geteuid() + 1}})[0] == 403


def test_without_the_extension_a_name_alone_lets_nobody_in(hub: Hub, log: Log) -> None:
    assert asked(hub, log) == (401, "token_missing")
