"""Everything that can be answered instead of a result: its code, its words, and that it survives a process boundary."""

from __future__ import annotations

import pickle
import re
from functools import cache

import pytest

from tallystick.kernel.errors import (
    Fault,
    InvalidField,
    InvalidInput,
    NotAllowed,
    NotFound,
    Refused,
    Unavailable,
)
from tallystick.surfaces.cli.reference import every_error

errors = cache(every_error)
"""Every error of the package, whichever module declares it."""
SAME_FACT = {
    "another user's process at a socket of the hub": ("foreign_user", "strange_user"),
    "a reader that fell behind": ("too_slow", "peer_too_slow"),
    "a hub that is about to stop": ("hub_closed", "hub_leaving"),
    "a name that is no agent's of this room": ("agent_not_found", "unknown_agent"),
    "a name that is no operation's": ("unknown_operation", "unknown_type"),
    "an address with nothing behind it": ("route_not_found", "page_not_found"),
}
"""What two surfaces once answered under two codes: the code it has, and the one that is gone."""


def test_every_error_says_what_happened_in_one_line() -> None:
    sentence = re.compile(r"[^\n]+[.!]")
    assert [error.__name__ for error in errors() if not sentence.fullmatch(error().message)] == []


def test_every_error_has_a_hint_that_says_what_to_do_next() -> None:
    assert [error.__name__ for error in errors() if not error.hint or error.hint == error().message] == []


def test_every_code_is_snake_case_and_means_one_thing() -> None:
    odd = [error.code for error in errors() if not re.fullmatch(r"[a-z]+(_[a-z]+)*", error.code)]
    meanings: dict[str, set[str]] = {}
    for error in errors():
        meanings.setdefault(error.code, set()).add(f"{error.__module__}.{error.__name__}")
    assert (odd, {code: names for code, names in meanings.items() if len(names) > 1}) == ([], {})


def test_no_two_codes_say_the_same() -> None:
    codes: dict[str, set[str]] = {}
    for error in errors():
        codes.setdefault(error().message, set()).add(error.code)
    assert {message: said for message, said in codes.items() if len(said) > 1} == {}


@pytest.mark.parametrize(("code", "gone"), SAME_FACT.values(), ids=SAME_FACT)
def test_one_fact_has_one_code(code: str, gone: str) -> None:
    assert {code, gone} & {error.code for error in errors()} == {code}


def test_every_error_is_a_refusal_unavailability_or_a_fault() -> None:
    kinds = {error: [issubclass(error, kind) for kind in (Refused, Unavailable, Fault)] for error in errors()}
    assert [error.__name__ for error, kind in kinds.items() if kind.count(True) != 1] == []


def test_what_is_unavailable_is_worth_retrying_and_what_is_wrong_is_not() -> None:
    hopeless = (InvalidInput, NotFound, NotAllowed, Fault)
    assert [error.__name__ for error in errors() if issubclass(error, Unavailable) and not error.retryable] == []
    assert [error.__name__ for error in errors() if issubclass(error, hopeless) and error.retryable] == []


def test_every_error_survives_a_process_boundary() -> None:
    for error in errors():
        raised = error("Words.", hint="Do that.", field="name", details={"message": 1, "self": 2})
        revived = pickle.loads(pickle.dumps(raised))
        assert (type(revived), revived.payload()) == (error, raised.payload())


def test_a_refusal_has_one_shape_everywhere() -> None:
    assert InvalidField("That is wrong.", field="name").payload() == {
        "code": "invalid_input",
        "message": "That is wrong.",
        "hint": "Correct the field named in the message and send the request again.",
        "retryable": False,
        "details": {"field": "name"},
    }
