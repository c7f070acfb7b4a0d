"""Everything that can be answered instead of a result: its code, its words, and that it survives a process boundary."""

from __future__ import annotations

import importlib
import pickle
import pkgutil
import re
from contextlib import suppress
from functools import cache

import tallystick
from tallystick.kernel.errors import (
    Fault,
    InvalidField,
    InvalidInput,
    NotAllowed,
    NotFound,
    Refused,
    TallyError,
    Unavailable,
    every_error,
)


@cache
def errors() -> list[type[TallyError]]:
    """Every error of the package, whichever module declares it."""
    for module in pkgutil.walk_packages(tallystick.__path__, "tallystick."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):  # a module for another system says so when it is imported
                importlib.import_module(module.name)
    return [error for error in every_error() if error.__module__.startswith("tallystick.")]


def test_every_error_says_what_happened_in_one_line() -> None:
    sentence = re.compile(r"[^\n]+[.!]")
    assert [error.__name__ for error in errors() if not sentence.fullmatch(error().message)] == []


def test_every_error_has_a_hint_that_says_what_to_do_next() -> None:
    assert [error.__name__ for error in errors() if not error.hint or error.hint == error().message] == []


def test_every_code_is_snake_case_and_means_one_thing() -> None:
    odd = [error.code for error in errors() if not re.fullmatch(r"[a-z]+(_[a-z]+)*", error.code)]
    meanings: dict[str, set[str]] = {}
    for error in errors():
        meanings.setdefault(error.code, set()).add(error.__name__)
    assert (odd, {code: names for code, names in meanings.items() if len(names) > 1}) == ([], {})


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
