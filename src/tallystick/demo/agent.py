"""One agent: a process with an MCP client and a `tally mcp` server of its own, playing its part; and its repository.

It begins when its input says so and ends when its input ends, so that nothing outlives the demo, however that dies. The
scratch repository is made with git, edited by the agents, and checked by its own tests.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tallystick import __version__
from tallystick.demo import story
from tallystick.kernel.errors import Unavailable
from tallystick.kernel.json_values import list_of, objects_of
from tallystick.kernel.operation import as_record

if TYPE_CHECKING:
    from mcp import Client


class Refusal(Exception):
    """The hub refused a call, with what it said."""

    def __init__(self, payload: Mapping[str, object]) -> None:
        self.payload = payload
        super().__init__(str(payload.get("message")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    turn_id: int
    lease_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Player:
    """An agent in its room: what a part is written in."""

    name: str
    client: Client
    workspace: DemoRepository
    memory: Path
    """Where it keeps what it would remember of an earlier life."""
    pace: float
    room_id: str

    async def call(self, tool: str, **given: object) -> dict[str, object]:
        return await call(self.client, tool, room_id=self.room_id, **given)

    async def beyond(self, operation: str, **given: object) -> dict[str, object]:
        """An operation that has no tool of its own, through the portal of its noun."""
        args = {"room_id": self.room_id, **given}
        return await call(self.client, "rooms", op="call", cmd=operation, args=args)

    async def do(self, text: str, *, kind: str = story.DID, **more: object) -> None:
        """Put on record what was done, and give the reader time to read it."""
        await self.beyond("events.append", kind=kind, data={"text": text, **more})
        await asyncio.sleep(self.pace)

    async def state(self) -> dict[str, object]:
        return await self.call("get_room_state")

    async def present(self, *names: str) -> None:
        """Wait until these members are here."""
        while True:
            members = objects_of((await self.state())["members"])
            if set(names) <= {member["agent_id"] for member in members if member["status"] == "active"}:
                return
            await asyncio.sleep(0.1)

    async def wanted_by(self, name: str) -> None:
        """Wait until this member waits for the stick: it goes to the next who wants it, and not to who is only here."""
        while True:
            if name in list_of((await self.state())["waiting"]):
                return
            await asyncio.sleep(0.1)

    async def look(self) -> dict[str, object]:
        """Wait as long as it takes for a turn, or for a stick that somebody dropped."""
        while True:
            found = await self.call("wait_for_turn")
            if found["status"] != "not_yet":
                return found

    async def turn(self) -> Turn:
        """Wait for a turn; a stick that somebody dropped is left to others."""
        while True:
            found = await self.look()
            if found["status"] == "your_turn":
                # Long enough for a person to read the handoff as well.
                await asyncio.sleep(self.pace * 1.5)
                return taken(found)
            await asyncio.sleep(0.3)


def taken(answer: Mapping[str, object]) -> Turn:
    return as_record(Turn, answer)


async def call(client: Client, tool: str, **given: object) -> dict[str, object]:
    result = await client.call_tool(tool, given)
    content: dict[str, object] = result.structured_content or {}
    if result.is_error:
        raise Refusal(content)
    return content


Part: TypeAlias = Callable[[Player], Awaitable[None]]


def _fence(turn: Turn) -> dict[str, object]:
    return {"lease_id": turn.lease_id, "expected_turn_id": turn.turn_id}


async def _release(me: Player, turn: Turn, handoff: Mapping[str, object]) -> None:
    await me.call("release_stick", **_fence(turn), handoff=handoff)


async def _tested(me: Player, *, expected: bool) -> None:
    passed = await asyncio.to_thread(me.workspace.tests_pass)
    if passed is not expected:
        raise RuntimeError(f"the tests should {'pass' if expected else 'fail'} here")
    await me.do("runs the tests: all green" if passed else "runs the tests: red, as they should be", tests=passed)


async def _commit(me: Player, message: str) -> None:
    commit = me.workspace.commit(me.name, message)
    await me.do(f"commits {commit}: {message}", commit=commit)


async def ada(me: Player) -> None:
    first = await me.turn()
    await me.present(*story.CAST)
    await me.do("watches the lamp for a minute: three flashes, and then never again")
    me.workspace.write("test_lamp.py", story.TEST_LAMP)
    await me.do("writes test_lamp.py", file="test_lamp.py")
    await _tested(me, expected=False)
    await _commit(me, "A test for the second round of flashes")
    await me.wanted_by("bo")
    await _release(me, first, story.ADA_TO_BO)
    second = await me.turn()
    await me.beyond("notes.list")
    await me.do("reads the keeper's note")
    me.workspace.write("horn.py", story.HORN)
    me.workspace.write("test_horn.py", story.TEST_HORN)
    await me.do("writes horn.py and test_horn.py", file="horn.py")
    await _tested(me, expected=True)
    await _commit(me, "A fog horn that lets the village sleep")
    await me.wanted_by("bo")
    await _release(me, second, story.ADA_TO_NEXT)


async def bo(me: Player) -> None:
    turn = await me.turn()
    # What an agent's conversation would still hold when its harness is started again.
    me.memory.write_text(json.dumps({"lease_id": turn.lease_id, "turn_id": turn.turn_id}), "utf-8")
    await me.do("reads the handoff: one line in lamp.py, FLASHES stays as it is")
    me.workspace.write("lamp.py", story.HALF_A_LAMP)
    await me.do("is in the middle of line 9", file="lamp.py", cue=story.Cue.HALF_WRITTEN)
    await asyncio.Event().wait()


async def bo_again(me: Player) -> None:
    old = json.loads(me.memory.read_text("utf-8"))
    await me.do("is started again, remembers his lease and goes to release the stick")
    fence = {"lease_id": old["lease_id"], "expected_turn_id": old["turn_id"]}
    try:
        await me.call("release_stick", **fence, handoff=story.BO_TO_NEXT)
    except Refusal as refused:
        told = {key: refused.payload[key] for key in ("error", "message", "hint")}
        await me.do(f"is refused: {told['error']}", kind=story.SAW, **told)
    turn = await me.turn()
    me.workspace.write("LOGBOOK.md", story.LOGBOOK)
    await me.do("writes LOGBOOK.md", file="LOGBOOK.md")
    await _commit(me, "What happened tonight")
    await _release(me, turn, story.BO_TO_NEXT)


async def cleo(me: Player) -> None:
    found = await me.look()
    seen = {key: found[key] for key in ("status", "reason", "current_owner", "turn_id")}
    await me.do(f"sees that bo is gone: {found['status']}, {found['reason']}", kind=story.SAW, **seen)
    turn = taken(await me.call("takeover_stick", expected_turn_id=found["turn_id"], reason=story.TAKEOVER_REASON))
    await asyncio.sleep(me.pace)
    await me.call("get_room_events", newest=True, limit=10)
    await me.do("reads the history and finds ada's handoff in it", cue=story.Cue.HISTORY_READ)
    half = me.workspace.unfinished().splitlines()[-2:]
    await me.do(f"asks git what bo left behind: {half[0].removeprefix('+').strip()}")
    me.workspace.write("lamp.py", story.WHOLE_LAMP)
    await me.do("finishes the line", file="lamp.py")
    await _tested(me, expected=True)
    await _commit(me, "Flash again every twelve seconds")
    await me.call("pass_stick", **_fence(turn), to_agent_id="ada", handoff=story.CLEO_TO_ADA)


class GitMissing(Unavailable):
    """The demo's agents work in a git repository, and there is no git on this machine."""

    hint = "Install git and run `tally demo` again."


