"""Everything Tallystick can answer instead of a result.

TallyError
├── Refused            the caller can act on it
│   ├── InvalidInput   the request itself is wrong
│   ├── NotFound       it names something that is not there
│   ├── NotAllowed     this caller may not do that
│   └── Conflict       not in the present state
├── Unavailable        nothing was wrong with the request; try again
└── Fault              a bug of ours, or a damaged store

A class's code is its name in snake case, its docstring is the default message, and every class has a hint.
Here stands what more than one surface or capability says; what only one says is declared beside it. Who knows better
what to do next passes a hint of its own. A hint names a call as `step("jobs.list")` of `kernel/hints.py`, and each
surface says it in its own words; `tally up` and the like, which only a terminal has, stand in it as they are typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from tallystick.kernel import hints
from tallystick.kernel.hints import Spelling, step

if TYPE_CHECKING:
    from collections.abc import Iterable


class TallyError(Exception):
    """Something went wrong."""

    code: ClassVar[str] = "tally_error"
    hint: ClassVar[str] = ""
    retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str | None = None,
        *,
        hint: str | None = None,
        details: Mapping[str, object] | None = None,
        **more: object,
    ) -> None:
        self.message = message or " ".join((type(self).__doc__ or "").split())
        self.declared = hint or self.hint
        """The hint with its steps as they were declared."""
        self.asked: Mapping[str, object] = {}
        """The input of the call that was refused: a hint may need a part of it."""
        self.details: Mapping[str, object] = {**(details or {}), **more}
        super().__init__(self.message)

    @property
    def advice(self) -> str:
        """The hint for those who call operations by their names."""
        return self.advice_in(hints.operation)

    def advice_in(self, spelling: Spelling | None) -> str:
        """The hint in the words of a surface."""
        return hints.said(self.declared, spelling, {**self.asked, **self.details})

    def payload(self, spelling: Spelling | None = hints.operation) -> dict[str, object]:
        """The refusal as a surface shows it."""
        return {
            "code": self.code,
            "message": self.message,
            "hint": self.advice_in(spelling),
            "retryable": self.retryable,
            "details": dict(self.details),
        }

    def __init_subclass__(cls) -> None:
        if "code" not in cls.__dict__:
            cls.code = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()

    def __reduce__(self) -> tuple[object, ...]:
        return _revive, (type(self), self.message, self.declared, dict(self.details))


def _revive(kind: type[TallyError], message: str, hint: str, details: dict[str, object]) -> TallyError:
    return kind(message, hint=hint, details=details)


def every_error(kind: type[TallyError] = TallyError) -> Iterator[type[TallyError]]:
    """All leaf errors below `kind`, for the reference and for the tests that push each through each surface."""
    below = kind.__subclasses__()
    if not below:
        yield kind
    for child in below:
        yield from every_error(child)


class Refused(TallyError):
    """The request was refused."""


class InvalidInput(Refused):
    """The request is not valid."""


class NotFound(Refused):
    """There is no such thing."""


class NotAllowed(Refused):
    """This caller may not do that."""


class Conflict(Refused):
    """That is not possible in the present state."""


class Unavailable(TallyError):
    """Tallystick cannot answer right now."""

    retryable = True


class Fault(TallyError):
    """Tallystick hit a bug of its own or a damaged store."""


class InvalidField(InvalidInput):
    """A field of the request has a wrong value."""

    code: ClassVar[str] = "invalid_input"
    hint = "Correct the field named in the message and send the request again."


class UnknownField(InvalidInput):
    """The request has a field that this operation does not know."""

    hint = "Use the name that the message suggests, or leave the field out."


class TooLarge(InvalidInput):
    """The request is larger than allowed."""

    hint = "Shorten it below the limit named in the message; put long content into a file and point at it."


class ReservedName(InvalidInput):
    """That name belongs to another kind of principal: `user`, `system`, `svc:…` and `human:…` are reserved."""

    hint = "Choose a name of your own, such as builder-1."


class UnknownOperation(NotFound):
    """There is no operation of that name."""

    hint = f"{step('hub.capabilities')} lists the operations."


class NoRoomHere(NotFound):
    """There is no room for this path yet."""

    hint = f"Open one with {step('rooms.join')}, or name another: {step('rooms.list')} lists them."


class RouteNotFound(NotFound):
    """There is nothing at that address."""

    hint = "GET /v1/openapi.json lists every address."


class ForeignUser(NotAllowed):
    """The hub's sockets answer only to the user that runs the hub."""

    hint = "Connect as that user, or over TCP with a token (`tally token issue`)."


class TooSlow(Unavailable):
    """This reader fell too far behind and was cut off."""

    hint = "Connect again and go on from your cursor (Last-Event-ID in a browser): nothing is lost."


class HubClosed(Unavailable):
    """The hub is shutting down."""

    hint = "Try again; another hub or a direct call will answer."


class InternalFault(Fault):
    """An unexpected error happened inside Tallystick; what was asked for may have been done or not."""

    hint = "Look before you repeat it. Run `tally doctor`; if it finds nothing, report this with the log's traceback."


def nearest(given: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The known name that is most like the given one; None where none is near."""
    import difflib  # Here: only a misspelt name needs it.

    near = difflib.get_close_matches(given, list(known), n=1, cutoff=cutoff)
    return near[0] if near else None


def did_you_mean(given: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """` Did you mean '…'?` to be put behind a message, or nothing where no known name is near."""
    near = nearest(given, known, cutoff=cutoff)
    return f" Did you mean '{near}'?" if near else ""
