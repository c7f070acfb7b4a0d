"""Codex without a terminal: `codex exec --json`, prompt on stdin, the schema in a file, one event per line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
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

_SANDBOX = {
    Sandbox.READ_ONLY: "read-only",
    Sandbox.WORKSPACE_WRITE: "workspace-write",
    Sandbox.FULL_ACCESS: "danger-full-access",
}


class Codex:
    command = "codex"

    def start(self, binary: Sequence[str], request: HarnessRequest) -> ProcessStart:
        # Set as configuration, because `resume` does not know the flag for it.
        settings: dict[str, object] = {"sandbox_mode": _SANDBOX[request.sandbox], "approval_policy": "never"}
        if request.effort:
            settings["model_reasoning_effort"] = request.effort
        for name, server in request.servers.items():
            settings |= {f"mcp_servers.{name}.{key}": value for key, value in server.items()}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={json.dumps(value)}")]
        if request.messages:
            options += [part for setting in _hooks(request.messages) for part in ("-c", setting)]
        options += ["--json", "--skip-git-repo-check"]
        files = dict[Path, str]()
        if request.schema is not None:
            file = request.scratch / "answer-schema.json"
            files[file] = json.dumps(request.schema)
            options += ["--output-schema", str(file)]
        if request.model:
            options += [f"--model={request.model}"]
        if not request.keep:
            options.append("--ephemeral")
        exec_ = ("exec", "resume", *options, request.resume) if request.resume else ("exec", *options)
        return ProcessStart(argv=(*binary, *exec_, "-"), stdin=request.prompt, files=files)

    def reader(self) -> Reader:
        return _CodexReader()


_LAYER = "/<session-flags>/config.toml"
"""Where Codex says that a setting of the command line came from."""
_EVENTS = {protocol.AFTER_TOOL: "post_tool_use", protocol.STOP: "stop"}
"""What it calls them where it keeps which hooks are trusted."""


def _hooks(folder: Path) -> Sequence[str]:
    """Settings for the hooks that take messages, and for trusting exactly those: no other hook gains by it."""
    settings, trusted = list[str](), list[str]()
    for event, name in _EVENTS.items():
        command = protocol.take_command(folder, event)
        hook = {"async": False, "command": command, "timeout": protocol.TAKE_TIMEOUT_S, "type": "command"}
        identity = json.dumps({"event_name": name, "hooks": [hook]}, separators=(",", ":"), ensure_ascii=False)
        digest = hashlib.sha256(identity.encode()).hexdigest()
        line = f'type="command",command={json.dumps(command)},timeout={protocol.TAKE_TIMEOUT_S}'
        settings.append(f"hooks.{event}=[{{hooks=[{{{line}}}]}}]")
        trusted.append(f'"{_LAYER}:{name}:0:0"={{trusted_hash="sha256:{digest}"}}')
    return [*settings, f"hooks.state={{{','.join(trusted)}}}"]


class _CodexReader:
    def __init__(self) -> None:
        self._session: str | None = None
        self._said: str | None = None
        self._wrong = ""

    def feed(self, line: str) -> Sequence[Sign]:
        event = protocol.line_object(line)
        match event.get("type"):
            case "thread.started":
                self._session = str(event.get("thread_id", ""))
                return [Began(session_id=self._session)]
            case "turn.failed":
                self._wrong = str(protocol.part(event, "error").get("message", "the turn failed"))
            case "turn.completed":
                self._wrong = ""
            case "error":
                # It tries again by itself; only a turn that never completes has failed.
                self._wrong = str(event.get("message", "an error"))
            case "item.completed":
                return self._item(protocol.part(event, "item"))
            case _:
                pass
        return []

    def end(self, exit_code: int, errors: str) -> Outcome:
        if self._wrong or exit_code or self._said is None:
            why = protocol.one_line(self._wrong) or protocol.gave_up(exit_code, errors)
            return Failed(why=why, session_id=self._session)
        return HarnessAnswer(text=self._said, data=protocol.answer_object(self._said), session_id=self._session)

    def _item(self, item: Mapping[str, object]) -> Sequence[Sign]:
        match item.get("type"):
            case "agent_message":
                self._said = str(item.get("text", ""))[: protocol.SAID_CHARS]
                return []
            case "command_execution":
                code, command = item.get("exit_code"), str(item.get("command", ""))
                step = HarnessStep(text=f"ran {protocol.one_line(command, 160)} (exit {code})", ok=code == 0)
                return [step, CommandEnded(command=command, exit_code=code)] if isinstance(code, int) else [step]
            case "file_change":
                paths = ", ".join(str(change.get("path", "")) for change in protocol.rows(item, "changes"))
                return [HarnessStep(text=protocol.one_line(f"changed {paths}"), ok=item.get("status") == "completed")]
            case "mcp_tool_call":
                text = protocol.one_line(f"called {item.get('server')}.{item.get('tool')}")
                return [HarnessStep(text=text, ok=item.get("status") == "completed")]
            case _:
                return []
