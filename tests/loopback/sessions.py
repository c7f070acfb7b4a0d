"""Real harnesses in the ways people run them: who each of server, hook and shell says that they are."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from tests.loopback.programs import installed, known
from tests.loopback.saying import Ask, Say, Saying, Use
from tests.loopback.workplace import STARTING, TOOL_PREFIX, HarnessHome
from tests.stories.terminals import Pane, Recording, recorded
from tests.surfaces.cli.place import TALLY
from tests.waiting import until

SHELL = {
    "claude": ("Bash", "command"),
    "codex": ("exec_command", "cmd"),
    "gemini": ("run_shell_command", "command"),
}
CALL: Mapping[str, Sequence[str]] = {
    "claude": ("-p", "--output-format", "json", "--allowedTools", "mcp__tally,Bash,Edit,Agent"),
    "codex": ("exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"),
    "gemini": ("--approval-mode", "yolo", "-o", "json"),
}
FREE: Mapping[str, Sequence[str]] = {"codex": ("--dangerously-bypass-approvals-and-sandbox",)}
"""Codex's own sandbox hides the harness's processes from its shell."""
OPEN: Mapping[str, Sequence[str]] = {
    "claude": ("--allowedTools", "mcp__tally,Bash", "--"),
    "codex": (),
    "gemini": ("--approval-mode", "yolo", "--prompt-interactive"),
}
"""The same in a window; the prompt comes last."""
ASKING: Mapping[str, Sequence[str]] = {"claude": ("--permission-mode", "default", "--"), "codex": ()}
"""In a window where a person is asked before a command runs."""
UNASKED = 'approval_policy = "never"\nsandbox_mode = "danger-full-access"\n'
AGENT = re.compile(r"Tallystick: you are (\S+) in room")


def tool(harness: str, name: str, **given: object) -> Use:
    return Use(tool=f"{TOOL_PREFIX[harness]}{name}", given=given)


def typed(harness: str, command: str) -> Use:
    name, parameter = SHELL[harness]
    return Use(tool=name, given={parameter: command})


def answers(results: Sequence[str]) -> list[dict[str, object]]:
    """What our tools and commands have returned, without what a harness puts around it."""
    found: list[dict[str, object]] = []
    for text in results:
        plain = str(json.loads(text).get("output", text)) if text.startswith('{"output"') else text
        with suppress(ValueError):
            found.append(json.JSONDecoder().raw_decode(plain[plain.index("{") :])[0])
    return found


@dataclass
class WhoAmI:
    """A model that asks our server and its shell who it is, and how that ends."""

    place: HarnessHome
    command: str = f"{TALLY} --json whoami"
    ending: Saying = field(default_factory=lambda: Say(text="That is me."))
    asked: list[Ask] = field(default_factory=list[Ask])
    """Since the latest run began."""

    def anew(self) -> None:
        self.asked.clear()

    def __call__(self, ask: Ask) -> Saying:
        if not ask.tools:
            return Say(text="A title")
        self.asked.append(ask)
        harness = self.place.harness
        if self.place.tool("join_path") not in ask.tools and len(self.asked) < 150:
            return STARTING[harness]
        # A session that goes on still has the answers of before.
        done = answers(ask.results[len(self.asked[0].results) :])
        if not any("workspace_root" in each for each in done):
            return tool(harness, "join_path", context_path=str(self.place.root))
        if not any("command" in each for each in done):
            return typed(harness, self.command)
        return self.ending

    def said(self) -> dict[str, str]:
        """The agent of each surface, as the harness's own requests to its model show them."""
        last = self.asked[-1]
        done = answers(last.results[len(self.asked[0].results) :])
        joined = next(each for each in done if "workspace_root" in each)
        who = cast("dict[str, object]", next(each for each in done if "command" in each)["data"])
        told = AGENT.findall(f"{last.told}\n{last.prompt}")
        return {"mcp": str(joined["agent_id"]), "shell": str(who["agent_id"]), "hook": told[-1] if told else ""}


