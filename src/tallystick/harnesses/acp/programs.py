"""The harnesses that speak ACP, and what is peculiar to each: a table, read by one client.

Every entry was tried with the real program; what each release changes is looked for by `tests/loopback`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from tallystick.harnesses.headless.protocol import Sandbox, line_object, part

TALLY = "tally"
"""What our MCP server is called in a session."""
ATTACHED = "tally_attached"
"""The same, where another one has that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcpProgram:
    commands: tuple[tuple[str, ...], ...]
    """How it may be started, first that is there; with the name it is asked for, in its place."""
    modes: Mapping[Sandbox, str] = field(default_factory=dict[Sandbox, str])
    """The mode to set for how far it may reach, where its own would not ask a person."""
    options: Mapping[Sandbox, Mapping[str, str]] = field(default_factory=dict[Sandbox, Mapping[str, str]])
    """The same as options of a session, for a harness that has it there."""
    own_tools: tuple[str, ...] = ()
    """How the calls of our own MCP tools begin, by title or id: these need nobody's permission."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """Where it is not set already; what is JSON stands beside what is there."""
    session_meta: Mapping[str, object] = field(default_factory=dict[str, object])
    """`_meta` of a new session."""
    http_mcp_only: bool = False
    config_variable: str = ""
    """A variable with JSON that is merged into its configuration: our server goes there, and is waited for."""
    noise: str = ""
    """What the harness says in the agent's name, as a pattern."""
    controls: Mapping[str, str] = field(default_factory=dict[str, str])
    """The controls that it has, as commands in a prompt."""
    model_method: str = "session/set_config_option"
    """How a model is chosen; empty where it cannot be."""
    engine: tuple[str, str] = ("", "")
    """A variable that names the program within, and what that is called: an adapter brings one of its own."""
    loads: bool = True
    """Whether an earlier session can be relied on; otherwise what was said is told again."""


_MODES = "https://agentclientprotocol.com/protocol/session-modes#"
_CLAUDE_TOOLS = {"claudeCode": {"options": {"allowedTools": ["mcp__tally"]}}}

ACP_PROGRAMS: Mapping[str, AcpProgram] = MappingProxyType(
    {
        "claude": AcpProgram(
            commands=(("claude-agent-acp",), ("claude-code-acp",)),
            modes={Sandbox.READ_ONLY: "plan", Sandbox.WORKSPACE_WRITE: "default", Sandbox.FULL_ACCESS: "auto"},
            own_tools=("mcp__tally__",),
            environment={"CLAUDE_AGENT_ACP_PROTOCOL": "v1", "ENABLE_TOOL_SEARCH": "false"},
            session_meta=_CLAUDE_TOOLS,
            controls={"compact": "/compact", "review": "/review"},
            engine=("CLAUDE_CODE_EXECUTABLE", "claude"),
        ),
        "codex": AcpProgram(
            commands=(("codex-acp",),),
            modes={
                Sandbox.READ_ONLY: "read-only",
                Sandbox.WORKSPACE_WRITE: "workspace-write",
                Sandbox.FULL_ACCESS: "agent-full-access",
            },
            own_tools=("mcp__tally", f"{TALLY}.", f"{ATTACHED}."),
            environment={"NO_BROWSER": "1"},
            config_variable="CODEX_CONFIG",
            noise=r"Warning: ",
            engine=("CODEX_PATH", "codex"),
        ),
        "gemini": AcpProgram(
            commands=(("gemini", "--acp"),),
            modes={Sandbox.READ_ONLY: "plan", Sandbox.WORKSPACE_WRITE: "default", Sandbox.FULL_ACCESS: "yolo"},
            own_tools=("mcp_tally_",),
            environment={"GEMINI_CLI_TRUST_WORKSPACE": "true"},
            model_method="session/set_model",
            # A session that is loaded within the minute in which it was begun is destroyed by that.
            loads=False,
        ),
        "opencode": AcpProgram(
            commands=(("opencode", "acp"),),
            options={
                Sandbox.READ_ONLY: {"mode": "plan"},
                Sandbox.WORKSPACE_WRITE: {"mode": "build"},
                Sandbox.FULL_ACCESS: {"mode": "build"},
            },
            own_tools=("tally_",),
            environment={"OPENCODE_CONFIG_CONTENT": json.dumps({"permission": {"edit": "ask", "bash": "ask"}})},
        ),
        "qwen": AcpProgram(
            # Otherwise our tools come only to a model that searches for them.
            commands=(("qwen", "--acp", "--exclude-tools", "tool_search", "--exclude-tools", "tool_call"),),
            modes={Sandbox.READ_ONLY: "plan", Sandbox.WORKSPACE_WRITE: "default", Sandbox.FULL_ACCESS: "yolo"},
            own_tools=("mcp__tally__",),
        ),
        "copilot": AcpProgram(
            commands=(("copilot", "--acp"),),
            modes={Sandbox.READ_ONLY: f"{_MODES}plan", Sandbox.WORKSPACE_WRITE: f"{_MODES}agent"},
            options={Sandbox.FULL_ACCESS: {"allow_all": "on"}},
            own_tools=("tally-",),
            http_mcp_only=True,
            noise=r"Info: |Warning: ",
        ),
    }
)
"""By the name under which people know them."""

ANY = AcpProgram(commands=())
"""Any other program that speaks the protocol."""


def beside(given: str, value: str) -> str:
    """What a variable of `environment` holds where something is given."""
    objects = line_object(given), line_object(value)
    return json.dumps({**objects[1], **objects[0]}) if all(objects) else given


def merged_config(given: str, argv: Sequence[str], env: Mapping[str, str], *, elsewhere: bool = False) -> str:
    """What goes into `config_variable`: what stands there already, and our server, without which no turn begins.

    An entry cannot have a command beside the address that it has; one of our name that leads `elsewhere` is put off.
    """
    kept = line_object(given)
    server = {"command": argv[0], "args": list(argv[1:]), "env": dict(env), "required": True}
    ours = {TALLY: {"enabled": False}, ATTACHED: server} if elsewhere else {TALLY: server}
    return json.dumps({**kept, "mcp_servers": {**part(kept, "mcp_servers"), **ours}})
