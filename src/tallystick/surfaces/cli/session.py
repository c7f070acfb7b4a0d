"""One run of `tally`: its global options, who calls, and the hub, opened when the first operation needs it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tallystick.commandline import output
from tallystick.commandline.invocation import Invocation
from tallystick.kernel.errors import NoRoomHere
from tallystick.surfaces.cli.errors import FileUnusable, NoStore, Usage

if TYPE_CHECKING:
    from tallystick.hub.hub import Hub, Interest
    from tallystick.hub.settings import Settings
    from tallystick.kernel.caller import Caller

V = TypeVar("V")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An operation's answer as JSON, readable as whatever part of it a command shows."""

    data: dict[str, object]

    def view(self, kind: type[V]) -> V:
        import msgspec

        return msgspec.convert(self.data, kind)


class Session(Invocation):
    def __init__(self, *, command: str = "", as_json: bool = False) -> None:
        super().__init__(command=command, as_json=as_json)
        self._hub: Hub | None = None
        self._notices: Sequence[str] = ()
        """What stands beside the last answer."""

    @cached_property
    def settings(self) -> Settings:
        from tallystick.hub.settings import Settings

        found = Settings.of(os.environ)
        return replace(found, data_dir=Path(self.data_dir).expanduser()) if self.data_dir else found

    @cached_property
    def caller(self) -> Caller:
        from tallystick.harnesses import identity, processes

        pid = os.getpid()
        return identity.resolve(
            os.environ, pid=pid, user=user(), tty=processes.terminal(pid), surface="cli", explicit=self.agent
        )

    def act_as(self, agent: str) -> None:
        """Speak for this agent from here on."""
        self.agent = agent
        self.__dict__.pop("caller", None)

    @property
    def hub(self) -> Hub:
        """The hub, on a store that is created when there is none."""
        if self._hub is None:
            from tallystick.hub.hub import Hub

            self._hub = Hub.open(self.settings)
        return self._hub

    @property
    def existing_hub(self) -> Hub:
        if not self.has_store:
            raise NoStore(f"There is no store in {self.settings.data_dir} yet.")
        return self.hub

    @property
    def has_store(self) -> bool:
        from tallystick.hub import diagnosis

        return diagnosis.has_store(self.settings)

    def close(self) -> None:
        for notice in self._notices:
            output.remark(f"notice: {notice}")
        self._notices = ()
        if self._hub:
            self._hub.close()
            self._hub = None

    def call(self, name: str, given: Mapping[str, object], interest: Interest | None = None) -> Reply:
        from tallystick.hub import registry
        from tallystick.hub.engine import Request
        from tallystick.hub.tokens_reach import Visitor

        operation, caller = registry.find(name), self.caller
        if operation.writes or self.has_store:
            visitor = Visitor(caller=caller, trusted=True)
            asked = Request(visitor=visitor, operation=name, given=given, with_notices=True)
            response = self.hub.respond(asked, interest)
            answer, self._notices = response.answer, response.notices
        else:
            from tallystick.hub import diagnosis

            # Reading creates nothing: a store that is not there reads like an empty one.
            with diagnosis.empty_hub() as empty:
                answer = empty.call(name, given, caller, interest)
        return Reply(data=answer.model_dump(mode="json"))

    def room(self, path: str | None, room_id: str | None) -> str:
        """The room somebody means: the named one, or the deepest on the way from the path to its workspace's root."""
        if room_id is not None:
            if path is not None:
                raise Usage("Give a PATH or --room, not both.")
            return room_id
        from tallystick.surfaces.cli.views import Rooms

        here = absolute(path)
        found = self.call("rooms.list", {"context_path": here, "limit": 1}).view(Rooms).rooms
        if not found:
            raise NoRoomHere(f"There is no room for {here} yet.", context_path=here)
        return found[0].room_id


def user() -> str:
    from getpass import getuser

    try:
        return getuser()
    except (KeyError, OSError):  # A user without an account, as in many containers.
        return str(os.getuid())


def absolute(path: str | None) -> str:
    """An absolute path with its `..` and links left alone: where they lead is for the hub to find out."""
    try:
        return str(Path.cwd() / (path or ""))
    except FileNotFoundError:
        raise FileUnusable("The current directory does not exist any more.") from None
