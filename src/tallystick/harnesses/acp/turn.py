"""What one prompt comes to: its steps as they happen, bounded, and in the end the answer. Pure.

The answer is what the agent says after the last thing it does; what it says before that is a step. Some harnesses
put warnings into the agent's mouth: those are dropped, or they would be the answer.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tallystick.harnesses.acp.protocol import PermissionWanted, SessionUpdate, text
from tallystick.harnesses.headless.protocol import SAID_CHARS, HarnessStep, one_line, part, rows
from tallystick.kernel.json_values import list_of

SAID_STEP = 400
"""So many characters of what an agent says make a step."""
DIFF_CHARS = 32 * 1024
COMMAND_CHARS = 8 * 1024

_REACHING = frozenset({"execute", "edit", "delete", "move"})
_MARKS = {"completed": "done", "in_progress": "now", "pending": "to do"}


@dataclass
class AcpTurn:
    noise: str = ""
    """A pattern of what the harness itself says in the agent's name."""
    _said: list[str] = field(default_factory=list[str])
    """The segment that is being said."""
    _answer: str = ""
    """The last segment that was not empty."""
    _shown: int = 0
    """How much of the segment was shown as steps."""
    _message_id: str = ""
    _calls: dict[str, str] = field(default_factory=dict[str, str])
    """The tool calls of this turn: id to the title it has by now."""
    _began: dict[str, str] = field(default_factory=dict[str, str])
    """The title with which each began."""

    def feed(self, update: SessionUpdate) -> Iterator[HarnessStep]:
        match update.kind:
            case "agent_message_chunk":
                yield from self._says(update.data)
            case "tool_call" | "tool_call_update":
                yield from self._does(update.data)
            case "plan":
                yield from self._plans(update.data)
            case _:
                pass

    def ends(self) -> str:
        """The answer, once the prompt has returned."""
        self._close()
        return self._answer

    def title(self, call: Mapping[str, object]) -> str:
        """What a tool call is called; a request for permission may leave it out."""
        return text(call, "title") or self._calls.get(text(call, "toolCallId"), "") or text(call, "kind") or "a tool"

    def is_own(self, call: Mapping[str, object], names: tuple[str, ...]) -> bool:
        """Whether a call is one of our own MCP tools. What runs a command or edits never is, whatever it is called."""
        if text(call, "kind") in _REACHING or command_of(part(call, "rawInput")) is not None or _diffs(call):
            return False
        if text(part(part(part(call, "_meta"), "claudeCode"), "mcpServer"), "name") == "tally":
            return True
        call_id = text(call, "toolCallId")
        called = (call_id, text(call, "title"), self._began.get(call_id, ""), text(part(call, "_meta"), "toolName"))
        return any(each.startswith(name) for each in called for name in names)

    def _says(self, data: Mapping[str, object]) -> Iterator[HarnessStep]:
        chunk = text(part(data, "content"), "text")
        if _is_status(data) or (self.noise and re.match(self.noise, chunk)):
            return
        if (said_in := text(data, "messageId")) != self._message_id:
            yield from self._close()
            self._message_id = said_in
        if sum(map(len, self._said)) < SAID_CHARS:
            self._said.append(chunk)
        waiting = "".join(self._said)[self._shown :]
        if len(waiting) >= SAID_STEP:
            self._shown += len(waiting)
            yield HarnessStep(text=f"says: {one_line(waiting, SAID_STEP)}")

    def _close(self) -> list[HarnessStep]:
        """End what is being said: something else happens."""
        said = "".join(self._said)
        rest, self._said, shown = said[self._shown :], [], self._shown
        self._shown = 0
        if said.strip():
            self._answer = said.strip()
        return [HarnessStep(text=f"says: {one_line(rest, SAID_STEP)}")] if rest.strip() or shown < len(said) else []

    def _does(self, data: Mapping[str, object]) -> Iterator[HarnessStep]:
        call_id, status = text(data, "toolCallId"), text(data, "status")
        new = call_id not in self._calls
        before = self._calls.get(call_id, "")
        title = text(data, "title") or before or text(data, "kind") or "a tool"
        self._calls[call_id] = title
        self._began.setdefault(call_id, title)
        if new:
            yield from self._close()
        if new or title != before:
            yield HarnessStep(text=f"tool: {one_line(title, SAID_STEP)}")
        for each in rows(data, "content"):
            if text(each, "type") == "diff":
                yield HarnessStep(text=f"edit: {_edit(each)}")
        if status == "failed":
            yield HarnessStep(text=f"failed: {one_line(title, SAID_STEP)}", ok=False)

    def _plans(self, data: Mapping[str, object]) -> Iterator[HarnessStep]:
        entries = [
            f"{one_line(text(each, 'content'), 100)} ({_MARKS.get(text(each, 'status'), '?')})"
            for each in rows(data, "entries")
        ]
        if entries:
            yield from self._close()
            yield HarnessStep(text=one_line(f"plan: {'; '.join(entries)}", 1000))


def _is_status(data: Mapping[str, object]) -> bool:
    """Claude Code's adapter reports broken MCP servers as words of the agent."""
    return bool(text(part(part(data, "_meta"), "claudeCode"), "kind"))


def _edit(content: Mapping[str, object]) -> str:
    old, new = text(content, "oldText").splitlines(), text(content, "newText").splitlines()
    changed = [line[:1] for line in difflib.ndiff(old, new)] if len(old) + len(new) < 2000 else ["+"] * len(new)
    return f"{text(content, 'path')} (+{changed.count('+')} -{changed.count('-')})"


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedAction:
    """What an agent asks permission for, as the ledger holds it."""

    tool: str
    title: str
    command: str | None
    paths: tuple[str, ...]
    diff: str | None


def wanted_action(wanted: PermissionWanted, turn: AcpTurn) -> WantedAction:
    call = wanted.call
    raw = part(call, "rawInput")
    diffs = _diffs(call)
    paths = [text(each, "path") for each in (*diffs, *rows(call, "locations"))]
    title = turn.title(call)
    # Gemini CLI says what it would run in the title alone.
    command = command_of(raw) or (title if text(call, "kind") == "execute" else None)
    return WantedAction(
        tool=one_line(text(call, "kind") or title, 200) or "tool",
        title=one_line(title, 2000) or "a tool",
        command=command[:COMMAND_CHARS] if command is not None else None,
        # A command says itself what it changes: its locations are where it runs.
        paths=() if command is not None else tuple(dict.fromkeys(path for path in paths if path)),
        diff="\n".join(_unified(each) for each in diffs)[:DIFF_CHARS] or None,
    )


def _diffs(call: Mapping[str, object]) -> list[dict[str, object]]:
    return [each for each in rows(call, "content") if text(each, "type") == "diff"]


def command_of(raw: Mapping[str, object]) -> str | None:
    """The command line that a call would run; words are quoted, so that they read as the shell would."""
    given = raw.get("command")
    if isinstance(given, str):
        return given
    return shlex.join(str(each) for each in list_of(given)) or None


def _unified(content: Mapping[str, object]) -> str:
    path = text(content, "path")
    lines = difflib.unified_diff(
        text(content, "oldText").splitlines(), text(content, "newText").splitlines(), path, path, lineterm="", n=2
    )
    return "\n".join(lines)
