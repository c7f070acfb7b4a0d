"""Calls with a contract's own structs: an input goes out as the operation takes it, the answer comes back typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeVar

import msgspec
from msgspec import NODEFAULT, structs

from tallystick.client.calls import NoAnswer
from tallystick.kernel.operation import Answer, Ask, as_record

AnswerT = TypeVar("AnswerT", bound=Answer)


class OperationCaller(Protocol):
    """Any way to call an operation: `Client`, `Nearest`, or a test's own."""

    def call(self, operation: str, /, **given: object) -> dict[str, object]: ...


def call(client: OperationCaller, operation: str, ask: Ask, answer: type[AnswerT]) -> AnswerT:
    """The operation's answer; raises the hub's own refusal."""
    return read(client.call(operation, **given(ask)), answer)


def read(data: Mapping[str, object], answer: type[AnswerT]) -> AnswerT:
    """Plain data of a hub as the answer that it is."""
    try:
        return as_record(answer, data)
    except msgspec.ValidationError as wrong:
        raise NoAnswer(f"What came back is no {answer.__name__}: {wrong}.") from wrong


def given(ask: Ask) -> dict[str, object]:
    """The fields of an input but those left at their default, which a hub of another version may not know."""
    plain = ask.to_data()
    return {
        field.encode_name: plain[field.encode_name]
        for field in structs.fields(ask)
        if field.encode_name in plain and (field.required or getattr(ask, field.name) != _default(field))
    }


def _default(field: structs.FieldInfo) -> object:
    return field.default_factory() if field.default_factory is not NODEFAULT else field.default
