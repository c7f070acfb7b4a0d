"""What reaches the model of a real harness that runs headless, with its approvals on and nobody to answer a dialog."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import cast

import pytest

from tallystick.harnesses import processes
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.kernel.caller import Caller, Process, SessionKind
from tests.loopback.saying import Ask, Say, Saying, Use
from tests.loopback.tokens import ROWS, counted
from tests.loopback.workplace import EDIT, HARNESSES, STARTING, HarnessHome, hub_for, workplace
from tests.stories.cast import Hand, played

pytestmark = [pytest.mark.npm, pytest.mark.slow, pytest.mark.timeout(300)]

GONE = "gone"
LOOK: Mapping[str, Callable[[str], Use]] = {
    "claude": lambda path: Use(tool="Read", given={"file_path": path}),
    "codex": lambda path: Use(tool="exec_command", given={"cmd": f"cat {path}"}),
    "gemini": lambda path: Use(tool="read_file", given={"file_path": path}),
}
HANDOFF = {"status": "taken over and tidied", "next_action": "go on"}


def answer(text: str) -> dict[str, object]:
    """The tool's answer, without what each harness puts around it."""
    whole = text[text.index("{") :]
    decoded, _ = json.JSONDecoder().raw_decode(whole)
    found = cast("dict[str, object]", decoded)
    inner = found.get("output")
    return answer(inner) if isinstance(inner, str) else found


def everything(ask: Ask) -> str:
    return "\n".join((ask.prompt, ask.told, *ask.results))


class Newcomer:
    """Joins a room whose holder has died, is written to, takes over, and does one of each thing that is taught.

    It never answers its mail, so that somebody still waits for it when it wants to stop.
    """

    def __init__(self, harness: str) -> None:
        self.harness = harness
        self.seen: dict[str, dict[str, object]] = {}
        self.heard: dict[str, str] = {}
        self.place: HarnessHome | None = None
        self.room_id = ""

    def act(self, hand: Hand) -> Iterator[Saying]:
        place = self.place
        assert place is not None
        for _ in range(100):
            if place.tool("join_path") in hand.ask.tools:
                break
            yield STARTING[self.harness]

        def use(name: str, **given: object) -> Iterator[Saying]:
            yield Use(tool=place.tool(name), given=given)
            self.seen[str(given.get("cmd", name))] = answer(hand.result)

        yield from use("join_path", context_path=str(place.root))
        me = str(self.seen["join_path"]["agent_id"])
        in_room = {"room_id": self.room_id}
        mail = ["--to", me, "--text", "look at cart.py", "--priority", "attention"]
        place.tally("messages", "send", "--room", self.room_id, *mail, agent="ann")
        (place.root / "cart.py").write_text("total = 0\n")
        yield LOOK[self.harness](str(place.root / "cart.py"))
        self.heard["after a tool"] = everything(hand.ask)
        yield from use("get_room_state", **in_room)
        yield from use("wait_for_turn", **in_room, max_wait_ms=0)
        turn = self.seen["wait_for_turn"]
        yield from use("takeover_stick", **in_room, expected_turn_id=turn.get("turn_id"), reason="its process ended")
        held = {**in_room, "lease_id": self.seen["takeover_stick"].get("lease_id")}
        note = {**in_room, "body": "cart.py is next"}
        yield from use("rooms", op="call", cmd="notes.add", args=note)
        path = {**in_room, "path": "cart.py"}
        yield from use("agents", op="call", cmd="reservations.reserve", args=path)
        turn_id = self.seen["takeover_stick"].get("turn_id")
        yield from use("release_stick", **held, expected_turn_id=turn_id, handoff=HANDOFF)
        yield Say(text="That was all.")
        self.heard["at the end"] = everything(hand.ask)
        yield Say(text="That was really all.")
        self.heard["again"] = everything(hand.ask)


@pytest.mark.parametrize("served", [False, True], ids=["alone", "hub"])
@pytest.mark.parametrize("harness", HARNESSES)
def test_with_approvals_on_a_model_sees_its_mail_and_takes_over_from_the_dead(
    tmp_path: Path, harness: str, served: bool
) -> None:
    newcomer = Newcomer(harness)
    # Codex takes what is not destructive without a permission; the others ask for everything.
    allowed = [] if harness == "codex" else ["--allow-tools"]
    with (
        workplace(tmp_path, harness, played(newcomer.act), "--hooks", *allowed) as (place, model),
        hub_for(place) if served else nullcontext(),
    ):
        newcomer.place = place
        newcomer.room_id = str(place.tally("join", agent="ann")["room_id"])
        _die_with_the_stick(place, newcomer.room_id)
        done = place.run()

    seen = newcomer.seen
    assert "release_stick" in seen, (done.stdout, done.stderr, [ask.results[-1:] for ask in model.asked])
    (notice,) = cast("list[str]", seen["get_room_state"]["notices"])
    assert notice.startswith("1 unread message, 1 needs your ack: `messages ")
    assert seen["wait_for_turn"]["status"] == "takeover_available"
    assert (seen["takeover_stick"]["status"], seen["takeover_stick"]["revoked_agent_id"]) == ("your_turn", GONE)
    assert "seq" in json.dumps(seen["notes.add"])
    assert "cart.py" in json.dumps(seen["reservations.reserve"])
    assert seen["release_stick"]["status"] == "released"
    assert "For you: 1 unread message, 1 needs your ack" in newcomer.heard["after a tool"]
    assert "somebody waits for your answer before you stop" in newcomer.heard["at the end"]
    assert "again" not in newcomer.heard, "told once, it may stop"


