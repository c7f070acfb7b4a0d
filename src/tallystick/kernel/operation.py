"""How an operation is declared. Every surface, the reference and the parity test are derived from these declarations.

An operation is `(tx, me, ask) -> answer`: one transaction, one caller, one typed input. It never opens a transaction,
reads a clock or knows which surface called it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Generic, TypeAlias, TypeVar, cast, get_args, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, TypeAdapter, WithJsonSchema

from tallystick.kernel.caller import Process
from tallystick.kernel.clock import Instant, from_wire, to_wire
from tallystick.kernel.errors import Refused

_NAME = re.compile(r"[a-z]+(\.[a-z_]+){1,2}")


class Ask(BaseModel):
    """The input of an operation. Unknown fields are refused; nothing is coerced from a wrong type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class Answer(BaseModel):
    """The result of an operation."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    def to_json(self) -> bytes:
        """The answer as every surface that speaks JSON gives it."""
        return self.__pydantic_serializer__.to_json(self)


Moment: TypeAlias = Annotated[
    int,
    BeforeValidator(lambda given: from_wire(given) if isinstance(given, str) else given),
    PlainSerializer(to_wire, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""An instant inside, an ISO-8601 time in the answer."""

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Unannounced:
    """What changes the answer of a wait without anything being written, so that it wakes nobody."""

    moment: Instant | None = None
    process_ends: Process | None = None
    every_ms: int = 250
    """How long to go without checking whether it has come."""


@dataclass(frozen=True, slots=True)
class Pending(Generic[A]):
    """Nothing to answer yet: look again at every wake, when `until` has come, and in the end; then give `otherwise`.

    With `act` the operation found something to do and asks to be run again at once in a write transaction. With
    `next_in_line` it will find something at one of the next wakes, before anybody else does.
    """

    otherwise: A
    wait_ms: int = 0
    until: Unannounced = Unannounced()
    act: bool = False
    next_in_line: bool = False


@dataclass(frozen=True, slots=True)
class Declined:
    """A refusal that leaves something on the ledger: what was appended is committed, then the refusal is raised."""

    refusal: Refused


@dataclass(frozen=True, kw_only=True)
class Attendance:
    """What a wait writes once before its first look and once when it is over, however it ends."""

    wanted: Callable[..., bool]
    """`(ask) -> bool`: whether this wait is one that has to be attended."""
    begin: Callable[..., str]
    """`(tx, me, ask) -> token`; may refuse."""
    end: Callable[..., None]
    """`(tx, me, ask, token)`."""


@dataclass(frozen=True)
class Operation:
    name: str
    run: Callable[..., object]
    writes: bool = False
    waits: bool = False
    """Returns `Pending` while there is nothing to answer; its input has a `room_id` to watch."""
    attendance: Attendance | None = None
    prepare: Callable[..., object] | None = None
    """Slow look-ups (the file system) done before the transaction opens; `run` gets the result as a fourth argument."""
    survey: Callable[..., object] | None = None
    """`(tx, caller, ask)`: a short read that tells `prepare` where to look. `prepare` gets it as a second argument and
    calls it, if it has anything to look for."""
    also_locks: Callable[..., tuple[str, ...]] | None = None
    """`(ask)`: the rooms besides its own that a write may touch."""
    short: str = ""
    """The everyday CLI command, where there is one."""
    examples: tuple[Mapping[str, object], ...] = field(default=())

    @cached_property
    def noun(self) -> str:
        return self.name.partition(".")[0]

    @cached_property
    def takes_room(self) -> bool:
        return "room_id" in self.ask.model_fields

    @property
    def verb(self) -> str:
        return self.name.partition(".")[2]

    @cached_property
    def doc(self) -> str:
        return inspect.cleandoc(self.run.__doc__ or "")

    @cached_property
    def summary(self) -> str:
        return self.doc.split("\n\n")[0].replace("\n", " ")

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self.run)

    @cached_property
    def ask(self) -> type[Ask]:
        return cast("type[Ask]", self._hints["ask"])

    @cached_property
    def answer(self) -> object:
        """The answer's type: a model or a union of models; `Pending` and `Declined` are not part of it."""
        hint = self._hints["return"]
        other = (Pending, Declined)
        kept = [part for part in get_args(hint) or (hint,) if getattr(part, "__origin__", part) not in other]
        union = kept[0]
        for part in kept[1:]:
            union |= part
        return union

    def read_answer(self, text: str) -> Answer:
        """An answer as it was written to JSON."""
        return cast("Answer", TypeAdapter(cast("Any", self.answer)).validate_json(text))


Run = TypeVar("Run", bound=Callable[..., object])


def operation(
    name: str,
    *,
    writes: bool = False,
    waits: bool = False,
    attendance: Attendance | None = None,
    prepare: Callable[..., object] | None = None,
    survey: Callable[..., object] | None = None,
    also_locks: Callable[..., tuple[str, ...]] | None = None,
    short: str = "",
    examples: tuple[Mapping[str, object], ...] = (),
) -> Callable[[Run], Operation]:
    """Declare an operation under the one name it has on every surface."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name} is not noun.verb")

    def declare(run: Run) -> Operation:
        if not run.__doc__:
            raise ValueError(f"{name} needs a docstring: it is what users and agents read")
        return Operation(
            name,
            run,
            writes=writes,
            waits=waits,
            attendance=attendance,
            prepare=prepare,
            survey=survey,
            also_locks=also_locks,
            short=short,
            examples=examples,
        )

    return declare
