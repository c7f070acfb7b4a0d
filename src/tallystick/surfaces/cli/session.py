"""One run of `tally`: its global options, who calls, the way to the hub, and what only the command line refuses.

A command's calls go through a running hub and in this process when there is none (`client.nearest`). The way is found
when the first operation needs it. Commands about the store itself (export, import, backup, rebuild, doctor) always work
in this process: they ask for `hub`.
"""

from __future__ import annotations

import os
import select
import signal
from functools import cached_property

from tallystick.commandline import output
from tallystick.commandline.command import Invocation
from tallystick.kernel.errors import Conflict, InvalidInput, NoRoomHere, NotFound, Refused
from tallystick.kernel.hints import CommandLine, said, step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import FrameType, TracebackType
    from typing import Any, TypeVar

    from tallystick.client.nearest import Nearest, Stop
    from tallystick.hub.hub import Hub
    from tallystick.hub.settings import Settings
    from tallystick.kernel.caller import Caller
    from tallystick.kernel.operation import Answer, Ask

    AnswerT = TypeVar("AnswerT", bound=Answer)

CAUGHT = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class StopSignal:
    """Ends a wait once a signal came. As a context it takes the place of the handlers."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._before: dict[signal.Signals, Any] = {}
        self._came, self._told = os.pipe()

    def __enter__(self) -> StopSignal:
        self._before = {each: signal.signal(each, self._note) for each in CAUGHT}
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)
        os.close(self._came)
        os.close(self._told)

    def _note(self, number: int, _: FrameType | None) -> None:
        if self.signal is None:
            self.signal = number
            os.write(self._told, b"!")

    def fileno(self) -> int:
        """Readable once a signal came: a handler alone would not end a system call that waits."""
        return self._came

    def stopped(self) -> bool:
        return self.signal is not None

    def waiting(self, elapsed: float, total: float) -> None:
        pass

    def pause(self, seconds: float) -> None:
        select.select([self._came], [], [], seconds)


ANSWER_SECONDS = 30.0
"""A hub that takes longer than this does not answer at all; the call is then done without it."""


class CallReply:
    """An operation's answer as JSON, and as the struct of its contract for those who ask for it.

    Loading msgspec and a contract takes as long as half of `tally --help`. The commands that people and hooks run most
    (`state`, `note`, `messages inbox`, and the room that every command begins with) read the plain data instead.
    """

    __slots__ = ("data",)

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    def read(self, *kinds: type[AnswerT]) -> AnswerT:
        """The answer as its struct; several where it may be one of several, which its tag tells apart."""
        from tallystick.kernel.operation import as_one_of

        return as_one_of(kinds, self.data)


class Session(Invocation):
    def __init__(self, *, command: str = "", as_json: bool = False) -> None:
        super().__init__(command=command, as_json=as_json)
        self._line: Nearest | None = None
        self._guards = False
        self._named_room: str | None = None
        """The room, where it was named and not found from a path."""
        self._notices: Sequence[str] = ()
        """What stands beside the last answer."""

    @property
    def spelling(self) -> CommandLine:
        """How a next step is typed by whoever typed this command."""
        given = {"--as": self.agent, "--data-dir": self.data_dir}
        options = {flag: value for flag, value in given.items() if value}
        return CommandLine(options, self._named_room, self._is_person)

    def _is_person(self) -> bool:
        from tallystick.kernel.caller import is_person

        try:
            return is_person(self.caller.agent_id)
        except Refused:  # A name that is none: its refusal is what is being shown.
            return False

    def typed(self, operation: str, **given: object) -> str:
        """The line that calls an operation, for a sentence about what to do next."""
        return said(step(operation, **given), self.spelling)

    @cached_property
    def settings(self) -> Settings:
        from pathlib import Path

        from msgspec import structs

        from tallystick.hub.settings import Settings

        found = Settings.of(os.environ)
        return structs.replace(found, data_dir=Path(self.data_dir).expanduser()) if self.data_dir else found

    @cached_property
    def caller(self) -> Caller:
        """Whom this process speaks for. A hub finds the same by looking at it."""
        from tallystick.harnesses import identity

        return identity.of_this_process(self.agent)

    def act_as(self, agent: str) -> None:
        """Speak for this agent from here on."""
        self.agent = agent
        self.__dict__.pop("caller", None)
        self._hang_up()

    def guard(self) -> None:
        """From here on what is held is held by this very process, so that the others know at once when it is gone."""
        self._guards = True
        self._hang_up()

    @property
    def line(self) -> Nearest:
        """The way to the hub, or to the store where none runs."""
        if self._line is None:
            from tallystick.client.nearest import Nearest

            self._line = Nearest(
                data_dir=self.data_dir,
                agent=self.agent,
                patience=0,
                seconds=ANSWER_SECONDS,
                guardian=self._guards,
            )
        return self._line

    @property
    def hub(self) -> Hub:
        """A hub of this process, on a store that is created when there is none."""
        return self.line.direct.hub

    @property
    def existing_hub(self) -> Hub:
        if not self.has_store:
            raise NoStore(f"There is no store in {self.settings.data_dir} yet.")
        return self.hub

    @property
    def has_store(self) -> bool:
        return self.settings.has_store

    def close(self) -> None:
        for notice in self._notices:
            output.remark(f"notice: {said(notice, self.spelling)}")
        self._notices = ()
        self._hang_up()

    def drop_notices(self) -> None:
        """For whoever did not ask for an answer, and is told nothing beside it."""
        self._notices = ()

    def call(self, name: str, given: Mapping[str, object], stop: Stop | None = None) -> CallReply:
        answered = self.line.ask(name, given, stop=stop)
        self._notices = answered.notices
        return CallReply(answered.data)

    def ask(self, name: str, asked: Ask, answer: type[AnswerT]) -> AnswerT:
        """The same with types: for commands that go on with an answer and do not show it."""
        return self.call(name, asked.present()).read(answer)

    def room(self, path: str | None, room_id: str | None) -> str:
        """The room somebody means: the named one, or the deepest on the way from the path to its workspace's root."""
        if room_id is not None:
            if path is not None:
                raise Usage("Give a PATH or --room, not both.")
            from tallystick.surfaces.cli import short_ids  # Here: most commands find their room from a path.

            self._named_room = short_ids.room(self, room_id)
            return self._named_room
        here = absolute(path)
        found = self.call("rooms.list", {"context_path": here, "limit": 1}).data["rooms"]
        if not found:
            raise NoRoomHere(f"There is no room for {here} yet.", context_path=here)
        return found[0]["room_id"]

    def _hang_up(self) -> None:
        if self._line:
            self._line.close()
            self._line = None


def absolute(path: str | None) -> str:
    """An absolute path with its `..` and links left alone: where they lead is for the hub to find out."""
    try:
        here = os.getcwd()  # noqa: PTH109 - pathlib is slow to import
    except FileNotFoundError:
        raise FileUnusable("The current directory does not exist any more.") from None
    whole = os.path.join(here, path) if path else here  # noqa: PTH118
    return "/" + "/".join(part for part in whole.split("/") if part not in {"", "."})


class Usage(InvalidInput):
    """The command line cannot be understood."""

    hint = "See `tally --help`."


class NoStore(NotFound):
    """There is no store yet."""

    hint = "The first `tally join` creates it; --data-dir or TALLYSTICK_DATA_DIR point at another one."


class FileUnusable(InvalidInput):
    """The file cannot be used."""

    hint = "Name a file in a folder that exists and that you may write to or read from."


class TakeoverNeeded(Conflict):
    """The stick will not come by waiting: whoever has or expects it failed."""

    hint = 'Take it over on purpose: `tally hold --takeover "why"`.'


class NoHandoff(Conflict):
    """`tally hold` ended without a handoff; the others may take the stick over at once."""

    hint = "Answer its questions on Ctrl-C, or start it with --status and --next-action."
