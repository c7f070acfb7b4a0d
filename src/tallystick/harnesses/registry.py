"""The harnesses we know, and how to recognise one by its environment, by a process of its and by its MCP client.

Names are compared whole. Harnesses run their tools under their own binary with another first argument (a sandbox, a
search), and such a process is not an instance of anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessSession:
    """A session by the id that its harness gave it, and the sub-agent in it that is at work."""

    harness: str
    session_id: str
    subagent: str = ""
    """Empty for the session itself."""

    @classmethod
    def read(cls, text: str) -> HarnessSession | None:
        """As `str` writes it; None for anything else."""
        found = _SESSION.fullmatch(text)
        return cls(harness=found[1], session_id=found[2], subagent=found[3] or "") if found else None

    def __str__(self) -> str:
        return " ".join(filter(None, (self.harness, self.session_id, self.subagent)))


_SESSION = re.compile(r"([a-z-]{1,32}) ([\w.:-]{1,200})(?: ([\w.:-]{1,200}))?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Harness:
    slug: str
    markers: tuple[str, ...]
    """Variables that it sets for what it runs. Settings a person may export do not belong here."""
    sessions: tuple[str, ...]
    """Variables that hold its session id, best first."""
    threads: tuple[str, ...] = ()
    """Variables that hold the id of the sub-agent that is running, which is the session's own while none is."""
    call_fields: tuple[str, str] | None = None
    """Session and thread in the `_meta` of every tool call, of a harness that says them there."""
    call_id: str = ""
    """Where `_meta` has the id of the call, under which a hook heard of it before."""
    services: tuple[str, ...] = ()
    """First arguments of a process of its that serves many windows at once."""
    command: str
    """The name of its binary, and of the script that starts it."""
    scripts: tuple[str, ...]
    """How the path of a script or binary ends or goes that does not bear that name."""
    clients: tuple[str, ...]
    """The names its MCP client gives itself."""

    def session_in(self, environ: Mapping[str, str]) -> HarnessSession | None:
        """The session that an environment names."""
        return self._session(_first(environ, self.sessions), _first(environ, self.threads))

    def session_of_call(self, meta: Mapping[str, object]) -> HarnessSession | None:
        """The session that the `_meta` of a tool call names."""
        if self.call_fields is None:
            return None
        session, thread = (text if isinstance(text := meta.get(name), str) else None for name in self.call_fields)
        return self._session(session or thread, thread)

    def _session(self, session: str | None, thread: str | None) -> HarnessSession | None:
        if session is None:
            return None
        return HarnessSession(
            harness=self.slug, session_id=session, subagent="" if thread in {None, session} else thread or ""
        )


