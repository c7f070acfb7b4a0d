"""Follows the ledger, shows what it says, and does what no agent does: cue, kill, and leave a person's note."""

from __future__ import annotations

import getpass
import time
from collections.abc import Iterator

from tallystick.capabilities.agents.events import MemberAdded
from tallystick.capabilities.rooms.contract import Rooms
from tallystick.capabilities.turns.events import StickClaimed, StickReleased, StickTakenOver
from tallystick.demo import script
from tallystick.demo.cast import Cast, StoryFailed
from tallystick.demo.script import Cue
from tallystick.demo.stage import Stage
from tallystick.demo.telling import Seen, Story
from tallystick.demo.workspace import DemoRepository
from tallystick.hub.hub import Hub
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.operation import as_record
from tallystick.ledger.contract import Events

LAST_TURN = 5
_SILENCE_S = 30.0


def keeper() -> Caller:
    """The person at the keyboard."""
    return Caller(agent_id=f"human:{getpass.getuser()}:demo", session=SessionKind.HUMAN_CLI)


class Director:
    def __init__(self, hub: Hub, cast_: Cast, stage: Stage, workspace: DemoRepository) -> None:
        self._hub = hub
        self._cast = cast_
        self._stage = stage
        self._workspace = workspace
        self._me = keeper()
        self.room_id = ""
        self.seen: list[Seen] = []

    def play(self) -> None:
        """See the play through to its last hand-over."""
        self._stage.wait("Three agents start, each with an MCP server of its own.")
        for part in script.CAST:
            self._cast.start(part)
        self._cast.cue("ada")
        self.room_id = self._room()
        story = Story()
        for event in self._events():
            self.seen.append(event)
            if beat := story.tell(event):
                self._stage.show(beat)
            self._react(event)
            if event.kind == StickReleased.kind and event.data["turn_id"] == LAST_TURN:
                return

    def _room(self) -> str:
        """The room that ada opens by joining."""
        until = time.monotonic() + _SILENCE_S
        while time.monotonic() < until:
            found = as_record(Rooms, self._ask("rooms.list", context_path=str(self._workspace.root)))
            if found.rooms:
                return found.rooms[0].room_id
            self._cast.check()
            time.sleep(0.05)
        raise self._cast.failed("ada", "did not open the room")

    def _events(self) -> Iterator[Seen]:
        cursor, heard = 0, time.monotonic()
        while time.monotonic() - heard < _SILENCE_S:
            asked = self._ask("events.follow", room_id=self.room_id, since_seq=cursor, max_wait_ms=500)
            found = as_record(Events, asked)
            for envelope in found.events:
                heard = time.monotonic()
                yield Seen.of(envelope)
            cursor = found.cursor
            self._cast.check()
        raise StoryFailed(f"Nothing happened for {_SILENCE_S:.0f} s after event {cursor}.")

    def _react(self, event: Seen) -> None:
        if event.kind == StickClaimed.kind and event.data["turn_id"] == 1:
            self._cast.cue("bo")
            # Starting takes a moment, which the reader need not wait for later.
            self._cast.start("bo-again")
        elif event.kind == MemberAdded.kind and event.by == "bo":
            self._cast.cue("cleo")
        elif event.kind == StickTakenOver.kind:
            self._cast.cue("bo-again")
        elif event.data.get("cue") == Cue.HALF_WRITTEN:
            pid = self._cast.kill("bo")
            self._ask("events.append", room_id=self.room_id, kind=script.KILLED, data={"agent": "bo", "pid": pid})
        elif event.data.get("cue") == Cue.HISTORY_READ:
            self._ask("rooms.join", room_id=self.room_id)
            self._ask("notes.add", room_id=self.room_id, body=script.NOTE)

    def _ask(self, operation: str, **given: object) -> dict[str, object]:
        return self._hub.call(operation, given, self._me).to_data()
