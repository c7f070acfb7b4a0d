"""How many tokens of ours each harness's model reads, counted in the requests of the real programs.

`python -m tests.loopback.tokens` prints the table of docs/performance.md. A token is taken for four characters.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from tallystick.harnesses import processes
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.kernel.caller import Caller, Process, SessionKind
from tallystick.surfaces.mcp.server import INSTRUCTIONS
from tests.loopback.saying import Say, Saying, Use
from tests.loopback.workplace import HARNESSES, STARTING, HarnessHome, workplace
from tests.stories.cast import Hand, played

PAST = 1_000
ROWS = ("tools", "instructions", "greeting", "one join", "one state")


def strings(node: object) -> Iterator[str]:
    """Every text in a request."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, Mapping):
        for each in cast("Mapping[str, object]", node).values():
            yield from strings(each)
    elif isinstance(node, Sequence):
        for each in cast("Sequence[object]", node):
            yield from strings(each)


def tools(node: object) -> Iterator[object]:
    """Every definition of a tool of ours, or of the namespace that holds them."""
    if isinstance(node, Mapping):
        found = cast("Mapping[str, object]", node)
        if str(found.get("name", "")).startswith(("mcp__tally", "mcp_tally")):
            yield found
            return
        node = list(found.values())
    if isinstance(node, Sequence) and not isinstance(node, str):
        for each in cast("Sequence[object]", node):
            yield from tools(each)


def counted(harness: str, folder: Path, past: int = PAST) -> dict[str, int]:
    """What each part of a session costs its model, in a room with so many past members."""
    place: HarnessHome | None = None
    results: list[str] = []

    def act(hand: Hand) -> Iterator[Saying]:
        assert place is not None
        for _ in range(100):
            if place.tool("join_path") in hand.ask.tools:
                break
            yield STARTING[harness]
        yield Use(tool=place.tool("join_path"), given={"context_path": str(place.root)})
        results.append(hand.result)
        room_id = str(place.tally("rooms", "list")["rooms"][0]["room_id"])  # pyright: ignore[reportIndexIssue, reportUnknownArgumentType] - JSON
        yield Use(tool=place.tool("get_room_state"), given={"room_id": room_id})
        results.append(hand.result)
        yield Say(text="That was all.")

    with workplace(folder, harness, played(act), "--hooks", "--allow-tools") as (made, model):
        place = made
        populate(made, past)
        made.run()
    first = next(body for body in model.bodies if any(True for _ in tools(body.get("tools"))))
    heard = [text for body in model.bodies for text in strings(body)]
    greeting = next((text[text.index("Tallystick: you are") :] for text in heard if "Tallystick: you are" in text), "")
    greeting = greeting.partition("</")[0].partition("\n\n")[0]
    told = INSTRUCTIONS if any(INSTRUCTIONS[:60] in text for text in heard) else ""
    sizes = [
        len(json.dumps(list(tools(first["tools"])), separators=(",", ":"), ensure_ascii=False)),
        len(told),
        len(greeting),
        *(len(each) for each in results),
    ]
    return dict(zip(ROWS, (round(size / 4) for size in sizes), strict=True))


def populate(place: HarnessHome, past: int) -> None:
    """Sessions that were here once: their processes have ended."""
    ended = Process(host_id=processes.host_id(), pid=2**22 + 1, started_at="1")
    hub = Hub.open(Settings(data_dir=place.data))
    for number in range(past):
        gone = Caller(agent_id=f"claude-code:{number:08x}", session=SessionKind.MCP_HARNESS, process=ended)
        hub.call("rooms.join", {"context_path": str(place.root)}, gone)
    hub.close()


def main() -> None:
    sys.stdout.write(f"| | {' | '.join(ROWS)} |\n")
    sys.stdout.write("|---|---|---|---|---|---|\n")
    for harness in HARNESSES:
        with tempfile.TemporaryDirectory(prefix="tally-") as folder:
            found = counted(harness, Path(folder))
        sys.stdout.write(f"| {harness} | {' | '.join(str(found[row]) for row in ROWS)} |\n")


if __name__ == "__main__":
    main()
