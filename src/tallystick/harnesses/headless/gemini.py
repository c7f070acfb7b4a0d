"""Gemini CLI without a terminal: prompt on stdin, one event per line of output. It knows no schema for its answer."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tallystick.harnesses.headless import protocol
from tallystick.harnesses.headless.protocol import (
    Began,
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

_APPROVAL = {Sandbox.READ_ONLY: "plan", Sandbox.WORKSPACE_WRITE: "yolo", Sandbox.FULL_ACCESS: "yolo"}


class Gemini:
    command = "gemini"

    def start(self, binary: Sequence[str], request: HarnessRequest) -> ProcessStart:
        # An empty --prompt asks for a call without a terminal; what comes on stdin stands before it.
        argv = [*binary, "--output-format", "stream-json", "--approval-mode", _APPROVAL[request.sandbox]]
        argv += ["--skip-trust", "--prompt", ""]
        if request.model:
            argv += [f"--model={request.model}"]
        if request.resume:
            argv += ["--resume", request.resume]
        prompt = request.prompt
        if request.schema is not None:
            prompt += f"\n\nAnswer with one JSON object that fits this schema:\n{json.dumps(request.schema)}\n"
        return ProcessStart(argv=tuple(argv), stdin=prompt)

    def reader(self) -> Reader:
        return _GeminiReader()


class _GeminiReader:
    def __init__(self) -> None:
        self._session: str | None = None
        self._said: list[str] = []
        self._uses: dict[str, str] = {}
        self._result: dict[str, object] | None = None
        self._wrong = ""

    def feed(self, line: str) -> Sequence[Sign]:
        event = protocol.line_object(line)
        match event.get("type"):
            case "init":
                self._session = str(event.get("session_id", ""))
                return [Began(session_id=self._session)]
            case "message":
                if event.get("role") == "assistant":
                    self._said.append(str(event.get("content", "")))
            case "tool_use":
                self._said.clear()
                self._uses[str(event.get("tool_id"))] = _use(event)
            case "tool_result":
                text = self._uses.pop(str(event.get("tool_id")), "a tool")
                return [HarnessStep(text=text, ok=event.get("status") == "success")]
            case "error":
                self._wrong = str(event.get("message", ""))
            case "result":
                self._result = event
            case _:
                pass
        return []

    def end(self, exit_code: int, errors: str) -> Outcome:
        result = self._result
        if exit_code or result is None or result.get("status") != "success":
            said = protocol.part(result or {}, "error").get("message") or self._wrong
            why = protocol.one_line(str(said)) if said else protocol.gave_up(exit_code, errors)
            return Failed(why=why, session_id=self._session)
        text = "".join(self._said)[: protocol.SAID_CHARS]
        return HarnessAnswer(text=text, data=protocol.answer_object(text), session_id=self._session)


def _use(event: dict[str, object]) -> str:
    given = protocol.part(event, "parameters")
    told = next((given[key] for key in ("command", "file_path", "path", "pattern") if key in given), "")
    return protocol.one_line(f"{event.get('tool_name')}: {told}" if told else str(event.get("tool_name")))