def _first(environ: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((environ[name] for name in names if environ.get(name)), None)


# Where markers of several are set and no process decides, the first row wins: Codex is the one that hides its processes
# from its own shell, in a pid namespace of the sandbox.
HARNESSES = (
    Harness(
        slug="codex",
        markers=("CODEX_THREAD_ID", "CODEX_SESSION_ID", "CODEX_CI", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"),
        sessions=("CODEX_SESSION_ID", "CODEX_THREAD_ID"),
        threads=("CODEX_THREAD_ID",),
        call_fields=("sessionId", "threadId"),
        services=("app-server", "mcp-server"),
        command="codex",
        scripts=("/@openai/codex/bin/codex.js",),
        clients=("codex-mcp-client", "codex"),
    ),
    Harness(
        slug="claude-code",
        markers=("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT"),
        sessions=("CLAUDE_CODE_SESSION_ID",),
        call_id="claudecode/toolUseId",
        command="claude",
        scripts=(
            "/@anthropic-ai/claude-code/cli.js",
            "/@anthropic-ai/claude-code/cli-wrapper.cjs",
            "/claude/versions/",
        ),
        clients=("claude-code",),
    ),
    Harness(
        slug="gemini",
        markers=("GEMINI_CLI", "GEMINI_SESSION_ID"),
        sessions=("GEMINI_SESSION_ID",),
        command="gemini",
        scripts=("/@google/gemini-cli/bundle/gemini.js", "/@google/gemini-cli/dist/index.js"),
        clients=("gemini-cli-mcp-client", "gemini-cli"),
    ),
)

TITLES: Mapping[str, str] = {"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI"}
"""What they are called, by the command that starts each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessInvocation:
    """A process that is, or starts, a harness."""

    harness: Harness
    args: tuple[str, ...]
    by_shell: bool
    """A shell script of the harness's name: never the harness itself, always something that starts it."""

    def launches(self, other: HarnessInvocation) -> bool:
        """Whether this is the launcher of its child `other`, not an instance that started another instance.

        A shell may replace itself by its last command, so a nested instance can be a direct child. What gives a
        launcher away is that it hands its arguments on.
        """
        return self.harness is other.harness and (self.by_shell or self.args == other.args)

    @property
    def serves_many(self) -> bool:
        """Whether the process works for many windows, so that its life says nothing of any of them."""
        return self.args[0:1] != () and self.args[0] in self.harness.services


_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "ash"})
_RUNTIME = re.compile(r"node|nodejs|bun|deno|python[\d.]*")
_ROOTED = re.compile(r"/|\.|[A-Za-z]:/")
_CODE = frozenset({"-c", "-e", "-p", "-m", "--eval", "--print"})
_TAKE_A_VALUE = frozenset({"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "-X", "-W"})


@lru_cache(maxsize=1024)
def invocation(name: str, argv: tuple[str, ...]) -> HarnessInvocation | None:
    """Read a process's name and arguments as the call of a known harness."""
    program, *rest = argv or (name,)
    command = _command(program)
    by_shell = command in _SHELLS
    if by_shell or _RUNTIME.fullmatch(command):
        at = _script_at(rest, by_shell=by_shell)
        if at is None:
            return None
        program, rest = rest[at], rest[at + 1 :]
    harness = next((each for each in HARNESSES if _is_of(each, program)), None)
    # A program that writes a title over its arguments leaves blanks behind.
    return HarnessInvocation(harness=harness, args=tuple(filter(None, rest)), by_shell=by_shell) if harness else None


def marked(environ: Mapping[str, str]) -> Harness | None:
    """The harness whose markers this environment carries."""
    return next((each for each in HARNESSES if any(environ.get(name) for name in each.markers)), None)


SANDBOXES = ("CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "SANDBOX_RUNTIME")
"""What Codex and Claude Code set for a command in their sandbox, which may write to the workspace only."""


def sandboxed(environ: Mapping[str, str]) -> bool:
    return any(environ.get(name) for name in SANDBOXES)


def by_slug(slug: str) -> Harness | None:
    return next((each for each in HARNESSES if each.slug == slug), None)


def by_client(client_name: str) -> Harness | None:
    return next((each for each in HARNESSES if client_name.lower() in each.clients), None)


def _is_of(harness: Harness, program: str) -> bool:
    path = program.replace("\\", "/")
    return _command(program) == harness.command or any(
        each in path if each.endswith("/") else path.endswith(each) for each in harness.scripts
    )


@lru_cache(maxsize=1024)
def _command(program: str) -> str:
    path = program.replace("\\", "/")
    # A title that a program gave itself is a whole sentence (`npm exec …`), of which the first word is the program.
    name = PurePosixPath(path if _ROOTED.match(path) else path.partition(" ")[0]).name.lower()
    return name.removeprefix("-").removesuffix(".exe").removesuffix(".js")


def _script_at(args: Sequence[str], *, by_shell: bool) -> int | None:
    """Where among an interpreter's arguments its script stands."""
    skip = False
    for at, arg in enumerate(args):
        if skip or arg in {"run", "--"}:
            skip = False
        elif not arg.startswith("-"):
            return at
        elif _is_code(arg, by_shell=by_shell):
            return None
        else:
            skip = arg in _TAKE_A_VALUE
    return None


def _is_code(option: str, *, by_shell: bool) -> bool:
    """Whether the program text itself follows, as in `bash -lc`, so that there is no script."""
    return "c" in option and not option.startswith("--") if by_shell else option in _CODE
