"""Calling a hub from Python, over its socket and over TCP."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Literal, cast

import pytest

import tallystick
from tallystick.capabilities.turns.errors import StaleLease
from tallystick.client import calls
from tallystick.client.calls import HttpReply, NoAnswer, answer_of
from tallystick.client.connection import HubNotRunning
from tallystick.kernel.errors import Conflict, TallyError, Unavailable, every_error
from tallystick.surfaces.http.errors import body_of, status_of
from tests.scene import HANDOFF
from tests.surfaces.hubs import RunningHub, hub

ERRORS = [kind for kind in every_error() if kind.__module__.startswith("tallystick.")]


def test_importing_the_package_imports_no_client() -> None:
    program = "import sys, tallystick; assert 'tallystick.client' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(("over", "by"), [("socket", "ada"), ("tcp", "user")])
def test_a_call_is_the_same_by_name_and_by_attribute(standing: Path, over: Literal["socket", "tcp"], by: str) -> None:
    with tallystick.Client(data_dir=standing, over=over, agent="ada") as client:
        room_id = client.call("rooms.create", title="a room")["room_id"]
        client.rooms.join(room_id=room_id)
        noted = client.notes.add(room_id=room_id, body="hello")

        assert (noted["by"], noted["body"]) == (by, "hello")
        assert client.call("notes.list", room_id=room_id) == client.notes.list(room_id=room_id)


def test_a_refusal_is_the_hubs_own_error(standing: Path) -> None:
    with tallystick.Client(data_dir=standing, agent="ada") as client:
        room_id = client.rooms.create(title="a room")["room_id"]
        client.rooms.join(room_id=room_id)
        turn = client.turns.wait(room_id=room_id, max_wait_ms=0)

        with pytest.raises(StaleLease) as caught:
            client.turns.release(room_id=room_id, lease_id="another", expected_turn_id=turn["turn_id"], handoff=HANDOFF)

    assert (caught.value.details["current_owner"], caught.value.details["current_turn_id"]) == ("ada", 1)


def come_back(kind: type[TallyError]) -> tuple[type[TallyError], object]:
    """What a client makes of what the hub says of this error."""
    error = kind("no", hint="do that", details={"room_id": "R"})
    with pytest.raises(TallyError) as caught:
        answer_of(HttpReply(status=status_of(kind), body=body_of(error)))
    return type(caught.value), caught.value.payload()


def test_every_error_comes_back_as_itself() -> None:
    assert [come_back(kind) for kind in ERRORS] == [
        (kind, kind("no", hint="do that", details={"room_id": "R"}).payload()) for kind in ERRORS
    ]


def test_a_code_that_this_client_does_not_know_keeps_its_name_and_family() -> None:
    error = calls.refusal_of(409, {"code": "brand_new", "message": "no", "hint": "wait", "details": {"a": 1}})

    assert isinstance(error, Conflict)
    assert (error.code, error.message, error.advice, error.details) == ("brand_new", "no", "wait", {"a": 1})


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"ok": true}'])
def test_a_reply_of_something_else_is_no_answer(body: bytes) -> None:
    with pytest.raises(NoAnswer):
        answer_of(HttpReply(status=502, body=body))


def test_without_a_hub_a_call_says_how_to_start_one(data_dir: Path) -> None:
    with tallystick.Client(data_dir=data_dir) as client, pytest.raises(HubNotRunning) as caught:
        client.hub.health()

    assert isinstance(caught.value, Unavailable)
    assert "tally up" in caught.value.advice


def test_a_hub_that_was_killed_is_not_waited_for_by_a_client_that_never_met_it(data_dir: Path) -> None:
    with hub({"TALLYSTICK_DATA_DIR": str(data_dir)}) as running:
        running.kill()
    with tallystick.Client(data_dir=data_dir) as client, pytest.raises(HubNotRunning):
        client.hub.health()


def test_a_token_is_not_shown_to_whoever_listens_where_a_killed_hub_did(data_dir: Path) -> None:
    with hub({"TALLYSTICK_DATA_DIR": str(data_dir)}) as running:
        running.kill()
    port = int(json.loads((data_dir / "hub.json").read_bytes())["url"].rpartition(":")[2])
    with socket.create_server(("127.0.0.1", port)) as stranger:
        stranger.setblocking(False)

        with tallystick.Client(data_dir=data_dir, over="tcp") as client, pytest.raises(HubNotRunning):
            client.hub.health()

        with pytest.raises(BlockingIOError):
            stranger.accept()


def test_a_call_waits_for_a_hub_that_starts_again_and_is_done_once(data_dir: Path, running: RunningHub) -> None:
    with tallystick.Client(data_dir=data_dir, over="tcp") as client:
        room_id = client.rooms.create(title="a room")["room_id"]
        running.kill()
        with hub(running.env):
            client.events.append(room_id=room_id, kind="x.acme.done", data={})
            events = cast("list[dict[str, object]]", client.events.list(room_id=room_id)["events"])

    assert [event["kind"] for event in events].count("x.acme.done") == 1


def test_a_token_and_an_address_are_enough(standing: Path) -> None:
    url = json.loads((standing / "hub.json").read_bytes())["url"]
    token = (standing / "token").read_text("utf-8").strip()
    with tallystick.Client(data_dir=standing / "elsewhere", url=url, token=token) as client:
        assert client.hub.health()["ok"] is True


def test_a_token_is_not_shown(data_dir: Path) -> None:
    client = tallystick.Client(data_dir=data_dir, url="http://127.0.0.1:1", token="tally_secret")

    assert "secret" not in repr(vars(client))
