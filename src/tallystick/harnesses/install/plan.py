"""What `tally install` and `tally uninstall` would change, and in which files of which scope."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib import resources
from pathlib import Path

from tallystick.harnesses.errors import ConfigUnreadable, UnknownHarness
from tallystick.harnesses.install import config_entries, file_formats
from tallystick.harnesses.install.config_edit import ConfigEdits, FileChange, FileDraft, InstallReceipts, read_text
from tallystick.harnesses.install.config_entries import HOOK_COMMAND, SERVER, STATUS_EVENT, TallyProgram, command_of
from tallystick.kernel.json_values import list_of, object_of

SKILL = Path("skills") / "tallystick" / "SKILL.md"


class InstallScope(StrEnum):
    USER = "user"
    PROJECT = "project"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFiles:
    """The files of one harness in one scope; where a harness keeps servers and hooks together, two are the same."""

    servers: Path
    hooks: Path
    skill: Path


def config_files(harness: str, scope: InstallScope, *, root: Path, environ: Mapping[str, str]) -> ConfigFiles:
    """`root` is the workspace's; the environment says where the person's home is, and what they moved elsewhere."""
    home = Path(environ.get("HOME") or "~").expanduser()
    match harness, scope:
        case "claude", InstallScope.USER:
            moved = environ.get("CLAUDE_CONFIG_DIR")
            folder = Path(moved).expanduser() if moved else home / ".claude"
            servers = (folder if moved else home) / ".claude.json"
            return ConfigFiles(servers=servers, hooks=folder / "settings.json", skill=folder / SKILL)
        case "claude", InstallScope.PROJECT:
            folder = root / ".claude"
            return ConfigFiles(servers=root / ".mcp.json", hooks=folder / "settings.json", skill=folder / SKILL)
        case "codex", InstallScope.USER:
            folder = Path(environ.get("CODEX_HOME") or home / ".codex").expanduser()
            return ConfigFiles(servers=folder / "config.toml", hooks=folder / "hooks.json", skill=folder / SKILL)
        case "codex", InstallScope.PROJECT:
            folder = root / ".codex"
            skill = root / ".agents" / SKILL
            return ConfigFiles(servers=folder / "config.toml", hooks=folder / "hooks.json", skill=skill)
        case "gemini", _:
            above = Path(environ.get("GEMINI_CLI_HOME") or home).expanduser() if scope is InstallScope.USER else root
            settings = above / ".gemini" / "settings.json"
            return ConfigFiles(servers=settings, hooks=settings, skill=above / ".gemini" / SKILL)
        case _:
            raise UnknownHarness(f"There is no harness called '{harness[:40]}'.", harness=harness)


def workspace(folder: Path) -> Path:
    """The root that a project's configuration belongs to: the repository's, or the folder itself."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)


CHANGED_BY_HAND = "it was changed by hand and stays as it is"


def skill_text() -> str:
    return resources.files("tallystick.harnesses").joinpath("skill.md").read_text("utf-8")


def install(
    harness: str,
    config_files: ConfigFiles,
    program: TallyProgram,
    receipts: InstallReceipts,
    *,
    hooks: bool,
    status_line: bool = False,
) -> list[FileChange]:
    """The changes that bring our server, the skill and, if asked for, the rest into a harness."""
    drafts = ConfigEdits(receipts)
    drafts.edit(config_files.servers, "MCP server", lambda draft: config_entries.add_server(harness, draft, program))
    if hooks:
        drafts.edit(config_files.hooks, "hooks", lambda draft: config_entries.add_hooks(harness, draft, program))
    if harness == "claude" and program.allowed:
        known = config_entries.servers(harness, read_text(config_files.servers) or "")
        name = program.name or config_entries.name_of_ours(known) or SERVER
        drafts.edit(config_files.hooks, "permission", lambda draft: add_permission(draft, name))
    if harness == "claude" and status_line:
        drafts.edit(config_files.hooks, "status line", lambda draft: add_status_line(draft, program))
    drafts.edit(config_files.skill, "skill", _with_skill)
    return drafts.changes()


def uninstall(harness: str, config_files: ConfigFiles, receipts: InstallReceipts) -> list[FileChange]:
    """The changes that take our part out again, and nothing else. The hooks came last and go first."""
    drafts = ConfigEdits(receipts)
    drafts.edit(config_files.hooks, "hooks", _without_settings)
    drafts.edit(config_files.servers, "MCP server", lambda draft: config_entries.remove_server(harness, draft))
    drafts.edit(config_files.skill, "skill", _without_skill)
    return drafts.changes()


def _without_settings(draft: FileDraft) -> FileDraft:
    """Without the hooks, and the permission and status line that came after them."""
    return config_entries.remove_hooks(remove_permission(remove_status_line(draft)))


