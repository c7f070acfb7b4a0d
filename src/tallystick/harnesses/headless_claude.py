"""Claude Code without a terminal: `claude -p`, prompt on stdin, one JSON object per line of output."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tallystick.harnesses import headless
from tallystick.harnesses.headless import Answer, Began, Failed, Outcome, Reader, Request, Sandbox, Sign, Start, Step

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
_STRUCTURED = "StructuredOutput"


class ClaudeCode:
    command = "claude"

    def start(self, binary: Sequence[str], request: Request) -> Start:
        argv = [*binary, "-p", "--output-format", "stream-json", "--verbose", *_PERMISSIONS[request.sandbox]]
        if request.schema is not None:
            argv += ["--json-schema", json.dumps(request.schema, separators=(",", ":"))]
        if request.model:
            argv += ["--model", request.model]
        if request.effort:
            argv += ["--effort", request.effort]
        if request.resume:
            argv += ["--resume", request.resume]
        if not request.keep:
            argv.append("--no-session-persistence")
        return Start(argv=tuple(argv), stdin=request.prompt)

    def reader(self) -> Reader:
        return _Reader()


class _Reader:
    def __init__(self) -> None:
        self._session: str | None = None
        self._result: dict[str, object] | None = None

    def feed(self, line: str) -> Sequence[Sign]:
        event = headless.line_object(line)
        match event.get("type"), event.get("subtype"):
            case "system", "init":
                self._session = str(event.get("session_id", ""))
                return [Began(session_id=self._session)]
            case "assistant", _:
                return list(filter(None, map(_step, headless.rows(headless.part(event, "message"), "content"))))
            case "result", _:
                self._result = event
            case _:
                pass
        return []

    def end(self, exit_code: int, errors: str) -> Outcome:
        result = self._result
        if result is None:
            return Failed(why=headless.gave_up(exit_code, errors), session_id=self._session)
        # A result may be called a success and carry an error all the same.
        if result.get("is_error") or result.get("subtype") != "success" or exit_code:
            return Failed(why=_why(result, exit_code, errors), session_id=self._session)
        text = str(result.get("result", ""))
        data = headless.part(result, "structured_output") or headless.answer_object(text)
        return Answer(text=text, data=data, session_id=self._session)


def _step(block: Mapping[str, object]) -> Step | None:
    if block.get("type") != "tool_use" or block.get("name") == _STRUCTURED:
        return None
    given = headless.part(block, "input")
    told = next((given[key] for key in ("command", "file_path", "path", "pattern", "description") if key in given), "")
    return Step(text=headless.one_line(f"{block.get('name')}: {told}" if told else str(block.get("name"))))


def _why(result: Mapping[str, object], exit_code: int, errors: str) -> str:
    listed = result.get("errors")
    said = str(listed or result.get("result") or headless.gave_up(exit_code, errors))
    return headless.one_line(f"{result.get('subtype')}: {said}")