def ran(
    place: HarnessHome,
    prompt: str,
    *,
    resume: str | None = None,
    sandboxed: bool = False,
    cwd: Path | None = None,
) -> str:
    """Run it without a terminal; the session's id."""
    harness = place.harness
    free: Sequence[str] = () if sandboxed else FREE.get(harness, ())
    argv = [str(installed(harness)), *CALL[harness], *free]
    stdin = prompt
    if harness == "codex":
        argv = [*argv[:2], "resume", resume, *argv[2:], "-"] if resume else [*argv, "-"]
    elif resume:
        argv += ["--resume", resume]
    if harness == "gemini":
        argv, stdin = [*argv, "--prompt", prompt], ""
    done = subprocess.run(
        argv,
        input=stdin,
        cwd=cwd or place.root,
        env=place.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-2000:])
    text = done.stdout.splitlines()[0] if harness == "codex" else done.stdout[done.stdout.index("{") :]
    row = cast("dict[str, object]", json.loads(text))
    return str(row.get("thread_id") or row.get("session_id"))


def trusted(place: HarnessHome) -> None:
    """As after a person has looked at our hooks in Codex's `/hooks`: it keeps a digest of each."""
    if place.harness != "codex":
        return
    hooks, config = (place.home.path / ".codex" / name for name in ("hooks.json", "config.toml"))
    rows: list[str] = []
    for event, groups in cast("dict[str, list[dict[str, object]]]", json.loads(hooks.read_text())["hooks"]).items():
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
        for at, group in enumerate(groups):
            each = [{"async": False, **hook} for hook in cast("list[dict[str, object]]", group["hooks"])]
            if name == "session_end":
                each = [{**hook, "timeout": 3} for hook in each]  # It allows that one no more.
            seen = {"event_name": name, **group, "hooks": each}
            text = json.dumps(seen, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
            digest = hashlib.sha256(text.encode()).hexdigest()
            rows.append(f'[hooks.state."{hooks}:{name}:{at}:0"]\ntrusted_hash = "sha256:{digest}"\n')
    config.write_text("\n".join([config.read_text(), *rows]))


@contextmanager
def windows(place: HarnessHome, *prompts: str, asking: bool = False) -> Generator[Recording]:
    """The program in a terminal for each prompt, as people leave it open. Codex serves all of them by one process.

    It would make that one itself, from a copy of its whole installation in each home. Where a person is `asking` to be
    asked, there is one terminal more, the last, with a shell for them.
    """
    known(place.harness, place.home.path, place.root)
    command, env = [str(installed(place.harness))], {**place.environ, "TMPDIR": "/var/tmp"}
    with ExitStack() as ending:
        if place.harness == "codex":
            trusted(place)
            config = place.home.path / ".codex/config.toml"
            config.write_text(f"{'' if asking else UNASKED}{config.read_text()}")
            # Sockets have short names.
            address = f"unix://{ending.enter_context(tempfile.TemporaryDirectory(prefix='t-', dir='/tmp'))}/s"
            ending.enter_context(_service([*command, "app-server", "--listen", address], place.root, env))
            command += ["--remote", address]
        options = (ASKING if asking else OPEN)[place.harness]
        opened = [[*command, *options, prompt] for prompt in prompts] + [["sh"]] * asking
        path = {"PATH": f"{Path(TALLY).parent}:{env['PATH']}"}
        panes = [Pane(title=argv[-1], rows=30, argv=argv, env={**env, **path}) for argv in opened]
        yield ending.enter_context(recorded(panes, 100, place.root))


@contextmanager
def _service(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Generator[None]:
    socket = Path(argv[-1].removeprefix("unix://"))
    with subprocess.Popen(argv, cwd=cwd, env=env, process_group=0, stderr=subprocess.DEVNULL) as service:
        try:
            until(socket.exists)
            yield
        finally:
            os.killpg(service.pid, signal.SIGKILL)
