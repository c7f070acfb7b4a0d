"""A portal reads `{op, cmd?, args, workspace?}` and answers what it cannot read with a whole correct call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import pytest

from tallystick.hub.registry import OPERATIONS
from tallystick.kernel import inputs
from tallystick.kernel.errors import InvalidField, Refused, UnknownField, UnknownOperation
from tallystick.surfaces.mcp.tools import PORTALS, PortalCommand

ROOMS = PORTALS["rooms"]


def test_an_op_is_a_verb_of_the_portals_own_noun() -> None:
    command = ROOMS.read({"op": "set_policy", "args": {"room_id": "R", "claim_ttl_ms": 5000}})

    assert command == PortalCommand(
        operation=OPERATIONS["rooms.set_policy"], given={"room_id": "R", "claim_ttl_ms": 5000}, workspace=None
    )


def test_call_reaches_every_command_by_its_whole_name() -> None:
    read = [ROOMS.read({"op": "call", "cmd": name}).operation.name for name in ROOMS.commands]

    assert read == ROOMS.commands


def test_a_cmd_that_says_the_same_as_the_op_is_no_contradiction() -> None:
    command = ROOMS.read({"op": "show", "cmd": "rooms.show", "workspace": "R"})

    assert command == PortalCommand(operation=OPERATIONS["rooms.show"], given={}, workspace="R")


def refusal(arguments: Mapping[str, object]) -> Refused:
    with pytest.raises(Refused) as caught:
        ROOMS.read(arguments)
    return caught.value


@pytest.mark.parametrize("arguments", [{"op": "set_polcy"}, {"op": "call", "cmd": "rooms.set_polcy"}])
def test_an_unknown_command_is_answered_with_the_valid_ones_and_a_correct_call(arguments: Mapping[str, object]) -> None:
    found = refusal(arguments)

    assert isinstance(found, UnknownOperation)
    assert found.payload() == {
        "code": "unknown_operation",
        "message": "'rooms.set_polcy' is not behind the tool 'rooms'. Did you mean 'rooms.set_policy'?",
        "hint": "Send one of the commands in `valid`.",
        "retryable": False,
        "details": {
            "operation": "rooms.set_polcy",
            "valid": ROOMS.commands,
            "example": {"op": "set_policy", "args": {"room_id": "ROOM", "claim_ttl_ms": 300_000}},
        },
    }


def test_a_command_of_another_portal_is_not_behind_this_one() -> None:
    assert isinstance(refusal({"op": "call", "cmd": "turns.wait"}), UnknownOperation)


def test_call_without_a_cmd_is_refused() -> None:
    found = refusal({"op": "call"})

    assert (type(found), found.details["field"]) == (InvalidField, "cmd")


def test_an_op_and_a_cmd_that_disagree_are_refused() -> None:
    found = refusal({"op": "show", "cmd": "rooms.close"})

    assert (type(found), found.message) == (
        InvalidField,
        "op says rooms.show and cmd says rooms.close: give one of them.",
    )


def test_fields_outside_args_are_refused_with_the_call_that_was_meant() -> None:
    found = refusal({"op": "show", "room_id": "R"})

    assert isinstance(found, UnknownField)
    assert found.advice == "Put the command's own fields into args; `example` is a whole correct call."
    assert found.details["example"] == {"op": "show", "args": {"room_id": "ROOM"}}


@pytest.mark.parametrize("arguments", [{}, {"op": 7}, {"op": "show", "args": "room_id=R"}, {"op": None}])
def test_a_call_of_the_wrong_shape_is_refused(arguments: Mapping[str, object]) -> None:
    assert isinstance(refusal(arguments), InvalidField)


@pytest.mark.parametrize("name", [name for portal in PORTALS.values() for name in portal.commands])
def test_the_example_of_every_command_is_a_correct_call(name: str) -> None:
    portal = next(each for each in PORTALS.values() if name in each.commands)
    shown = portal.with_example(InvalidField(), name, hint="").details["example"]

    command = portal.read(cast("Mapping[str, object]", shown))

    assert command.operation.name == name
    assert inputs.read(command.operation.ask, command.given)
