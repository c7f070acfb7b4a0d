"""How an operation is declared. Every surface, the reference and the parity test are derived from these declarations.

An operation is `(tx, me, ask) -> answer`: one transaction, one caller, one typed input. It never opens a transaction,
reads a clock or knows which surface called it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Container, Mapping
from enum import StrEnum
from functools import cached_property
from typing import (
    Any,
    ClassVar,
    Concatenate,
    Generic,
    Self,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_type_hints,
    overload,
)

import msgspec

from tallystick.kernel.caller import Caller, Process
from tallystick.kernel.clock import Instant, from_wire, to_wire
from tallystick.kernel.errors import Refused
from tallystick.kernel.json_values import is_list

_NAME = re.compile(r"[a-z]+(\.[a-z_]+){1,2}")


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class RecordMeta(msgspec.StructMeta):
    """Fields are given by name in every subclass; msgspec itself does not inherit this setting."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **settings: Any) -> type:
        settings.setdefault("kw_only", True)
        return super().__new__(cls, name, bases, namespace, **settings)


class Custom:
    """A value with a JSON form of its own, beside what msgspec knows."""

    __slots__ = ()

    @classmethod
    def from_plain(cls, given: object) -> Self:
        """Read it; `TypeError` or `ValueError` says why not, and msgspec adds where."""
        raise NotImplementedError

    def to_plain(self) -> object:
        raise NotImplementedError

    @classmethod
    def json_schema(cls) -> dict[str, object]:
        raise NotImplementedError


class Moment(int, Custom):
    """An instant inside (milliseconds), an ISO-8601 time in the answer."""

    __slots__ = ()

    @classmethod
    def from_plain(cls, given: object) -> Self:
        if not isinstance(given, str | int):
            raise TypeError("Expected a time")
        return cls(from_wire(given) if isinstance(given, str) else given)

    def to_plain(self) -> str:
        return to_wire(self)

    @classmethod
    def json_schema(cls) -> dict[str, object]:
        return {"type": "string", "format": "date-time"}


@overload
def moment(at: Instant) -> Moment: ...
@overload
def moment(at: Instant | None) -> Moment | None: ...
def moment(at: Instant | None) -> Moment | None:
    return None if at is None else Moment(at)


class Record(msgspec.Struct, metaclass=RecordMeta, frozen=True):
    """A typed value that crosses a surface as JSON."""

    def to_json(self) -> bytes:
        """The value as every surface that speaks JSON gives it."""
        return _ENCODER.encode(self)

    def to_data(self, *, without: Container[str] = ()) -> dict[str, Any]:
        """The value as plain dicts, lists, texts and numbers."""
        whole: dict[str, Any] = msgspec.to_builtins(self, enc_hook=to_plain, str_keys=True)
        return {name: each for name, each in whole.items() if name not in without} if without else whole

    def present(self, *, without: Container[str] = ()) -> dict[str, Any]:
        """The fields that have a value, in the records within likewise."""
        given = ((name, getattr(self, name)) for name in self.__struct_fields__ if name not in without)
        tag = {self.__struct_config__.tag_field: self.__struct_config__.tag} if self.__struct_config__.tag_field else {}
        return {**tag, **{name: _present(each) for name, each in given if each is not None}}


class Reach(StrEnum):
    """How far a token's holder may go in the rooms it sees; each reach includes those before it."""

    READ = "read"
    """Look at everything, change nothing."""
    SPEAK = "speak"
    """Join, write messages and notes, acknowledge."""
    WORK = "work"
    """Hold the stick, reserve paths, give and take work."""
    MANAGE = "manage"
    """Decide for everybody: close a room, set its policy and order, remove members, give roles."""

    def includes(self, needed: Reach) -> bool:
        return _REACHES.index(self) >= _REACHES.index(needed)


_REACHES = tuple(Reach)


class Ask(Record, frozen=True, forbid_unknown_fields=True):
    """The input of an operation. Unknown fields are refused; nothing is coerced from a wrong type."""

    rooms: ClassVar[tuple[str, ...]] = ("room_id",)
    """The fields that name a room, where the input has them: through each a token for one room reaches only that."""
    reaches: ClassVar[Mapping[str, Reach]] = {}
    """The fields that ask for more than the operation itself does, with the reach each needs when it is given."""
    own_rooms: ClassVar[bool] = False
    """Lists rooms, and whoever has a token for one is shown that one; it need not be named."""


class Answer(Record, frozen=True):
    """The result of an operation."""


def _present(value: object) -> object:
    if isinstance(value, Record):
        return value.present()
    if is_list(value):
        return [_present(each) for each in value]
    return msgspec.to_builtins(value, enc_hook=to_plain, str_keys=True)


def to_plain(value: object) -> object:
    """Msgspec's `enc_hook`."""
    if isinstance(value, Custom):
        return value.to_plain()
    raise TypeError(f"{type(value).__name__} is not JSON")


def from_plain(kind: type[Custom], given: object) -> object:
    """Msgspec's `dec_hook`."""
    return kind.from_plain(given)


JsonObject: TypeAlias = dict[str, Any]
"""Any JSON object; msgspec takes `Any` for whatever JSON can say and `object` for a type of its own."""

_ENCODER = msgspec.json.Encoder(enc_hook=to_plain)
R = TypeVar("R")


def as_record(kind: type[R], given: object) -> R:
    """Plain data as the value that it describes; `msgspec.ValidationError` if it describes none."""
    return msgspec.convert(given, kind, dec_hook=from_plain)


def as_one_of(kinds: tuple[type[R], ...], given: object) -> R:
    """Plain data as one of several values, which their tags tell apart."""
    return msgspec.convert(given, Union[kinds], dec_hook=from_plain)  # noqa: UP007 - made of a tuple


