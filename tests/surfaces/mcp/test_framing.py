"""Lines that are no JSON-RPC are answered, and nothing a client writes takes the server down."""

from __future__ import annotations

from typing import cast

import pytest

from tests.surfaces.mcp.stage import Stage
from tests.surfaces.mcp.wire import wired

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602


NO_REQUESTS: dict[str, tuple[object, int]] = {
    "nonsense": (None, PARSE_ERROR),
    '{"jsonrpc": "2.0", "id": 41, "method": "tools/call"': (None, PARSE_ERROR),
    "[" * 100_000: (None, PARSE_ERROR),
    r'{"jsonrpc": "2.0", "id": 42, "method": "ping", "params": {"torn": "\ud83d"}}': (42, PARSE_ERROR),
    '[{"jsonrpc": "2.0", "id": 43, "method": "ping"}]': (None, INVALID_REQUEST),
    '{"jsonrpc": "2.0", "id": 44, "method": 7}': (44, INVALID_REQUEST),
    '{"jsonrpc": "2.0", "id": "a", "method": "ping", "params": [1]}': ("a", INVALID_REQUEST),
    '{"id": 45, "method": "ping"}': (45, INVALID_REQUEST),
    '{"jsonrpc": "2.0", "id": 46, "result": 7}': (None, INVALID_REQUEST),
    "7": (None, INVALID_REQUEST),
}
"""Lines, and the id and code with which each is answered."""


def test_a_line_that_is_no_request_is_answered_to_whoever_sent_it(stage: Stage) -> None:
    answers: dict[str, tuple[object, object]] = {}
    with wired(stage, "ada") as wire:
        for line in NO_REQUESTS:
            wire.send(line)
            answers[line] = _error(wire.read())
            assert wire.call("list_rooms", context_path=str(stage.workspace)) == {"rooms": []}, line[:80]

    assert answers == NO_REQUESTS


def _error(answer: dict[str, object]) -> tuple[object, object]:
    """Id and code of an error."""
    assert answer["jsonrpc"] == "2.0"
    return answer["id"], cast("dict[str, object]", answer["error"])["code"]


def test_empty_lines_and_unknown_notifications_are_passed_over(stage: Stage) -> None:
    with wired(stage, "ada") as wire:
        wire.send("")
        wire.send("   ")
        wire.send('{"jsonrpc": "2.0", "method": "notifications/unheard_of", "params": {"x": 1}}')
        wire.send('{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 999}}')
        wire.send('{"jsonrpc": "2.0", "id": 999, "result": {}}')

        assert wire.call("list_rooms", context_path=str(stage.workspace)) == {"rooms": []}


def test_a_request_that_mcp_does_not_know_is_a_protocol_error(stage: Stage) -> None:
    unknown: list[tuple[str, dict[str, object], int]] = [
        ("tools/explode", {}, METHOD_NOT_FOUND),
        ("tools/call", {"name": 7}, INVALID_PARAMS),
        ("tools/call", {"name": "list_rooms", "arguments": "none"}, INVALID_PARAMS),
        ("tools/call", {"name": "list_room", "arguments": {}}, INVALID_PARAMS),
        ("resources/read", {"uri": "tally://nowhere"}, INVALID_PARAMS),
    ]
    with wired(stage, "ada") as wire:
        for method, params, code in unknown:
            number = wire.request(method, **params)
            assert _error(wire.read()) == (number, code), (method, params)
            assert wire.call("list_rooms", context_path=str(stage.workspace)) == {"rooms": []}, (method, params)


def test_a_tool_that_is_not_there_is_answered_with_those_that_are(stage: Stage) -> None:
    with wired(stage, "ada") as wire:
        wire.request("tools/call", name="wait_for_turns", arguments={})
        error = wire.read()["error"]

    assert isinstance(error, dict)
    assert error["message"] == (
        "There is no tool 'wait_for_turns'. Did you mean 'wait_for_turn'? Call one of the listed tools."
    )
    assert error["data"]["valid"][:2] == ["list_rooms", "join_path"]


@pytest.mark.parametrize("revision", ["2025-11-25"])
def test_a_client_that_forgets_the_handshake_is_told_so(stage: Stage) -> None:
    with wired(Stage(env=stage.env, workspace=stage.workspace, revision="none"), "ada") as wire:
        number = wire.request("tools/list")
        answer = wire.read()

    assert (answer["id"], "error" in answer) == (number, True)