def _with_skill(draft: FileDraft) -> FileDraft:
    text = skill_text()
    if draft.text == text:
        return draft
    written = draft.receipt.pieces if draft.receipt else ()
    if draft.text is not None and (draft.text,) != written:
        return replace(draft, note=CHANGED_BY_HAND)
    if draft.receipt:
        draft = replace(draft, receipt=replace(draft.receipt, pieces=()))
    return draft.inserted(text, text)


def _without_skill(draft: FileDraft) -> FileDraft:
    if draft.text is None:
        return draft
    written = draft.receipt.pieces if draft.receipt else (skill_text(),)
    return replace(draft, text=None) if (draft.text,) == written else replace(draft, note=CHANGED_BY_HAND)


# Claude Code keeps the permission for our tools and the status line in its settings, beside the hooks.
PERMISSIONS = ("permissions", "allow")
STATUS_LINE = ("statusLine",)


def add_permission(draft: FileDraft, name: str) -> FileDraft:
    """Let the tools of our server, whatever it is called, run without a question."""
    rule = f"mcp__{name}"
    if rule in list_of(_at(draft.text, PERMISSIONS)):
        return draft
    return draft.inserted(*file_formats.add_json(draft.text or "", PERMISSIONS, rule, to_list=True))


def remove_permission(draft: FileDraft) -> FileDraft:
    """Without the permission that `tally install` gave; one that the person gave is theirs."""
    rules = [rule for piece in (draft.receipt.pieces if draft.receipt else ()) if (rule := _rule_in(piece))]
    draft = draft.taken_back(lambda piece: _rule_in(piece) is not None).gone_if_empty()
    for rule in rules:
        holder = file_formats.find_json(file_formats.read_json(draft.text), PERMISSIONS) if draft.text else None
        at = next((at for at, each in enumerate(holder.members if holder else ()) if each.node.value == rule), None)
        if draft.text and holder and at is not None:
            draft = replace(draft, text=file_formats.cut_json(draft.text, holder, at))
    return draft


def _rule_in(piece: str) -> str | None:
    found = re.search(r'"(mcp__[^"]+)"', piece)
    return found[1] if found and not HOOK_COMMAND.search(piece) else None


def add_status_line(draft: FileDraft, program: TallyProgram) -> FileDraft:
    """Show stick, mail and reservations below the prompt; a status line that is there already stays."""
    wanted = {"type": "command", "command": program.hook("claude", STATUS_EVENT)}
    present = _at(draft.text, STATUS_LINE)
    if present == wanted:
        return draft
    if present is not None and not HOOK_COMMAND.search(command_of(present)):
        return replace(draft, note="there is another status line, which stays")
    draft = remove_status_line(draft)
    return draft.inserted(*file_formats.add_json(draft.text or "", STATUS_LINE, wanted))


def remove_status_line(draft: FileDraft) -> FileDraft:
    draft = draft.taken_back(is_status_line).gone_if_empty()
    if draft.text and HOOK_COMMAND.search(command_of(_at(draft.text, STATUS_LINE))):
        draft = replace(draft, text=file_formats.removed_json(draft.text, STATUS_LINE))
    return draft


def is_status_line(piece: str) -> bool:
    return f"hook claude {STATUS_EVENT}" in piece


def _at(text: str | None, path: tuple[str, ...]) -> object:
    found = file_formats.find_json(file_formats.read_json(text), path) if text and text.strip() else None
    return found.value if found else None


_BEARER = re.compile(r"Bearer\s+(\S+)", re.IGNORECASE)


UNTRUSTED = "Codex runs no hook that nobody has looked at: start codex and type /hooks"
"""Said of hooks that are written as they should be; not even an edit of a reserved path is denied until then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftReport:
    """What one harness has of ours, and what is wrong with it."""

    harness: str
    present: tuple[str, ...]
    wrong: tuple[str, ...]


def examine(
    harness: str, receipts: InstallReceipts, *, root: Path, environ: Mapping[str, str], valid: Callable[[str], bool]
) -> DriftReport:
    """Look at both scopes of a harness. `valid` says whether a token's secret is one of ours and still counts."""
    present, wrong, hooked = list[str](), list[str](), list[str]()
    for scope in InstallScope:
        where = config_files(harness, scope, root=root, environ=environ)
        try:
            look = _Installation(harness, where, receipts)
        except ConfigUnreadable as unreadable:
            wrong.append(unreadable.message)
            continue
        present += [f"{part} ({scope.value})" for part in look.present()]
        wrong += [
            f"{scope.value}: {each}" for each in (*look.missing(), *look.twice(), *look.stale(), *look.tokens(valid))
        ]
        hooked += [scope.value] if look.ours else []
        present += [UNTRUSTED] if harness == "codex" and _unseen(where) else []
    if len(hooked) > 1:
        wrong.append("duplicated: the hooks of user and project both run")
    return DriftReport(harness=harness, present=tuple(present), wrong=tuple(wrong))


