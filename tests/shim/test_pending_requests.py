"""What the shim remembers of a conversation, and what it says again to the next server."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from tallystick.surfaces.mcp.shim import KEY, PendingRequests

INITIALIZE = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}\n'
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'


def call(number: int, **params: object) -> bytes:
    return json.dumps({"id": number, "method": "tools/call", "params": {"name": "t", **params}}).encode() + b"\n"


def answer(number: int) -> bytes:
    return json.dumps({"id": number, "result": {}}).encode() + b"\n"


def key_of(line: bytes) -> str:
    message = cast("dict[str, Any]", json.loads(line))
    return message["params"]["_meta"][KEY]


def test_every_tool_call_gets_a_key_of_its_own_and_keeps_the_rest() -> None:
    exchange = PendingRequests()
    one, other = exchange.sent(call(1, _meta={"progressToken": 7})), exchange.sent(call(2))

    assert key_of(one) != key_of(other)
    assert json.loads(one) == {
        "id": 1,
        "method": "tools/call",
        "params": {"name": "t", "_meta": {"progressToken": 7, KEY: key_of(one)}},
    }


def test_a_key_that_the_client_chose_stays() -> None:
    line = call(1, _meta={KEY: "mine"})

    assert PendingRequests().sent(line) == line


@pytest.mark.parametrize(
    "line", [b"nonsense\n", b"\n", b"[1]\n", b'{"id": 1, "result": {}}\n', b'{"a": ' * 5000, b'{"method": 7}\n', LIST]
)
def test_any_other_line_is_passed_on_as_it_is(line: bytes) -> None:
    assert PendingRequests().sent(line) == line


def test_only_what_was_not_answered_is_asked_again_and_under_the_same_key() -> None:
    exchange = PendingRequests()
    sent = [exchange.sent(call(number)) for number in (1, 2, 3)]
    exchange.received(answer(2))

    assert exchange.again() == [sent[0], sent[2]]


def test_a_request_that_was_cancelled_is_not_asked_again() -> None:
    exchange = PendingRequests()
    exchange.sent(call(1))
    exchange.sent(b'{"method":"notifications/cancelled","params":{"requestId":1}}\n')

    assert exchange.again() == []


def test_the_handshake_is_repeated_for_the_next_server_but_not_for_the_client() -> None:
    exchange = PendingRequests()
    exchange.sent(INITIALIZE)
    assert exchange.received(answer(0)) == answer(0)
    exchange.sent(INITIALIZED)
    exchange.sent(LIST)

    assert exchange.again() == [INITIALIZE, INITIALIZED, LIST]
    assert (exchange.received(answer(0)), exchange.received(answer(1))) == (None, answer(1))


def test_a_handshake_that_was_never_answered_is_answered_by_the_next_server() -> None:
    exchange = PendingRequests()
    exchange.sent(INITIALIZE)

    assert exchange.again() == [INITIALIZE]
    assert exchange.received(answer(0)) == answer(0)


def test_what_the_hub_tells_the_shim_does_not_reach_the_client() -> None:
    exchange = PendingRequests()

    assert exchange.received(b'{"tallystick": {"called": "zoe"}}\n') is None
    assert exchange.called == "zoe"


@pytest.mark.parametrize(
    "line", [b"noise\n", b'{"id": 1, "method": "ping"}\n', b'{"method": "notifications/progress"}\n']
)
def test_whatever_else_a_server_says_is_passed_on(line: bytes) -> None:
    exchange = PendingRequests()
    exchange.sent(LIST)

    assert (exchange.received(line), exchange.again()) == (line, [LIST])
