# ruff: noqa: ARG002 - the names are the library's
"""A scripted agent that speaks ACP by the protocol's Python library, which refuses what its schema does not hold.

What it does follows from the first word of the last line of a prompt; whatever it does not know it answers with how
many prompts this session has had. Sessions are files, so that they can be loaded again after a kill.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import acp
from acp import helpers
from acp.schema import (
    AgentCapabilities,
    AllowedOutcome,
    McpCapabilities,
    PermissionOption,
    PlanEntry,
    PromptResponse,
    StopReason,
    ToolCallUpdate,
)

Play: TypeAlias = Callable[[str, str], Awaitable[StopReason]]

STATE = Path(os.environ["HARNESS_STATE"])
OPTIONS = [
    PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
    PermissionOption(option_id="always", name="Always", kind="allow_always"),
    PermissionOption(option_id="no", name="No", kind="reject_once"),
]


class ScriptedAgent:
    def __init__(self) -> None:
        self._cancelled: dict[str, asyncio.Event] = {}
        self._calls = 0

    def on_connect(self, conn: acp.Client) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **kwargs: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(
            protocol_version=1,
            agent_capabilities=AgentCapabilities(load_session=True, mcp_capabilities=McpCapabilities(http=True)),
        )

    async def new_session(self, cwd: str, **kwargs: Any) -> acp.NewSessionResponse:
        session_id = uuid4().hex
        self._note(session_id, began=kwargs)
        return acp.NewSessionResponse(session_id=session_id)

    async def load_session(self, cwd: str, session_id: str, **kwargs: Any) -> acp.LoadSessionResponse:
        if not self._file(session_id).exists():
            raise acp.RequestError(-32002, "no such session")
        await self._say(session_id, "this was said before")
        return acp.LoadSessionResponse()

    async def set_session_mode(self, session_id: str, mode_id: str, **kwargs: Any) -> acp.SetSessionModeResponse:
        self._note(session_id, mode=mode_id)
        return acp.SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **kwargs: Any
    ) -> acp.SetSessionConfigOptionResponse:
        self._note(session_id, **{config_id: value})
        return acp.SetSessionConfigOptionResponse(config_options=[])

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        self._cancelled[session_id].set()

    async def prompt(self, session_id: str, prompt: list[Any], **kwargs: Any) -> PromptResponse:
        self._cancelled[session_id] = asyncio.Event()
        words = "".join(each.text for each in prompt)
        count = self._note(session_id, prompt=words)
        return PromptResponse(stop_reason=await self._answered(session_id, words, count))

    async def _answered(self, session_id: str, words: str, count: int) -> StopReason:
        """Answer the prompt; how its turn ended."""
        script, _, rest = words.splitlines()[-1].partition(" ")
        play: Play | None = getattr(self, f"_play_{script}", None)
        if play is None:
            await self._say(session_id, f"prompt {count}: {words}")
            return "end_turn"
        return await play(session_id, rest)

    async def _play_steps(self, session_id: str, rest: str) -> StopReason:
        await self._say(session_id, "I look at it.")
        entries = [PlanEntry(content="look", status="completed", priority="medium")]
        await self._client.session_update(session_id, helpers.update_plan(entries))
        call = helpers.start_tool_call("t1", "Read a.txt", kind="read", status="pending")
        await self._client.session_update(session_id, call)
        diff = helpers.tool_diff_content("a.txt", "new\n", "old\n")
        await self._client.session_update(session_id, helpers.update_tool_call("t1", content=[diff]))
        for chunk in ("It is ", "done."):
            await self._say(session_id, chunk)
        return "end_turn"

    async def _play_run(self, session_id: str, rest: str) -> StopReason:
        """Run a command, once it may; being denied does not end the turn."""
        allowed = await self._permitted(session_id, rest)
        await self._say(session_id, f"ran {rest}" if allowed else f"did not run {rest}")
        return "end_turn"

    async def _play_strict(self, session_id: str, rest: str) -> StopReason:
        """The same, where being denied ends the turn."""
        if not await self._permitted(session_id, rest):
            return "cancelled"
        await self._say(session_id, f"ran {rest}")
        return "end_turn"

    async def _play_own(self, session_id: str, rest: str) -> StopReason:
        """Use a tool of ours."""
        self._calls += 1
        call = ToolCallUpdate(tool_call_id=f"c{self._calls}", title=rest, kind="other", raw_input={})
        reply = await self._client.request_permission(session_id, call, OPTIONS)
        await self._say(session_id, "allowed" if isinstance(reply.outcome, AllowedOutcome) else "not allowed")
        return "end_turn"

    async def _permitted(self, session_id: str, command: str) -> bool:
        self._calls += 1
        call = ToolCallUpdate(
            tool_call_id=f"c{self._calls}", title=command, kind="execute", raw_input={"command": command}
        )
        asking = asyncio.ensure_future(self._client.request_permission(session_id, call, OPTIONS))
        cancelled = asyncio.ensure_future(self._cancelled[session_id].wait())
        await asyncio.wait([asking, cancelled], return_when=asyncio.FIRST_COMPLETED)
        outcome = (await asking).outcome
        cancelled.cancel()
        self._note(session_id, outcome=outcome.model_dump())
        return isinstance(outcome, AllowedOutcome) and outcome.option_id == "yes"

    async def _play_sleep(self, session_id: str, rest: str) -> StopReason:
        await self._say(session_id, "z" * 500)
        await self._cancelled[session_id].wait()
        return "cancelled"

    async def _play_deaf(self, session_id: str, rest: str) -> StopReason:
        await self._say(session_id, "z" * 500)
        await asyncio.Event().wait()
        return "end_turn"

    async def _play_die(self, session_id: str, rest: str) -> StopReason:
        sys.stderr.write("out of luck\n")
        sys.stderr.flush()
        os._exit(3)

    async def _play_long(self, session_id: str, rest: str) -> StopReason:
        await self._say(session_id, "long answer " * int(rest))
        return "end_turn"

    async def _say(self, session_id: str, text: str) -> None:
        await self._client.session_update(session_id, helpers.update_agent_message_text(text))

    def _file(self, session_id: str) -> Path:
        return STATE / f"{session_id}.session"

    def _note(self, session_id: str, **what: Any) -> int:
        """Keep what happened in a session; how many prompts it has had."""
        with self._file(session_id).open("a") as file:
            file.write(json.dumps(what, default=repr) + "\n")
        return sum('"prompt"' in line for line in self._file(session_id).read_text().splitlines())


if __name__ == "__main__":
    (STATE / f"{os.getpid()}.environ").write_text(json.dumps(dict(os.environ)))
    agent: Any = ScriptedAgent()
    asyncio.run(acp.run_agent(agent))
