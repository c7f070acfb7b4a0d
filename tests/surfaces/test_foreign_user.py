"""Another user's process is refused alike on every socket of the hub, should the socket's mode ever let it connect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import cast

import pytest

from tallystick.kernel.errors import ForeignUser
from tallystick.surfaces.mcp.shim import OURS
from tests.bus.talking import envelope
from tests.http import conftest as http
from tests.http.running import Json, RunningHub

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")

STRANGER = """
import contextlib, os, socket, sys
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
wire = socket.socket(socket.AF_UNIX)
wire.connect(sys.argv[1])
with contextlib.suppress(OSError):
    wire.sendall(sys.argv[2].replace("PID", str(os.getpid())).encode())
    wire.shutdown(socket.SHUT_WR)
sys.stdout.write("".join(wire.makefile()))
"""
HELLO: Json = {"pid": 0, "environ": {}, "folder": None, "database": None, "tools": "daily"}
SAID = {
    "bus.sock": json.dumps(envelope("session.create", "stranger")) + "\n",
    "mcp.sock": json.dumps({OURS: HELLO}).replace('"pid": 0', '"pid": PID') + "\n",
    "hub.sock": "GET /v1/rooms.list HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
}


@pytest.fixture(scope="module")
def hub() -> Generator[RunningHub]:
    """A hub whose sockets everybody may open."""
    with http.running() as hub:
        for folder in (hub.data_dir.parent, hub.data_dir):
            folder.chmod(0o755)
        for name in SAID:
            (hub.data_dir / name).chmod(0o666)
        yield hub


LISTENER = """
import os, socket, sys
listening = socket.socket(socket.AF_UNIX)
listening.bind(sys.argv[1])
os.setgroups([])
os.setuid(65534)
listening.listen()
print("listening", flush=True)
sys.stdin.read()
listening.setblocking(False)
try:
    connection, _ = listening.accept()
    sys.stdout.write(connection.recv(65536).decode())
except BlockingIOError:
    pass
"""


@pytest.mark.parametrize(
    ("name", "ask"),
    [
        ("hub.sock", [sys.executable, "-m", "tallystick.surfaces.cli.main", "--as", "ada", "rooms"]),
        ("mcp.sock", [sys.executable, "-m", "tallystick.surfaces.cli.main", "mcp"]),
        (
            "bus.sock",
            [sys.executable, "-c", "from tallystick import client; client.BusClient(agent='ada', patience=0)"],
        ),
    ],
)
def test_nothing_is_told_to_another_user_that_listens_where_a_hub_of_ours_would(
    tmp_path: Path, name: str, ask: list[str]
) -> None:
    data_dir = tmp_path / "data"
    data_dir.mkdir(mode=0o700)
    (data_dir / "hub.json").write_text(
        json.dumps({"http_socket": f"{data_dir}/hub.sock", "bus_socket": f"{data_dir}/bus.sock"})
    )
    stranger = subprocess.Popen(
        [sys.executable, "-c", LISTENER, str(data_dir / name)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert stranger.stdout
    assert stranger.stdout.readline() == "listening\n"

    environ = {**os.environ, "TALLYSTICK_DATA_DIR": str(data_dir), "TALLYSTICK_DATABASE_URL": ""}
    asked = subprocess.run(ask, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    heard, _ = stranger.communicate("")
    assert heard == "", asked
    assert asked.returncode == (1 if name == "bus.sock" else 0), asked


def _refusal(name: str, answer: str) -> object:
    """The refusal in what a socket said, and nothing besides."""
    if name == "hub.sock":
        head, _, body = answer.partition("\n\n")
        assert head.startswith("HTTP/1.1 403 ")
        return json.loads(body)["error"]
    (only,) = [cast("Json", json.loads(line)) for line in answer.splitlines()]
    return cast("Json", only[OURS])["refused"] if name == "mcp.sock" else only["error"]


@pytest.mark.parametrize("name", SAID)
def test_another_user_is_turned_away_with_the_same_reason_although_it_could_connect(hub: RunningHub, name: str) -> None:
    told = subprocess.run(
        [sys.executable, "-c", STRANGER, str(hub.data_dir / name), SAID[name]],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert _refusal(name, told) == ForeignUser().payload()
    assert hub.user.call("rooms.list")["rooms"] == []
