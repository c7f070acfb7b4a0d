# ruff: noqa: ARG002, ASYNC221, ASYNC240, PTH110 - it does one thing at a time, and what its base asks for
"""A member of a team as a program of its own that speaks ACP; its argument says whose manners it has."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import Any

import acp
from acp.schema import StopReason

from tests.runtime.programs.acp_agent import ScriptedAgent
from tests.stories.team import line_for

ENDS_THE_TURN = {"codex"}
"""Who is denied something there has nothing more to say."""


class TeamMember(ScriptedAgent):
    async def _answered(self, session_id: str, words: str, count: int) -> StopReason:
        line = line_for(words)
        if line is None:
            await self._say(session_id, "Nobody asked me that.")
            return "end_turn"
        while line.once and not os.path.exists(line.once):
            if self._cancelled[session_id].is_set():
                return "cancelled"
            await asyncio.sleep(0.01)
        if line.runs:
            if await self._permitted(session_id, line.runs):
                subprocess.run(["sh", "-c", line.runs], capture_output=True, check=False)
            elif sys.argv[1] in ENDS_THE_TURN:
                return "cancelled"
        await self._say(session_id, line.says)
        return "end_turn"


if __name__ == "__main__":
    agent: Any = TeamMember()
    asyncio.run(acp.run_agent(agent))
