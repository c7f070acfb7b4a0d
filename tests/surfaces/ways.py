"""Every way to call an operation, as a function from agent, operation and input to the answer or the flat refusal."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeAlias, cast

import httpx2

import tallystick
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.errors import TallyError
from tallystick.kernel.hints import portal_call, portal_of
from tallystick.surfaces.mcp.tools import NINE
from tests.surfaces.hubs import TALLY, hub
from tests.surfaces.mcp.stage import Stage, bare_environment
from tests.surfaces.mcp.wire import Wire, wired

Row: TypeAlias = dict[str, Any]
Way: TypeAlias = Callable[[str, str, Mapping[str, object]], Row]
"""`(agent, operation, given)`."""


def flat(payload: Mapping[str, Any]) -> Row:
    """A refusal in the shape that MCP gives it."""
    own = {"error" if name == "code" else name: value for name, value in payload.items() if name != "details"}
    return {**payload["details"], **own}


@contextmanager
def directly(stage: Stage) -> Generator[Way]:
    own = Hub.open(Settings.of(stage.env))

    def call(agent: str, operation: str, given: Mapping[str, object]) -> Row:
        try:
            caller = Caller(agent_id=agent, session=SessionKind.NAMED)
            return own.call(operation, given, caller).to_data()
        except TallyError as refusal:
            return flat(refusal.payload())

    try:
        yield call
    finally:
        own.close()


@contextmanager
def command_line(stage: Stage) -> Generator[Way]:
    def call(agent: str, operation: str, given: Mapping[str, object]) -> Row:
        done = subprocess.run(
            [TALLY, "--json", "--as", agent, "call", operation, "--input", "-"],
            input=json.dumps(given).encode(),
            env={**bare_environment(), **stage.env},
            cwd=stage.workspace,
            capture_output=True,
            check=False,
        )
        envelope = cast("Row", json.loads(done.stdout))
        return envelope["data"] if envelope["ok"] else flat(envelope["error"])

    yield call


@contextmanager
def mcp(stage: Stage) -> Generator[Way]:
    """One server for each agent, started when it first calls."""
    wires: dict[str, Wire] = {}
    with ExitStack() as stack:

        def call(agent: str, operation: str, given: Mapping[str, object]) -> Row:
            if agent not in wires:
                wires[agent] = stack.enter_context(wired(stage, agent))
            tool, arguments = as_tool(operation, given)
            return wires[agent].call(tool, **arguments)

        yield call


@contextmanager
def mcp_through_a_hub(stage: Stage) -> Generator[Way]:
    with hub(stage.env), mcp(stage) as way:
        yield way


@contextmanager
def mcp_over_http(stage: Stage) -> Generator[Way]:
    with http(stage) as posting:

        def call(agent: str, operation: str, given: Mapping[str, object]) -> Row:
            tool, arguments = as_tool(operation, given)
            params = {"name": tool, "arguments": arguments}
            got = posting(agent, "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
            (data,) = [line for line in got.text.splitlines() if line.startswith(("data: {", "{"))]
            return json.loads(data.removeprefix("data: "))["result"]["structuredContent"]

        yield call


@contextmanager
def plain_http(stage: Stage) -> Generator[Way]:
    with http(stage) as posting:

        def call(agent: str, operation: str, given: Mapping[str, object]) -> Row:
            got = posting(agent, f"/v1/{operation}", given)
            return got.json() if got.status_code == 200 else flat(got.json()["error"])

        yield call


@contextmanager
def http(stage: Stage) -> Generator[Callable[[str, str, Mapping[str, object]], httpx2.Response]]:
    """Posting to a running hub's socket."""
    accept = {"accept": "application/json, text/event-stream"}
    path = str(Path(stage.env["TALLYSTICK_DATA_DIR"]) / "hub.sock")
    with hub(stage.env), httpx2.Client(transport=httpx2.HTTPTransport(uds=path), timeout=60) as client:
        yield lambda agent, path, body: client.post(
            f"http://localhost{path}", json=dict(body), headers={**accept, "tally-agent": agent}
        )


@contextmanager
def python(stage: Stage) -> Generator[Way]:
    with hub(stage.env), ExitStack() as stack:
        clients: dict[str, tallystick.Client] = {}

        def call(agent: str, operation: str, given: Mapping[str, object]) -> Row:
            if agent not in clients:
                client = tallystick.Client(data_dir=stage.env["TALLYSTICK_DATA_DIR"], agent=agent)
                clients[agent] = stack.enter_context(client)
            try:
                return clients[agent].call(operation, **given)
            except TallyError as refusal:
                return flat(refusal.payload())

        yield call


@contextmanager
def bus(stage: Stage) -> Generator[Way]:
    """One connection of the bus for each agent, with operations by their own names."""
    with hub(stage.env), ExitStack() as stack:
        lines: dict[str, Any] = {}

        def call(agent: str, operation: str, given: Mapping[str, object]) -> Row:
            if agent not in lines:
                line = stack.enter_context(socket.socket(socket.AF_UNIX))
                line.connect(str(Path(stage.env["TALLYSTICK_DATA_DIR"]) / "bus.sock"))
                lines[agent] = stack.enter_context(line.makefile("rwb"))
            asked = {
                "v": 1,
                "type": operation,
                "id": "1",
                "ts": "2026-01-31T12:00:00Z",
                "src": agent,
                "payload": dict(given),
            }
            lines[agent].write(json.dumps(asked).encode() + b"\n")
            lines[agent].flush()
            reply = cast("Row", json.loads(lines[agent].readline()))
            return reply["payload"] if reply["status"] == "ok" else flat(reply["error"])

        yield call


def as_tool(operation: str, given: Mapping[str, object]) -> tuple[str, Row]:
    """The tool that is this operation, or the portal it is behind."""
    tools = {name: tool for tool, name in NINE.items()}
    if operation in tools:
        return tools[operation], dict(given)
    portal = portal_of(operation)
    return portal, {**portal_call(portal, operation), "args": dict(given)}
