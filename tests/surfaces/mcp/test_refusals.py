"""Refusals reach a model whole: flat, structured and as text, with a hint; faults keep the server up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import anyio
import pytest
from mcp import Client

from tallystick.hub.registry import OPERATIONS
from tallystick.hub.serving import Serving
from tallystick.hub.visitor import Visitor
from tallystick.kernel.caller import SessionKind
from tallystick.kernel.errors import TallyError, every_error
from tallystick.kernel.hints import tool_call
from tallystick.surfaces.mcp import handlers
from tallystick.surfaces.mcp.server import McpRequest, build_server
from tests.surfaces.mcp.stage import MODES, Stage, both

assert OPERATIONS  # Importing the registry makes every capability's refusals known.
EVERY_ERROR = sorted(set(every_error()), key=lambda kind: kind.__name__)
DETAILS: Mapping[str, object] = {"current_turn_id": 12, "room_state": SessionKind.NAMED, "candidates": ("a", "b")}


class Refusing:
    """A client whose calls always raise the same thing, until they are to raise another."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def visitor(self, _request: McpRequest) -> Visitor:
        raise self.error

    def workspace(self, _request: McpRequest) -> str | None:
        return None

    async def serving(self) -> Serving:
        raise self.error

    def named(self, name: str) -> None: ...


def test_every_refusal_has_talking_sticks_flat_shape() -> None:
    results = {kind: handlers.refused(kind(details=DETAILS)) for kind in EVERY_ERROR}

    assert {kind: (result.is_error, both(result)) for kind, result in results.items()} == {
        kind: (
            True,
            {
                "error": kind.code,
                "message": " ".join((kind.__doc__ or "").split()),
                "hint": kind(details=DETAILS).advice_in(tool_call),
                "retryable": kind.retryable,
                "current_turn_id": 12,
                "room_state": "named",
                "candidates": ["a", "b"],
            },
        )
        for kind in EVERY_ERROR
    }


def test_no_detail_takes_the_place_of_the_code() -> None:
    flat = handlers.flat(TallyError("no", details={"error": "other", "message": "other", "retryable": True}))

    assert flat == {"error": "tally_error", "message": "no", "hint": "", "retryable": False}


@pytest.mark.anyio
async def test_every_refusal_passes_through_the_protocol_whole(revision: str) -> None:
    errors = [kind(details={"field": "x"}) for kind in EVERY_ERROR]
    refusing = Refusing(errors[0])
    results = dict[str, tuple[bool, object]]()
    async with Client(build_server(refusing), mode=MODES[revision]) as client:
        for refusing.error in errors:
            result = await client.call_tool("get_room_state", {"room_id": "R"})
            results[type(refusing.error).__name__] = bool(result.is_error), both(result)

    assert results == {type(error).__name__: (True, handlers.flat(error)) for error in errors}


@pytest.mark.anyio
async def test_an_unexpected_exception_is_a_fault_and_the_server_stays_up(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Client(build_server(Refusing(ZeroDivisionError("secret"))), mode=MODES[revision]) as client:
        results = [await client.call_tool("get_room_state", {"room_id": "R"}) for _ in range(2)]

    assert [both(result)["error"] for result in results] == ["internal_fault"] * 2
    assert "secret" not in str(results)
    assert "ZeroDivisionError: secret" in caplog.text


@pytest.mark.anyio
async def test_the_refusals_of_a_turn_carry_what_to_do_next(served: Stage) -> None:
    async with served.agent("ada") as ada, served.agent("bob") as bob:
        await ada.join()
        await ada.wait()
        outside = await bob.refused("wait_for_turn", room_id=ada.room_id, max_wait_ms=0)
        await bob.join()
        mine = {**ada.turn}
        refusals = [
            await ada.refused("release_stick", **mine),
            await ada.refused("release_stick", **mine, handoff={"status": "", "next_action": "x"}),
            await ada.refused("release_stick", **mine, handoff={"status": "x", "next_actoin": "x"}),
            await ada.refused("pass_stick", **mine, to_agent_id="eve", handoff={"status": "x", "next_action": "x"}),
            await bob.refused("heartbeat", **mine),
            await ada.refused("heartbeat", **{**mine, "expected_turn_id": 9}),
            await bob.refused("takeover_stick", room_id=ada.room_id, expected_turn_id=1, reason="impatience"),
            await bob.refused("get_room_state", room_id="nowhere"),
            await bob.refused("get_room_state", room="nowhere"),
            await bob.refused("get_room_state", room_id="x" * 10_000),
            await bob.refused("get_room_state", room_id=7),
        ]

    assert outside["error"] == "unknown_member"
    assert [refusal["error"] for refusal in refusals] == [
        "invalid_handoff",
        "invalid_handoff",
        "unknown_field",
        "unknown_member",
        "stale_lease",
        "turn_mismatch",
        "takeover_not_available",
        "room_not_found",
        "unknown_field",
        "too_large",
        "invalid_input",
    ]
    assert all(refusal["hint"] for refusal in refusals)
    stale, mismatch = refusals[4:6]
    assert {key: stale[key] for key in ("current_owner", "current_turn_id", "room_state")} == {
        "current_owner": "ada",
        "current_turn_id": 1,
        "room_state": "owned",
    }
    assert mismatch["current_turn_id"] == 1


@pytest.mark.anyio
async def test_a_wrong_input_behind_a_portal_is_answered_with_a_right_one(served: Stage) -> None:
    async with served.agent("ada") as ada:
        refusal = await ada.refused("rooms", op="set_policy", args={"room_id": "R", "claim_ttl": 1})

    assert refusal["message"] == "Unknown field 'claim_ttl'. Did you mean 'claim_ttl_ms'?"
    assert refusal["example"] == {"op": "set_policy", "args": {"room_id": "ROOM", "claim_ttl_ms": 300_000}}


@pytest.mark.anyio
async def test_hostile_text_comes_back_as_it_was(served: Stage) -> None:
    text = 'quote " back \\ nul \\u0000 tab \t line \n esc \x1b[31m \u202e 🪵 </script>'
    async with served.agent("ada") as ada:
        await ada.join()
        await ada.wait()
        await ada.call("release_stick", **ada.turn, handoff={"status": text, "next_action": text})
        with anyio.fail_after(60):
            again = await ada.wait()

    assert cast("Mapping[str, object]", again["handoff"]) == {"status": text, "next_action": text}