def from_attributes(kind: type[R], thing: object) -> R:
    """The record whose fields are attributes of a thing."""
    return msgspec.convert(thing, kind, from_attributes=True, dec_hook=from_plain)


def as_ask(kind: type[R], given: Mapping[str, object]) -> R:
    """Untrusted input likewise: it must also be text that can be encoded, which one half of a surrogate pair cannot."""
    try:
        msgspec.json.encode(given)
    except UnicodeEncodeError as wrong:
        raise msgspec.ValidationError(f"Not Unicode text: {wrong.reason}") from wrong
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass  # What else JSON cannot say is refused where it would be stored, with the field's name.
    return as_record(kind, given)


NO_NUL = r"\A[^\0]*\Z"
"""The rule of text that is stored by itself; it is told in words and left out of schemas."""

A_co = TypeVar("A_co", covariant=True)


class Unannounced(msgspec.Struct, frozen=True):
    """What changes the answer of a wait without anything being written, so that it wakes nobody."""

    moment: Instant | None = None
    process_ends: Process | None = None
    every_ms: int = 250
    """How long to go without checking whether it has come."""


class Pending(msgspec.Struct, Generic[A_co], frozen=True):
    """Nothing to answer yet: look again at every wake, when `until` has come, and in the end; then give `otherwise`.

    With `act` the operation found something to do and asks to be run again at once in a write transaction. With
    `next_in_line` it will find something at one of the next wakes, before anybody else does.
    """

    otherwise: A_co
    wait_ms: int = 0
    until: Unannounced = Unannounced()
    act: bool = False
    next_in_line: bool = False


class Declined(msgspec.Struct, frozen=True):
    """A refusal that leaves something on the ledger: what was appended is committed, then the refusal is raised."""

    refusal: Refused


AskT = TypeVar("AskT", bound=Ask)
AnswerT = TypeVar("AnswerT", bound=Answer)
Transaction: TypeAlias = Any
"""`ledger.tx.Tx`, which stands above the kernel."""


class WaitHooks(msgspec.Struct, Generic[AskT], frozen=True, kw_only=True):
    """What a wait writes once before its first read and once when it is over, however it ends."""

    applies: Callable[[AskT], bool]
    """Whether this wait is one that writes."""
    begin: Callable[[Transaction, Caller, AskT], str]
    """Its result is given to `end`; it may refuse."""
    end: Callable[[Transaction, Caller, AskT, str], None]


class TakesNote(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller has taken note of by an operation's answer, which is written down once: `(tx, me, ask)`."""

    due: Callable[[Transaction, Caller, Any], bool]
    note: Callable[[Transaction, Caller, Any], None]


class Operation(msgspec.Struct, Generic[AskT, AnswerT], frozen=True, eq=False, dict=True):
    name: str
    run: Callable[Concatenate[Transaction, Caller, AskT, ...], AnswerT | Pending[AnswerT] | Declined]
    reach: Reach
    """What a token must allow for this to be called with it."""
    writes: bool = False
    waits: bool = False
    """Returns `Pending` while there is nothing to answer; its input has a `room_id` to watch."""
    wait_hooks: WaitHooks[AskT] | None = None
    takes_note: TakesNote | None = None
    io_before: Callable[..., object] | None = None
    """`(ask)`: slow reads outside the store (the file system), done before the transaction opens; `run` gets the result
    as a fourth argument."""
    read_before: Callable[[Transaction, Caller, AskT], object] | None = None
    """A short read of the store for `io_before`, which gets it as a second argument and calls it if it needs it."""
    also_locks: Callable[[AskT], tuple[str, ...]] | None = None
    """The rooms besides its own that a write may touch."""
    short: str = ""
    """The everyday CLI command, where there is one."""
    examples: tuple[Mapping[str, object], ...] = ()

    @cached_property
    def noun(self) -> str:
        return self.name.partition(".")[0]

    @cached_property
    def takes_room(self) -> bool:
        return "room_id" in self.ask.__struct_fields__

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
    def ask(self) -> type[AskT]:
        return self._hints["ask"]

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

    def read_answer(self, text: str) -> AnswerT:
        """An answer as it was written to JSON."""
        return msgspec.json.decode(text, type=cast("type[AnswerT]", self.answer), dec_hook=from_plain)


AnyOperation: TypeAlias = Operation[Any, Any]


def operation(
    name: str,
    *,
    reach: Reach,
    writes: bool = False,
    waits: bool = False,
    wait_hooks: WaitHooks[Any] | None = None,
    takes_note: TakesNote | None = None,
    io_before: Callable[..., object] | None = None,
    read_before: Callable[[Transaction, Caller, Any], object] | None = None,
    also_locks: Callable[[Any], tuple[str, ...]] | None = None,
    short: str = "",
    examples: tuple[Mapping[str, object], ...] = (),
) -> Callable[
    [Callable[Concatenate[Transaction, Caller, AskT, ...], AnswerT | Pending[AnswerT] | Declined]],
    Operation[AskT, AnswerT],
]:
    """Declare an operation under the one name it has on every surface."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name} is not noun.verb")

    def declare(
        run: Callable[Concatenate[Transaction, Caller, AskT, ...], AnswerT | Pending[AnswerT] | Declined],
    ) -> Operation[AskT, AnswerT]:
        if not run.__doc__:
            raise ValueError(f"{name} needs a docstring: it is what users and agents read")
        return Operation(
            name,
            run,
            reach=reach,
            writes=writes,
            waits=waits,
            wait_hooks=wait_hooks,
            takes_note=takes_note,
            io_before=io_before,
            read_before=read_before,
            also_locks=also_locks,
            short=short,
            examples=examples,
        )

    return declare
