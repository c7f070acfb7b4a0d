"""What Tallystick writes into a harness: its MCP server and its hooks, and how to recognise them again.

The same table serves installing, uninstalling and the search for drift; JSON or TOML, as the harness has it.

Codex asks its model without the tools of a server that is slow, unless the server is `required`; without one of those
it does not start at all. What is installed outlives us, so it must come up in any case: where `tally` cannot be
started, a line of shell answers instead.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tallystick.harnesses.errors import ConfigTaken
from tallystick.harnesses.install import file_formats
from tallystick.harnesses.install.config_edit import FileDraft
from tallystick.kernel.json_values import is_list, is_object, list_of, object_of

_SHELL = "sh"
MISSING_TOOL = "tally_cannot_be_started"
"""The one tool that there is then: model and person see by its name what is wrong."""
_HELLO = '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"tally","version":"0"}}'
_TOOL = f'{{"name":"{MISSING_TOOL}","description":"Nothing is coordinated here.","inputSchema":{{"type":"object"}}}}'
_TOOLS = f'{{"tools":[{_TOOL}]}}'
FALLBACK = (
    r'"$0" "$@" && exit; while read -r l; do i=${l#*\"id\":};'
    rf" case $l in *\"initialize\"*) r='{_HELLO}';; *\"id\":*) r='{_TOOLS}';; *) continue;; esac;"
    r""" printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "${i%%,*}" "$r"; done"""
)
"""Only what asks something has an id, which comes first in a line."""

SERVER = "tally"
"""The name that our server has in a harness unless the person chose another."""

SECONDS = 30
"""After which a harness gives a hook up and lets the edit pass: far more than a hook takes on a busy machine."""

A_PERSON = 24 * 60 * 60
"""The same for a hook that waits for a person, beside whom the harness asks in its own way."""

IDENTITY = "TALLYSTICK_AGENT"
"""The variable by which an agent is named."""

STATUS_EVENT = "StatusLine"
"""What `tally hook claude` is asked for a status line, which is no hook."""

HOOK_COMMAND = re.compile(r"""(?:^|[/\\\s'"])tally(?:\.exe)?['"]?(?:\s+--data-dir[= ]\S+)?\s+hook\s+\w+\s+\w+""")


def guarded(command: Sequence[str]) -> Mapping[str, str | list[str]]:
    """The entry of a server that runs this command, and answers itself where that cannot be run."""
    return {"command": _SHELL, "args": ["-c", FALLBACK, *command]}


def started_command(entry: object) -> list[str]:
    """The command that a server's entry runs, without the shell around it."""
    found = object_of(entry)
    words = [word for word in [found.get("command"), *list_of(found.get("args"))] if isinstance(word, str)]
    return words[3:] if words[:2] == [_SHELL, "-c"] else words


@dataclass(frozen=True, slots=True, kw_only=True)
class TallyProgram:
    """How a harness is to call us."""

    path: str
    """The command: absolute for one person, its bare name where others share the file."""
    data_dir: str = ""
    """Only where the person chose another than the usual one."""
    forward: Sequence[str] = field(default=())
    """Variables that the server needs and a harness would not hand on."""
    name: str = ""
    """The server's name in the harness, where the person chose one."""
    allowed: bool = False
    """Whether our tools run without a question: a permission says so in Claude Code, elsewhere the server's entry."""

    @property
    def arguments(self) -> list[str]:
        return ["mcp", *(["--data-dir", self.data_dir] if self.data_dir else [])]

    def hook(self, harness: str, event: str) -> str:
        """The command line of a hook; where the program is not there, it lets everything pass.

        A shell ends with 127 when it finds no program, which Gemini CLI takes for a denial of every edit and of every
        end of a turn: its model is then asked again for ever.
        """
        where = ["--data-dir", self.data_dir] if self.data_dir else []
        command = shlex.join([self.path, "hook", harness, event, *where])
        if os.name == "nt":
            return command
        return f"command -v {shlex.quote(self.path)} >/dev/null 2>&1 || exit 0; exec {command}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEntry:
    event: str
    matcher: str = ""
    seconds: int = SECONDS


HOOKS: Mapping[str, Sequence[HookEntry]] = {
    "claude": (
        # Our own tools too: only a hook is told which sub-agent calls one.
        HookEntry(event="PreToolUse", matcher="^(Edit|MultiEdit|Write|NotebookEdit|Bash|mcp__.*tally.*)$"),
        HookEntry(event="PermissionRequest", seconds=A_PERSON),
        HookEntry(event="PostToolUse", matcher="Edit|MultiEdit|Write|NotebookEdit|Bash|Read"),
        HookEntry(event="UserPromptSubmit"),
        HookEntry(event="SessionStart"),
        HookEntry(event="SubagentStart"),
        HookEntry(event="Stop"),
        HookEntry(event="SessionEnd"),
    ),
    "codex": (
        HookEntry(event="PreToolUse", matcher="Bash|apply_patch"),
        HookEntry(event="PermissionRequest"),
        HookEntry(event="PostToolUse", matcher="Bash|apply_patch"),
        HookEntry(event="UserPromptSubmit"),
        HookEntry(event="SessionStart"),
        HookEntry(event="SubagentStart"),
        HookEntry(event="Stop"),
        HookEntry(event="SessionEnd"),
    ),
    "gemini": (
        HookEntry(event="BeforeTool", matcher="write_file|replace|run_shell_command"),
        HookEntry(event="AfterTool", matcher="write_file|replace|run_shell_command|read_file"),
        HookEntry(event="BeforeAgent"),
        HookEntry(event="SessionStart"),
        HookEntry(event="AfterAgent"),
        HookEntry(event="SessionEnd"),
    ),
}


def server(harness: str, program: TallyProgram) -> Mapping[str, object]:
    """Our entry among the harness's MCP servers."""
    if harness == "codex":
        return _codex_server(program)
    entry = {"command": program.path, "args": program.arguments}
    if harness == "claude":
        return {"type": "stdio", **entry, "env": {}}
    return {**entry, **({"trust": True} if program.allowed else {})}


def _codex_server(program: TallyProgram) -> Mapping[str, str | list[str] | bool]:
    # Codex gives its servers nothing of its environment; the name that a person or `tally attach` chose is in it.
    told = {"env_vars": [IDENTITY, *program.forward]}
    allowed = {"default_tools_approval_mode": "approve"} if program.allowed else {}
    if os.name == "nt":  # Where no shell could answer for us, and Codex would not start without us.
        return {"command": program.path, "args": program.arguments, **told, **allowed}
    return {**guarded([program.path, *program.arguments]), **told, "required": True, **allowed}


def is_allowed(entry: object) -> bool:
    """Whether a server's entry says that its tools run without a question."""
    found = object_of(entry)
    return found.get("trust") is True or found.get("default_tools_approval_mode") == "approve"


def hook_group(harness: str, entry: HookEntry, program: TallyProgram) -> dict[str, object]:
    """Our entry among the hooks of one event."""
    command: dict[str, object] = {"type": "command", "command": program.hook(harness, entry.event)}
    if harness == "gemini":
        command = {"name": "tallystick", **command, "timeout": entry.seconds * 1000}
    else:
        command = {**command, "timeout": entry.seconds}
    return {**({"matcher": entry.matcher} if entry.matcher else {}), "hooks": [command]}


def serves_tally(entry: object) -> bool:
    """Whether a server's entry is one of ours, by whatever path it is started."""
    program, *args = [*started_command(entry), ""]
    return _is_tally(program) and args[:1] == ["mcp"]


def reaches_tally(entry: object) -> bool:
    """Whether a server's entry speaks to a hub of ours over HTTP."""
    return url_of(entry).rstrip("/").endswith("/mcp")


def url_of(entry: object) -> str:
    found = object_of(entry)
    url = found.get("url") or found.get("httpUrl") or found.get("serverUrl")
    return url if isinstance(url, str) else ""


def command_of(entry: object) -> str:
    command = object_of(entry).get("command")
    return command if isinstance(command, str) else ""


def our_commands(group_: object) -> list[str]:
    """The commands of ours in one group of hooks."""
    commands = [command_of(each) for each in list_of(object_of(group_).get("hooks"))]
    return [command for command in commands if HOOK_COMMAND.search(command)]


def program_of(command: str) -> str:
    """The program that a hook's command line starts."""
    try:
        return next((word for word in shlex.split(command) if _is_tally(word)), "")
    except ValueError:
        return command


def _is_tally(command: str) -> bool:
    return re.split(r"[/\\]", command)[-1].removesuffix(".exe") == "tally"


TABLES = {"claude": "mcpServers", "codex": "mcp_servers", "gemini": "mcpServers"}


def servers(harness: str, text: str) -> Mapping[str, object]:
    """The MCP servers that a configuration names."""
    if not text.strip():
        return {}
    whole: object = file_formats.read_toml(text) if harness == "codex" else file_formats.read_json(text).value
    return object_of(object_of(whole).get(TABLES[harness]))


def name_of_ours(known: Mapping[str, object]) -> str | None:
    """Under which name one of ours is there already."""
    return next((name for name, entry in known.items() if serves_tally(entry)), None)


def trusted_hooks(text: str) -> Mapping[str, object]:
    """What Codex's configuration says of the hooks that somebody has looked at, by file, event and place in it."""
    whole: object = file_formats.read_toml(text) if text.strip() else {}
    return object_of(object_of(object_of(whole).get("hooks")).get("state"))


def add_server(harness: str, draft: FileDraft, program: TallyProgram) -> FileDraft:
    """With our server, unless one is there that works; one of ours that no longer does is written anew."""
    known = servers(harness, draft.text or "")
    earlier = name_of_ours(known)
    name = program.name or earlier or SERVER
    present = known.get(name)
    if is_allowed(known.get(earlier or name)):
        # Once agreed to, it stays until it is taken back.
        program = replace(program, allowed=True)
    wanted = server(harness, program)
    if present == wanted or reaches_tally(present):
        return draft
    if present is not None:
        if not serves_tally(present):
            raise ConfigTaken(
                f"{draft.path} has a server called '{name}' that is not ours.",
                hint=f"Give ours another name: `tally install {harness} --name tallystick`.",
                path=str(draft.path),
            )
        if draft.receipt is None and shutil.which(started_command(present)[0]) and not program.allowed:
            return replace(draft, note=f"the server '{name}' was there already and works")
    if earlier:
        draft = _without(harness, draft.taken_back(is_server), earlier, _pieces(draft))
    path, text = (TABLES[harness], name), draft.text or ""
    if harness == "codex":
        return draft.inserted(*file_formats.added_toml(text, path, _codex_server(program)))
    return draft.inserted(*file_formats.add_json(text, path, wanted))


def remove_server(harness: str, draft: FileDraft) -> FileDraft:
    """Without what `tally install` has written; an entry that somebody else made is left, and said to be."""
    written, pieces = draft.receipt is not None, _pieces(draft)
    draft = draft.taken_back(is_server).gone_if_empty()
    known = servers(harness, draft.text or "")
    name = name_of_ours(known)
    if name is None:
        return draft if harness == "codex" else _tidied(draft, pieces, (TABLES[harness],))
    if not written and not _as_written(harness, known[name]):
        return replace(draft, note=f"the server '{name}' is not from `tally install`: take it out by hand")
    return _without(harness, draft, name, pieces)


def _pieces(draft: FileDraft) -> Sequence[str]:
    return draft.receipt.pieces if draft.receipt else ()


def _without(harness: str, draft: FileDraft, name: str, written: Sequence[str]) -> FileDraft:
    if draft.text is None or name not in servers(harness, draft.text):
        return draft
    if harness == "codex":
        return replace(draft, text=file_formats.removed_toml(draft.text, (TABLES[harness], name)))
    text = file_formats.removed_json(draft.text, (TABLES[harness], name))
    return _tidied(replace(draft, text=text), written, (TABLES[harness],))


def _tidied(draft: FileDraft, written: Sequence[str], *paths: tuple[str, ...]) -> FileDraft:
    """Without what is empty now and came with our pieces, and without a file that holds nothing else."""
    for path in paths:
        found = file_formats.find_json(file_formats.read_json(draft.text), path) if draft.text else None
        if draft.text and found and not found.members and any(f'"{path[-1]}": ' in piece for piece in written):
            draft = replace(draft, text=file_formats.removed_json(draft.text, path))
    ours = draft.receipt is not None and draft.receipt.created
    empty = draft.text and draft.text.strip() and not file_formats.read_json(draft.text).members
    return replace(draft, text=None) if ours and empty else draft


def is_server(piece: str) -> bool:
    """Of our pieces, the one that is a server: its arguments begin with this word, and no hook has it in quotes."""
    return '"mcp"' in piece


def _as_written(harness: str, present: object) -> bool:
    """Whether an entry has only what `tally install` writes, as in a project where somebody else ran it."""
    keys = set(server(harness, TallyProgram(path="tally", forward=("-",), allowed=True)))
    return is_object(present) and present.keys() <= keys


def add_hooks(harness: str, draft: FileDraft, program: TallyProgram) -> FileDraft:
    """Each of our hooks once, as it is written today; what an older install or a copy left behind goes."""
    present = our_hooks(draft.text or "")
    wanted = {
        entry.event: _with_matcher(hook_group(harness, entry, program), present.get(entry.event, ()), draft)
        for entry in HOOKS[harness]
    }
    if present == {event: [group] for event, group in wanted.items()}:
        return draft
    draft = remove_hooks(draft)
    for event, group in wanted.items():
        draft = draft.inserted(*file_formats.add_json(draft.text or "", ("hooks", event), group, to_list=True))
    return draft


def _with_matcher(wanted: dict[str, object], present: Sequence[object], draft: FileDraft) -> dict[str, object]:
    """Our group with the matcher that the person has given it since it was written; one that we wrote is renewed."""
    chosen = object_of(present[0]).get("matcher") if len(present) == 1 else None
    if not isinstance(chosen, str) or chosen == wanted.get("matcher"):
        return wanted
    ours = any(f'"matcher": {json.dumps(chosen)}' in piece for piece in _pieces(draft))
    return wanted if ours else {"matcher": chosen, **{key: wanted[key] for key in wanted if key != "matcher"}}


def remove_hooks(draft: FileDraft) -> FileDraft:
    written = _pieces(draft)
    draft = draft.taken_back(is_hook).gone_if_empty()
    events = list(our_hooks(draft.text or ""))
    while draft.text and (found := _first(draft.text)):
        draft = replace(draft, text=file_formats.cut_json(draft.text, *found))
    return _tidied(draft, written, *(("hooks", event) for event in events), ("hooks",)) if events else draft


def is_hook(piece: str) -> bool:
    """Of our pieces, those that are hooks."""
    return bool(HOOK_COMMAND.search(piece)) and STATUS_EVENT not in piece


def our_hooks(text: str) -> dict[str, list[object]]:
    """The groups that hold a command of ours, by event."""
    found = {event: [group for group in each if our_commands(group)] for event, each in hook_groups(text).items()}
    return {event: each for event, each in found.items() if each}


def hook_groups(text: str) -> Mapping[str, list[object]]:
    """The groups of hooks that settings hold, by event."""
    if not text.strip():
        return {}
    hooks = file_formats.find_json(file_formats.read_json(text), ("hooks",))
    found = object_of(hooks.value if hooks else None)
    return {event: each for event, each in found.items() if is_list(each)}


def _first(text: str) -> tuple[file_formats.Node, int] | None:
    """Where our first command stands: the list and its place there. A group that holds nothing else goes whole."""
    root = file_formats.read_json(text)
    for event in our_hooks(text):
        holder = file_formats.find_json(root, ("hooks", event))
        for index, member in enumerate(holder.members if holder else ()):
            commands = our_commands(member.node.value)
            inside = file_formats.find_json(member.node, ("hooks",))
            if holder and inside and commands:
                if len(commands) == len(inside.members):
                    return holder, index
                each = [command_of(hook.node.value) in commands for hook in inside.members]
                return inside, each.index(True)
    return None
