"""The declaration of an operation."""

from __future__ import annotations

import pytest

from tallystick.kernel.caller import Caller
from tallystick.kernel.operation import Answer, Ask, Pending, Reach, operation


class Question(Ask):
    text: str


class Reply(Answer):
    text: str


class Silence(Answer):
    pass


def answered(tx: object, me: Caller, ask: Question) -> Reply | Silence | Pending[Reply]:
    """Answer a question in time.

    Or not at all.
    """
    return Reply(text=ask.text)


def test_everything_a_surface_needs_is_read_from_the_function() -> None:
    declared = operation("questions.ask", reach=Reach.READ, waits=True, short="ask")(answered)
    assert (declared.noun, declared.verb, declared.ask) == ("questions", "ask", Question)
    assert declared.answer == Reply | Silence
    assert declared.summary == "Answer a question in time."
    assert declared.doc == "Answer a question in time.\n\nOr not at all."


@pytest.mark.parametrize("name", ["ask", "Questions.ask", "questions.", "questions.ask now", "a.b.c.d", "a.b-c"])
def test_a_name_is_a_noun_and_a_verb(name: str) -> None:
    with pytest.raises(ValueError, match=r"is not noun\.verb"):
        operation(name, reach=Reach.READ)


def test_an_operation_without_a_docstring_cannot_be_declared() -> None:
    def silent(tx: object, me: Caller, ask: Question) -> Reply:
        return Reply(text=ask.text)

    with pytest.raises(ValueError, match="needs a docstring"):
        operation("questions.ask", reach=Reach.READ)(silent)