class DemoRepository:
    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def made(cls, root: Path) -> DemoRepository:
        if not shutil.which("git"):
            raise GitMissing
        root.mkdir()
        new = cls(root)
        # As a setting: a git from before it leaves it out, where it would refuse an option that it does not know.
        new.git("-c", "init.defaultBranch=main", "init", "--quiet")
        new.write("README.md", story.README)
        new.write("lamp.py", story.LAMP)
        new.commit("keeper", "The light at Skerry Point")
        return new

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text, "utf-8")

    def commit(self, author: str, message: str) -> str:
        """Commit everything; the result is the commit's short name."""
        self.git("add", "--all")
        who = (f"user.name={author}", f"user.email={author}@example.invalid", "commit.gpgsign=false")
        self.git(*(word for setting in who for word in ("-c", setting)), "commit", "--quiet", "-m", message)
        return self.git("rev-parse", "--short", "HEAD")

    def unfinished(self) -> str:
        """What was changed and not committed, as git shows it."""
        return self.git("diff", "--unified=0")

    def log(self) -> list[str]:
        """Author and title of every commit, oldest first."""
        return self.git("log", "--reverse", "--format=%an: %s").splitlines()

    def git(self, *arguments: str) -> str:
        # Nobody's own settings or hooks have a part in this play.
        environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
            environ.pop(name, None)
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env=environ,
            stdin=subprocess.DEVNULL,
            check=True,
            capture_output=True,
            encoding="utf-8",
            process_group=0,
        )
        return done.stdout.strip()

    def tests_pass(self) -> bool:
        done = subprocess.run(
            [sys.executable, "-B", "-m", "unittest", "--quiet"],
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            check=False,
            capture_output=True,
            process_group=0,
        )
        return done.returncode == 0


PARTS: Mapping[str, Part] = {"ada": ada, "bo": bo, "bo-again": bo_again, "cleo": cleo}


# Without the folder we stand in: the play's own files must not pass for modules.
PYTHON = (sys.executable, "-P", "-m")


async def play(part: str, root: Path, memory: Path, pace: float) -> None:
    from mcp import Client, StdioServerParameters
    from mcp_types import Implementation

    begin = Beginning()
    name = part.partition("-")[0]
    server = StdioServerParameters(
        command=PYTHON[0],
        args=[*PYTHON[1:], "tallystick.surfaces.cli.main", "mcp"],
        env={**os.environ, "TALLYSTICK_AGENT": name},
    )
    async with Client(server, client_info=Implementation(name=f"demo-{name}", version=__version__)) as client:
        await begin.cue()
        joined = await call(client, "join_path", context_path=str(root))
        player = Player(
            name=name,
            client=client,
            workspace=DemoRepository(root),
            memory=memory,
            pace=pace,
            room_id=str(joined["room_id"]),
        )
        await PARTS[part](player)
        # Whoever has left the stage counts as gone; the play may still need its name in the turn order.
        await asyncio.Event().wait()


class Beginning:
    """Reads what the demo says: a line begins the part, the end of input ends it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._cued = asyncio.Event()
        threading.Thread(target=self._listen, daemon=True).start()

    async def cue(self) -> None:
        await self._cued.wait()

    def _listen(self) -> None:
        for _ in sys.stdin:
            self._loop.call_soon_threadsafe(self._cued.set)
        if self._task:
            self._loop.call_soon_threadsafe(self._task.cancel)


def main(argv: list[str]) -> int:
    part, root, memory, pace = argv
    # An agent that a harness's shell started would count as that harness, whose process lives on when the agent dies.
    # So it leaves the family: whoever started it ends here.
    if hasattr(os, "fork") and os.fork():
        os._exit(0)
    # The demo hears Ctrl-C and ends the agents in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print(os.getpid(), flush=True)
    with suppress(asyncio.CancelledError):
        asyncio.run(play(part, Path(root), Path(memory), float(pace)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