def _die_with_the_stick(place: HarnessHome, room_id: str) -> None:
    with subprocess.Popen(["sleep", "100"]) as process:
        started_at = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19]
        living = Process(host_id=processes.host_id(), pid=process.pid, started_at=started_at)
        dying = Caller(agent_id=GONE, session=SessionKind.MCP_HARNESS, process=living)
        hub = Hub.open(Settings(data_dir=place.data))
        hub.call("rooms.join", {"room_id": room_id}, dying)
        hub.call("turns.wait", {"room_id": room_id, "max_wait_ms": 0}, dying)
        hub.close()
        process.kill()


@pytest.mark.parametrize("harness", HARNESSES)
def test_who_slept_through_the_end_of_its_turn_edits_nothing_until_it_has_looked(tmp_path: Path, harness: str) -> None:
    written = tmp_path / "repository/sheep.txt"
    heard: list[str] = []

    def act(hand: Hand) -> Iterator[Saying]:
        for _ in range(100):
            if place.tool("join_path") in hand.ask.tools:
                break
            yield STARTING[harness]
        yield Use(tool=place.tool("join_path"), given={"context_path": str(place.root)})
        in_room = {"room_id": str(answer(hand.result)["room_id"])}
        yield Use(tool=place.tool("wait_for_turn"), given={**in_room, "max_wait_ms": 0})
        heard.append(str(answer(hand.result)["status"]))
        hub = Hub.open(Settings(data_dir=place.data))
        person = Caller(agent_id="user", session=SessionKind.NAMED)
        hub.call("turns.revoke", {**in_room, "expected_turn_id": 1, "reason": "it hangs"}, person)
        hub.close()
        yield EDIT[harness](str(written))
        heard.append(f"{hand.result} {written.exists()}")
        yield Use(tool=place.tool("get_room_state"), given=in_room)
        yield EDIT[harness](str(written))
        yield Say(text="Written.")

    with workplace(tmp_path, harness, played(act), "--hooks", "--allow-tools") as (place, _):
        done = place.run()

    assert heard[0] == "your_turn", (done.stdout, done.stderr)
    assert 'turn 1 is no longer yours: user ended it, saying "it hangs".' in heard[1].replace("\\", "")
    assert heard[1].endswith("False")
    assert written.read_text() == "one\n"


@pytest.mark.parametrize("harness", HARNESSES)
def test_what_a_model_reads_of_ours_is_bounded_as_the_performance_page_says(tmp_path: Path, harness: str) -> None:
    """With what its harness adds to every tool."""
    read = counted(harness, tmp_path, past=20)

    assert set(read) == set(ROWS)
    assert all(tokens > 0 for tokens in read.values()), read
    assert read["tools"] < 4_000
    assert max(read[row] for row in ROWS if row != "tools") < 1_500


QUERIES = {
    "reserve file": "agents",
    "send message to another agent": "messages",
    "read my mail": "messages",
    "hand over": "pass_stick",
    "leave a note": "rooms",
}


def test_claude_code_that_defers_tools_keeps_the_everyday_ones_and_finds_the_others(tmp_path: Path) -> None:
    """As it runs against its own address, where every tool of a server is put off unless it says otherwise."""
    asked = list(QUERIES)
    loaded: list[tuple[str, ...]] = []

    def search(hand: Hand) -> Iterator[Saying]:
        for _ in range(100):
            if "mcp__tally__join_path" in hand.ask.tools:
                break
            yield Use(tool="ToolSearch", given={"query": "select:NotebookEdit"})
        loaded.append(hand.ask.tools)
        for query in asked:
            yield Use(tool="ToolSearch", given={"query": query, "max_results": 3})
        yield Say(text="That was all.")

    found: list[Ask] = []
    with workplace(tmp_path, "claude", played(search), "--allow-tools") as (place, model):
        deferring = HarnessHome(place.root, "claude", place.home, {"ENABLE_TOOL_SEARCH": "true"})
        done = deferring.run()
        found = model.asked

    assert loaded, (done.stdout, done.stderr)
    ours = {name.removeprefix("mcp__tally__") for name in loaded[0] if name.startswith("mcp__tally__")}
    assert ours == {"join_path", "wait_for_turn", "heartbeat", "release_stick"}
    last = json.dumps(model.bodies[-1])
    results = [part for part in last.split('"tool_reference"') if "mcp__tally__" in part]
    for query, tool in QUERIES.items():
        assert any(f"mcp__tally__{tool}" in part for part in results), (query, found[-1].results)
