"""Where each harness keeps its configuration, for one person (`user`) or for everybody in a workspace (`project`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tallystick.harnesses.errors import UnknownHarness

SKILL = Path("skills") / "tallystick" / "SKILL.md"


class Scope(StrEnum):
    USER = "user"
    PROJECT = "project"


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The files of one harness in one scope; where a harness keeps servers and hooks together, two are the same."""

    servers: Path
    hooks: Path
    skill: Path


NAMES = ("claude", "codex", "gemini")


def places(harness: str, scope: Scope, *, root: Path, environ: Mapping[str, str]) -> Places:
    """`root` is the workspace's; the environment says where the person's home is, and what they moved elsewhere."""
    home = Path(environ.get("HOME") or "~").expanduser()
    match harness, scope:
        case "claude", Scope.USER:
            moved = environ.get("CLAUDE_CONFIG_DIR")
            folder = Path(moved).expanduser() if moved else home / ".claude"
            servers = (folder if moved else home) / ".claude.json"
            return Places(servers=servers, hooks=folder / "settings.json", skill=folder / SKILL)
        case "claude", Scope.PROJECT:
            folder = root / ".claude"
            return Places(servers=root / ".mcp.json", hooks=folder / "settings.json", skill=folder / SKILL)
        case "codex", Scope.USER:
            folder = Path(environ.get("CODEX_HOME") or home / ".codex").expanduser()
            return Places(servers=folder / "config.toml", hooks=folder / "hooks.json", skill=folder / SKILL)
        case "codex", Scope.PROJECT:
            folder = root / ".codex"
            skill = root / ".agents" / SKILL
            return Places(servers=folder / "config.toml", hooks=folder / "hooks.json", skill=skill)
        case "gemini", _:
            above = Path(environ.get("GEMINI_CLI_HOME") or home).expanduser() if scope is Scope.USER else root
            settings = above / ".gemini" / "settings.json"
            return Places(servers=settings, hooks=settings, skill=above / ".gemini" / SKILL)
        case _:
            raise UnknownHarness(f"There is no harness called '{harness[:40]}'.", harness=harness)


def workspace(folder: Path) -> Path:
    """The root that a project's configuration belongs to: the repository's, or the folder itself."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)
