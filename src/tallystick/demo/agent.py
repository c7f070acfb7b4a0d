"""One agent: a process with an MCP client and a `tally mcp` server of its own, playing its part.

It begins when its input says so and ends when its input ends, so that nothing outlives the director, however that dies.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path

from tallystick import __version__
from tallystick.demo.workspace import DemoRepository

# Without the folder we stand in: the play's own files must not pass for modules.
PYTHON = (sys.executable, "-P", "-m")


async def play(part: str, root: Path, memory: Path, pace: float) -> None:
    from mcp import Client, StdioServerParameters
    from mcp_types import Implementation

    from tallystick.demo.parts import PARTS
    from tallystick.demo.player import Player, call

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
    """Listens to the director: a line begins the part, the end of input ends it."""

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
    # The director hears Ctrl-C and ends the play in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print(os.getpid(), flush=True)
    with suppress(asyncio.CancelledError):
        asyncio.run(play(part, Path(root), Path(memory), float(pace)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
