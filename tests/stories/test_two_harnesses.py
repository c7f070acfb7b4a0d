"""Claude Code and Codex, the real programs with scripted models, work on one repository through Tallystick."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from tests.loopback.model import scripted
from tests.loopback.programs import Home, installed
from tests.loopback.saying import Say, Saying, Use
from tests.stories.cast import Cue, Hand, operation, played
from tests.surfaces.cli.place import TALLY

pytestmark = [pytest.mark.npm, pytest.mark.slow, pytest.mark.timeout(300)]

HANDOFF = {"status": "parser written, notes still open", "next_action": "add a test for the parser"}
PATCH = """\
apply_patch <<'EOF'
*** Begin Patch
*** Update File: notes.txt
@@
-edited by claude
+patched by codex
*** End Patch
EOF"""
LONG_MS = 30_000
CONNECTED = "WaitForMcpServers"
"""Claude Code asks its model at once, and offers this tool while its servers are still starting."""


@dataclass
class Story:
    """What happens in it, as the actors saw it, and the points at which they wait for each other."""

    root: Path
    claimed: Cue = field(default_factory=Cue)
    waiting: Cue = field(default_factory=Cue)
    seen: dict[str, dict[str, object]] = field(default_factory=dict[str, dict[str, object]])
    texts: dict[str, str] = field(default_factory=dict[str, str])

    def claude(self, hand: Hand) -> Iterator[Saying]:
        """Joins, claims the stick, reserves and edits, hands over, and answers what comes."""
        self.texts["claude begins"] = hand.ask.told
        if CONNECTED in hand.ask.tools:
            yield Use(tool=CONNECTED, given={})
        yield Use(tool="mcp__tally__join_path", given={"context_path": str(self.root)})
        room_id = hand.answer()["room_id"]
        yield Use(tool="mcp__tally__wait_for_turn", given={"room_id": room_id, "max_wait_ms": 0})
        turn = self.seen["claude's turn"] = hand.answer()
        self.claimed.give()
        yield Use(
            tool="mcp__tally__agents",
            given=operation("reservations.reserve", room_id=room_id, path="notes.txt"),
        )
        self.seen["reserved"] = hand.answer()
        yield Use(tool="Read", given={"file_path": str(self.root / "notes.txt")})
        edit = {"old_string": "open", "new_string": "edited by claude"}
        yield Use(tool="Edit", given={"file_path": str(self.root / "notes.txt"), **edit})
        self.texts["claude's edit"] = hand.result
        self.waiting.wait()
        held = {"room_id": room_id, "lease_id": turn["lease_id"], "expected_turn_id": turn["turn_id"]}
        yield Use(tool="mcp__tally__release_stick", given={**held, "handoff": HANDOFF})
        self.seen["released"] = hand.answer()
        while not self.seen.get("mail"):
            wait = {"room_id": room_id, "max_wait_ms": LONG_MS, "include": ["messages"]}
            yield Use(tool="mcp__tally__wait_for_turn", given=wait)
            self.seen["mail"] = cast("list[dict[str, object]]", hand.answer().get("messages") or [{}])[0]
        event_id = self.seen["mail"]["id"]
        yield Use(tool="mcp__tally__messages", given=operation("messages.ack", room_id=room_id, event_id=event_id))
        self.seen["acked"] = hand.answer()
        yield Say(text="Handed over and answered.")

    def codex(self, hand: Hand) -> Iterator[Saying]:
        """Waits for the handoff, runs into the reservation, asks its holder, and stops when told how."""
        self.claimed.wait()
        self.texts["codex begins"] = hand.ask.told
        while "mcp__tally.join_path" not in hand.ask.tools:
            yield Use(tool="exec_command", given={"cmd": "sleep 0.5"})
        yield Use(tool="mcp__tally.join_path", given={"context_path": str(self.root)})
        room_id = hand.answer()["room_id"]
        self.waiting.give()
        turn: dict[str, object] = {}
        while turn.get("status") != "your_turn":
            yield Use(tool="mcp__tally.wait_for_turn", given={"room_id": room_id, "max_wait_ms": LONG_MS})
            turn = hand.answer()
        self.seen["codex's turn"] = turn
        yield Use(tool="exec_command", given={"cmd": "echo 'edited by codex' >> notes.txt"})
        self.texts["codex's edit"] = hand.result
        yield Use(tool="exec_command", given={"cmd": PATCH})
        self.texts["codex's patch"] = hand.result
        yield Use(tool="exec_command", given={"cmd": "echo 'def test(): pass' > test_parser.py"})
        to = [turn["from_agent_id"]]
        yield Use(
            tool="mcp__tally.messages",
            given=operation(
                "messages.send", room_id=room_id, to=to, text="May I have notes.txt?", priority="attention"
            ),
        )
        self.seen["sent"] = hand.answer()
        awaiting: object = [True]
        cursor = "0"
        while awaiting:
            yield Use(tool="mcp__tally.messages", given=operation("messages.inbox", room_id=room_id))
            awaiting = hand.answer()["awaiting"]
            if awaiting:
                wait = {"room_id": room_id, "cursor": cursor, "max_wait_ms": LONG_MS, "include": ["messages"]}
                yield Use(tool="mcp__tally.wait_for_turn", given=wait)
                cursor = str(hand.answer().get("cursor", cursor))
        held = {"room_id": room_id, "lease_id": turn["lease_id"], "expected_turn_id": turn["turn_id"]}
        yield Use(tool="mcp__tally.release_stick", given={**held, "handoff": {**HANDOFF, "status": "test written"}})
        self.seen["codex released"] = hand.answer()
        yield Say(text="Done.")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "notes.txt").write_text("open\n", "utf-8")
    for args in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=n@example.test", *args], cwd=folder, check=True)
    return folder


def _run(argv: list[str], home: Home, root: Path) -> str:
    done = subprocess.run(
        argv, input="Do your part.", cwd=root, env=home.env, capture_output=True, text=True, check=False, timeout=240
    )
    return f"{done.returncode}\n{done.stdout}\n{done.stderr}"


def _tally(home: Home, root: Path, *args: str) -> dict[str, object]:
    done = subprocess.run([TALLY, "--json", *args], cwd=root, env=home.env, capture_output=True, text=True, check=False)
    found = cast("dict[str, object]", json.loads(done.stdout))
    assert found["ok"], found
    return cast("dict[str, object]", found["data"])


CLAUDE = ["-p", "--output-format", "json", "--allowedTools", "mcp__tally,Read,Edit"]
CODEX = [
    *("exec", "--json", "--skip-git-repo-check"),
    *("--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox", "-"),
]


TOLD = {
    "x.tally.stick.claim",
    "x.tally.stick.release",
    "x.tally.reservation.grant",
    "chat.message",
    "chat.ack",
}


@dataclass(frozen=True, slots=True)
class Played:
    story: Story
    home: Home
    said: Mapping[str, str]
    """What each program printed."""


@pytest.fixture
def whole(tmp_path: Path, root: Path) -> Iterator[Played]:
    claude, codex = installed("claude"), installed("codex")
    story = Story(root)
    with scripted(played(story.claude)) as one, scripted(played(story.codex)) as other:
        # One person's home for both. Codex finds its model in the configuration, which the last one has written.
        homes = Home(tmp_path / "home", one), Home(tmp_path / "home", other)
        for harness in ("claude", "codex"):
            _tally(homes[0], root, "install", harness, "--hooks")
        with ThreadPoolExecutor(2) as both:
            runs = {
                "claude": both.submit(_run, [str(claude), *CLAUDE], homes[0], root),
                "codex": both.submit(_run, [str(codex), *CODEX], homes[1], root),
            }
            said = {name: run.result() for name, run in runs.items()}
        yield Played(story, homes[0], said)


def test_two_harnesses_work_on_one_repository_without_getting_in_each_others_way(whole: Played) -> None:
    story, seen, texts = whole.story, whole.story.seen, whole.story.texts
    assert set(seen) >= {"acked", "codex released"}, whole.said
    claude, codex = str(seen["codex's turn"]["from_agent_id"]), str(seen["released"]["reserved_for"])
    assert (claude.partition(":")[0], codex.partition(":")[0]) == ("claude-code", "codex")

    for name, agent in {"claude": claude, "codex": codex}.items():
        assert f"Tallystick: you are {agent} in room" in texts[f"{name} begins"]
        assert "tallystick: Take turns, reserve files" in texts[f"{name} begins"], "the skill is known"
    assert (seen["codex's turn"]["handoff"], seen["codex's turn"]["reason"]) == (HANDOFF, "sequence")
    assert f"notes.txt is reserved by {claude} until" in texts["codex's edit"]
    assert f"notes.txt is reserved by {claude} until" in texts["codex's patch"]
    assert (story.root / "notes.txt").read_text("utf-8") == "edited by claude\n"
    assert (story.root / "test_parser.py").read_text("utf-8") == "def test(): pass\n"

    room_id = str(seen["released"]["room_id"])
    listed = _tally(whole.home, story.root, "events", "list", "--room-id", room_id, "--limit", "500")
    events = cast("list[dict[str, object]]", listed["events"])
    told = [(event["kind"], event["by"]) for event in events if event["kind"] in TOLD]
    assert told == [
        ("x.tally.stick.claim", claude),
        ("x.tally.reservation.grant", claude),
        ("x.tally.stick.release", claude),
        ("x.tally.stick.claim", codex),
        ("chat.message", codex),
        ("chat.ack", claude),
        ("x.tally.stick.release", codex),
    ]
    members = {event["by"] for event in events if event["kind"] == "actor.add"}
    assert members == {claude, codex}, "server, shell and hooks of one harness are one agent"
    verdict = _tally(whole.home, story.root, "verify")
    assert verdict["ok"] is True, verdict
