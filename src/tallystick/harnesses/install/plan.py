"""What `tally install` and `tally uninstall` would change, and in which files of which scope."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib import resources
from pathlib import Path

from tallystick.harnesses.errors import UnknownHarness
from tallystick.harnesses.install import config_entries
from tallystick.harnesses.install.config_edit import ConfigEdits, FileChange, FileDraft, InstallReceipts
from tallystick.harnesses.install.config_entries import TallyProgram

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


NAMES = ("claude", "codex", "gemini")


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
    harness: str, config_files: ConfigFiles, program: TallyProgram, receipts: InstallReceipts, *, hooks: bool
) -> list[FileChange]:
    """The changes that bring our server, the skill and, if asked for, the hooks into a harness."""
    drafts = ConfigEdits(receipts)
    drafts.edit(config_files.servers, "MCP server", lambda draft: config_entries.add_server(harness, draft, program))
    if hooks:
        drafts.edit(config_files.hooks, "hooks", lambda draft: config_entries.add_hooks(harness, draft, program))
    drafts.edit(config_files.skill, "skill", _with_skill)
    return drafts.changes()


def uninstall(harness: str, config_files: ConfigFiles, receipts: InstallReceipts) -> list[FileChange]:
    """The changes that take our part out again, and nothing else. The hooks came last and go first."""
    drafts = ConfigEdits(receipts)
    drafts.edit(config_files.hooks, "hooks", config_entries.remove_hooks)
    drafts.edit(config_files.servers, "MCP server", lambda draft: config_entries.remove_server(harness, draft))
    drafts.edit(config_files.skill, "skill", _without_skill)
    return drafts.changes()


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