def warnings(harness: str, *, folder: Path, environ: Mapping[str, str]) -> list[str]:
    """What whoever starts a harness for others has to know: that its edits are not checked although they look so."""
    if harness != "codex":
        return []
    scopes = (config_files(harness, scope, root=workspace(folder), environ=environ) for scope in InstallScope)
    try:
        unseen = any(_unseen(where) for where in scopes)
    except ConfigUnreadable:
        return []  # Which the harness itself says, and `tally doctor`.
    return [f"{UNTRUSTED}. Until then its edits are not checked against reservations"] if unseen else []


def made_required(harness: str, *, environ: Mapping[str, str]) -> Mapping[str, Mapping[str, object]]:
    """Settings by which whoever starts Codex has it wait for a server of ours that a person added by hand."""
    if harness != "codex" or os.name == "nt":
        return {}
    where = config_files(harness, InstallScope.USER, root=Path(), environ=environ)
    try:
        known = config_entries.servers(harness, read_text(where.servers) or "")
    except ConfigUnreadable:
        return {}
    return {
        name: {**config_entries.guarded(config_entries.started_command(entry)), "required": True}
        for name, entry in known.items()
        if config_entries.serves_tally(entry) and not object_of(entry).get("required") and "." not in name
    }


def reached_by_address(harness: str, *, environ: Mapping[str, str]) -> bool:
    """Whether a person has set our server up as one at an address, under the name that we would give it."""
    where = config_files(harness, InstallScope.USER, root=Path(), environ=environ)
    try:
        known = config_entries.servers(harness, read_text(where.servers) or "")
    except ConfigUnreadable:
        return False
    return bool(config_entries.url_of(known.get(SERVER)))


def _unseen(where: ConfigFiles) -> bool:
    """Whether Codex has no record that somebody trusted the file with our hooks."""
    if not config_entries.our_hooks(read_text(where.hooks) or ""):
        return False
    state = config_entries.trusted_hooks(read_text(where.servers) or "")
    return not any(key.startswith(f"{where.hooks}:") for key in state)


class _Installation:
    def __init__(self, harness: str, where: ConfigFiles, receipts: InstallReceipts) -> None:
        self._harness, self._where, self._receipts = harness, where, receipts
        servers = config_entries.servers(harness, read_text(where.servers) or "")
        self._servers = {
            name: entry
            for name, entry in servers.items()
            if config_entries.serves_tally(entry) or (name == SERVER and config_entries.reaches_tally(entry))
        }
        self.ours = config_entries.our_hooks(read_text(where.hooks) or "")

    def present(self) -> list[str]:
        return [*(["server"] if self._servers else []), *(["hooks"] if self.ours else [])]

    def missing(self) -> Iterator[str]:
        if not self._servers and self._wrote(self._where.servers, config_entries.is_server):
            yield f"missing: the server is not in {self._where.servers} any more"
        lost = {entry.event for entry in config_entries.HOOKS[self._harness]} - self.ours.keys()
        if lost and (self.ours or self._wrote(self._where.hooks, config_entries.is_hook)):
            yield f"missing: the hooks {', '.join(sorted(lost))} are not in {self._where.hooks} any more"
        if (receipt := self._receipts.of(self._where.skill)) and receipt.pieces and not self._where.skill.exists():
            yield f"missing: the skill {self._where.skill} is gone"

    def _wrote(self, path: Path, kind: Callable[[str], bool]) -> bool:
        receipt = self._receipts.of(path)
        return bool(receipt) and any(kind(piece) for piece in (receipt.pieces if receipt else ()))

    def twice(self) -> Iterator[str]:
        if len(self._servers) > 1:
            yield f"duplicated: the servers {', '.join(sorted(self._servers))} are all ours"
        for event, groups in self.ours.items():
            if sum(len(config_entries.our_commands(group)) for group in groups) > 1:
                yield f"duplicated: the hook {event} runs more than once"

    def stale(self) -> Iterator[str]:
        hooks = [
            command
            for groups in self.ours.values()
            for group in groups
            for command in config_entries.our_commands(group)
        ]
        programs = [
            config_entries.started_command(entry)[0]
            for entry in self._servers.values()
            if config_entries.serves_tally(entry)
        ]
        for program in dict.fromkeys([*programs, *(config_entries.program_of(command) for command in hooks)]):
            if not shutil.which(program):
                yield f"stale path: there is no program {program}"

    def tokens(self, valid: Callable[[str], bool]) -> Iterator[str]:
        for name, entry in self._servers.items():
            if not config_entries.reaches_tally(entry):
                continue
            secret = _secret(entry)
            if secret is None or not valid(secret):
                lacks = "has no token" if secret is None else "has a token that is not valid"
                yield f"wrong token: the server {name} ({config_entries.url_of(entry)}) {lacks}"


def _secret(entry: object) -> str | None:
    """The token that an entry sends; None when it sends none. One from a variable cannot be seen and passes."""
    found = object_of(entry)
    headers = found.get("headers") or found.get("http_headers")
    for value in object_of(headers).values():
        if bearer := _BEARER.fullmatch(str(value).strip()):
            return bearer[1]
    return "" if found.get("bearer_token_env_var") or found.get("env_http_headers") else None
