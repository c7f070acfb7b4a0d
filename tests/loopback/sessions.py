"""Real harnesses with our server, hooks and shell: who each of the three surfaces says that the session is."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tests.loopback.programs import Home, installed
from tests.loopback.saying import Ask, Say, Saying, Script, Use
from tests.surfaces.cli.place import TALLY

TOOL = {"claude": "mcp__tally__{}", "codex": "mcp__tally.{}", "gemini": "mcp_tally_{}"}
SHELL = {
    "claude": ("Bash", "command"),
    "codex": ("exec_command", "cmd"),
    "gemini": ("run_shell_command", "command"),
}
LATER = {
    "claude": Use(tool="WaitForMcpServers", given={}),
    "codex": Use(tool="exec_command", given={"cmd": "sleep 0.3"}),
}
"""What each does to let its servers come up."""
CALL = {
    "claude": ["-p", "--output-format", "json", "--allowedTools", "mcp__tally,Bash,Edit,Agent"],
    "codex": ["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"],
    "gemini": ["--approval-mode", "yolo", "-o", "json"],
}
FREE = {"codex": ["--dangerously-bypass-approvals-and-sandbox"]}
"""Codex's own sandbox hides the harness's processes from its shell."""
AGENT = re.compile(r"Tallystick: you are (\S+) in room")


def tool(harness: str, name: str, **given: object) -> Use:
    return Use(tool=TOOL[harness].format(name), given=given)


def typed(harness: str, command: str) -> Use:
    name, field = SHELL[harness]
    return Use(tool=name, given={field: command})


def answers(ask: Ask) -> list[dict[str, object]]:
    """What our tools and commands have returned, without what a harness puts around it."""
    found: list[dict[str, object]] = []
    for text in ask.results:
        plain = str(json.loads(text).get("output", text)) if text.startswith('{"output"') else text
        with suppress(ValueError):
            found.append(json.JSONDecoder().raw_decode(plain[plain.index("{") :])[0])
    return found


@dataclass(frozen=True, slots=True)
class Harness:
    """One of the three programs, installed for a person with our server and hooks."""

    name: str
    home: Home
    work: Path

    @classmethod
    def ready(cls, name: str, home: Home, work: Path) -> Harness:
        work.mkdir(exist_ok=True)
        done = subprocess.run(
            [TALLY, "install", name, "--hooks"], cwd=work, env=home.env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done
        return cls(name, home, work)

    def run(
        self,
        prompt: str,
        *,
        resume: str | None = None,
        env: Mapping[str, str] | None = None,
        sandboxed: bool = False,
        cwd: Path | None = None,
    ) -> str:
        """Run it without a terminal; the session's id."""
        argv = [str(installed(self.name)), *CALL[self.name], *([] if sandboxed else FREE.get(self.name, []))]
        stdin = prompt
        if self.name == "codex":
            argv = [*argv[:2], "resume", resume, *argv[2:], "-"] if resume else [*argv, "-"]
        elif resume:
            argv += ["--resume", resume]
        if self.name == "gemini":
            argv, stdin = [*argv, "--prompt", prompt], ""
        done = subprocess.run(
            argv,
            input=stdin,
            cwd=cwd or self.work,
            env={**self.home.env, "GEMINI_CLI_TRUST_WORKSPACE": "true", **(env or {})},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-2000:])
        text = done.stdout.splitlines()[0] if self.name == "codex" else done.stdout[done.stdout.index("{") :]
        row = cast("dict[str, object]", json.loads(text))
        return str(row.get("thread_id") or row.get("session_id"))


def three_surfaces(harness: str, root: Path) -> tuple[list[Ask], Script]:
    """A model that asks our server and the shell who it is."""
    asked: list[Ask] = []

    def script(ask: Ask) -> Saying:
        asked.append(ask)
        if not any(name.endswith("join_path") for name in ask.tools) and harness in LATER and ask.turn < 20:
            return LATER[harness]
        done = answers(ask)
        if not any("workspace_root" in each for each in done):
            return tool(harness, "join_path", context_path=str(root))
        if not any("session_kind" in str(each) and "command" in each for each in done):
            return typed(harness, f"{TALLY} --json whoami")
        return Say(text="That is me.")

    return asked, script


def said(asked: Sequence[Ask]) -> dict[str, str]:
    """The agent of each surface, as the harness's own requests to its model show them."""
    last = asked[-1]
    done = answers(last)
    joined = next(each for each in done if "workspace_root" in each)
    who = next(each for each in done if "command" in each)
    told = AGENT.findall(f"{last.told}\n{last.prompt}")
    return {
        "mcp": str(joined["agent_id"]),
        "shell": str(cast("dict[str, object]", who["data"])["agent_id"]),
        "hook": told[-1] if told else "",
    }
