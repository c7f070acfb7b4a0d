"""Names that agents may give themselves."""

from __future__ import annotations

import pytest

from tallystick.kernel.caller import HOLDERS, SessionKind, check_agent_id
from tests.scene import refused


@pytest.mark.parametrize("name", ["a", "codex:9b22d0aa", "x" * 128, "žluťoučký-kůň", "a/b@c", "users", "systemd"])
def test_printable_names_without_blanks_are_accepted(name: str) -> None:
    assert check_agent_id(name) == name


@pytest.mark.parametrize(
    "name", ["user", "system", "svc:deploy", "human:wren:pts1", "USER", "you", "broadcast", "role:peer"]
)
def test_other_principals_names_are_reserved(name: str) -> None:
    with refused("reserved_name") as caught:
        check_agent_id(name)
    assert caught.value.details == {"agent_id": name}


@pytest.mark.parametrize(
    "name",
    ["", "x" * 129, "two words", "tab\t", "nul\0", "@all", "bell\x07", "flip\u202e", "\ud800", "\uff41da", "\ufb01nn"],
)
def test_names_that_could_be_mistaken_for_something_else_are_refused(name: str) -> None:
    with refused("invalid_input") as caught:
        check_agent_id(name)
    assert caught.value.details == {"field": "agent_id"}


def test_session_kinds_outrank_each_other_in_order_and_only_a_one_shot_command_cannot_hold() -> None:
    assert [(kind.value, kind in HOLDERS) for kind in sorted(SessionKind, key=lambda kind: kind.rank)] == [
        ("human_cli", False),
        ("named", True),
        ("mcp_harness", True),
        ("human_guardian", True),
    ]
