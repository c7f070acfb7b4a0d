"""A home folder and a repository in which `tally install` runs as a real program."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tallystick.harnesses.install.config_entries import HOOKS, TallyProgram, hook_group
from tests.surfaces.cli.place import TALLY, Done, Place

HARNESSES = ("claude", "codex", "gemini")
FILES = {
    ("claude", "user"): (".claude.json", ".claude/settings.json", ".claude/skills/tallystick/SKILL.md"),
    ("codex", "user"): (".codex/config.toml", ".codex/hooks.json", ".codex/skills/tallystick/SKILL.md"),
    ("gemini", "user"): (".gemini/settings.json", ".gemini/skills/tallystick/SKILL.md"),
    ("claude", "project"): (".mcp.json", ".claude/settings.json", ".claude/skills/tallystick/SKILL.md"),
    ("codex", "project"): (".codex/config.toml", ".codex/hooks.json", ".agents/skills/tallystick/SKILL.md"),
    ("gemini", "project"): (".gemini/settings.json", ".gemini/skills/tallystick/SKILL.md"),
}


@dataclass(frozen=True, slots=True)
class Machine:
    place: Place

    def base(self, scope: str) -> Path:
        return self.place.home if scope == "user" else self.place.workspace

    def files(self, harness: str, scope: str) -> list[Path]:
        return [self.base(scope) / name for name in FILES[harness, scope]]

    def install(self, harness: str, *options: str) -> Done:
        return self.place.run("--json", "install", harness, *options)

    def uninstall(self, harness: str, *options: str) -> Done:
        return self.place.run("--json", "uninstall", harness, *options)

    def tree(self) -> dict[str, bytes | None]:
        """Every file and folder of the machine, but for the data directory."""
        found = sorted(self.place.root.rglob("*"))
        data = self.place.home / ".local"
        return {
            path.relative_to(self.place.root).as_posix(): path.read_bytes() if path.is_file() else None
            for path in found
            if not path.is_relative_to(data)
        }


def codex_home(folder: Path, *, trusted: bool) -> Path:
    """A folder for `CODEX_HOME` with our hooks, which somebody has looked at or not."""
    folder.mkdir(parents=True)
    hooks = folder / "hooks.json"
    ours = {entry.event: [hook_group("codex", entry, TallyProgram(path=TALLY))] for entry in HOOKS["codex"]}
    hooks.write_text(json.dumps({"hooks": ours}), "utf-8")
    if trusted:
        seen = f'[hooks.state."{hooks}:pre_tool_use:0:0"]\ntrusted_hash = "sha256:0"\n'
        (folder / "config.toml").write_text(seen, "utf-8")
    return folder


__all__ = ["FILES", "HARNESSES", "TALLY", "Machine", "codex_home"]
