"""Claude Code without a terminal: `claude -p`, prompt on stdin, one JSON object per line of output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tallystick.harnesses.headless import protocol
from tallystick.harnesses.headless.protocol import (
    Began,
    CommandEnded,
    Failed,
    HarnessAnswer,
    HarnessRequest,
    HarnessStep,
    Outcome,
    ProcessStart,
    Reader,
    Sandbox,
    Sign,
)

# Claude Code has no sandbox of the operating system here. It keeps its own edits inside the working directory, and asks
# before anything that is not allowed beforehand, which without a terminal means no.
_READING = "Read,Glob,Grep,LS,WebFetch,WebSearch,TodoWrite"
_PERMISSIONS = {
    Sandbox.READ_ONLY: ("--permission-mode", "dontAsk", "--allowedTools", _READING),
    Sandbox.WORKSPACE_WRITE: (
        "--permission-mode",
        "acceptEdits",
        "--allowedTools",
        f"{_READING},Bash,Edit,Write,NotebookEdit,mcp__tally",
    ),
    Sandbox.FULL_ACCESS: ("--permission-mode", "bypassPermissions"),
}
_STRUCTURED, _SHELL = "StructuredOutput", "Bash"
_EXIT = re.compile(r"Exit code (\d{1,10})\b")


class ClaudeCode:
    command = "claude"

    def start(self, binary: Sequence[str], request: HarnessRequest) -> ProcessStart:
        argv = [*binary, "-p", "--output-format", "stream-json", "--verbose", *_PERMISSIONS[request.sandbox]]
        if request.schema is not None:
            argv += ["--json-schema", json.dumps(request.schema, separators=(",", ":"))]
        if request.model:
            argv += [f"--model={request.model}"]
        if request.effort:
            argv += ["--effort", request.effort]
        if request.resume:
            argv += ["--resume", request.resume]
        if not request.keep:
            argv.append("--no-session-persistence")
        if request.messages:
            argv += ["--settings", json.dumps({"hooks": _hooks(request.messages)})]
        return ProcessStart(argv=tuple(argv), stdin=request.prompt)

    def reader(self) -> Reader:
        return _ClaudeReader()


def _hooks(folder: Path) -> dict[str, object]:
    """The hooks that take messages. The structured answer is a tool too and ends the turn, so it is denied once."""
    matchers = {protocol.AFTER_TOOL: f"^(?!{_STRUCTURED}$).*$", protocol.BEFORE_TOOL: f"^{_STRUCTURED}$"}
    return {
        event: [
            {
                "matcher": matcher,
                "hooks": [
                    {
                        "type": "command",
                        "command": protocol.take_command(folder, event),
                        "timeout": protocol.TAKE_TIMEOUT_S,
                    }
                ],
            }
        ]
        for event, matcher in matchers.items()
    }


class _ClaudeReader:
    def __init__(self) -> None:
        self._session: str | None = None
        self._commands: dict[str, str] = {}
        self._result: dict[str, object] | None = None

    def feed(self, line: str) -> Sequence[Sign]:
        event = protocol.line_object(line)
        match event.get("type"), event.get("subtype"):
            case "system", "init":
                self._session = str(event.get("session_id", ""))
                return [Began(session_id=self._session)]
            case "assistant", _:
                blocks = protocol.rows(protocol.part(event, "message"), "content")
                self._commands.update(filter(None, map(_command, blocks)))
                return list(filter(None, map(_step, blocks)))
            case "user", _:
                return list(self._ended(event))
            case "result", _:
                self._result = event
            case _:
                pass
        return []

    def _ended(self, event: Mapping[str, object]) -> Iterator[CommandEnded]:
        for block in protocol.rows(protocol.part(event, "message"), "content"):
            command = self._commands.pop(str(block.get("tool_use_id")), None)
            code = _exit_code(block, protocol.part(event, "tool_use_result"))
            if command is not None and code is not None:
                yield CommandEnded(command=command, exit_code=code)

    def end(self, exit_code: int, errors: str) -> Outcome:
        result = self._result
        if result is None:
            return Failed(why=protocol.gave_up(exit_code, errors), session_id=self._session)
        # A result may be called a success and carry an error all the same.
        if result.get("is_error") or result.get("subtype") != "success" or exit_code:
            return Failed(why=_why(result, exit_code, errors), session_id=self._session)
        text = str(result.get("result", ""))
        data = protocol.part(result, "structured_output") or protocol.answer_object(text)
        return HarnessAnswer(text=text, data=data, session_id=self._session)


def _step(block: Mapping[str, object]) -> HarnessStep | None:
    if block.get("type") != "tool_use" or block.get("name") == _STRUCTURED:
        return None
    given = protocol.part(block, "input")
    told = next((given[key] for key in ("command", "file_path", "path", "pattern", "description") if key in given), "")
    return HarnessStep(text=protocol.one_line(f"{block.get('name')}: {told}" if told else str(block.get("name"))))


def _command(block: Mapping[str, object]) -> tuple[str, str] | None:
    command = protocol.part(block, "input").get("command")
    if block.get("type") != "tool_use" or block.get("name") != _SHELL or not isinstance(command, str):
        return None
    return str(block.get("id")), command


def _exit_code(block: Mapping[str, object], result: Mapping[str, object]) -> int | None:
    """How a command ended; None when it went on in the background, was cut short, or was never run."""
    if block.get("is_error"):
        found = _EXIT.match(str(block.get("content", "")))
        return int(found[1]) if found else None
    # A status that Claude Code explains away, such as a grep without matches, is not told as a number.
    unclear = any(result.get(name) for name in ("backgroundTaskId", "interrupted", "returnCodeInterpretation"))
    return 0 if "stdout" in result and not unclear else None


def _why(result: Mapping[str, object], exit_code: int, errors: str) -> str:
    listed = result.get("errors")
    said = str(listed or result.get("result") or protocol.gave_up(exit_code, errors))
    return protocol.one_line(f"{result.get('subtype')}: {said}")
