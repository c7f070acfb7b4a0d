"""The same server, hooks and skill as a Claude Code plugin, a Codex plugin and a Gemini CLI extension.

They lie in a checkout under `plugins/`, with the marketplace files that two of the harnesses look for at its root.
`python -m tallystick.harnesses.install.plugins` writes them; a test compares them with what stands there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from tallystick.harnesses.install import config_entries, plan
from tallystick.harnesses.install.config_entries import HOOKS, SERVER, TallyProgram

NAME = "tallystick"
ABOUT = "Turns, reservations, messages and handoffs among the agents that work on the same code."
PROGRAM = TallyProgram(path="tally")
"""Whoever installs a plugin has `tally` on the PATH; where it is not, the hooks let everything pass."""
FOLDER = "plugins"
_HEAD = {"name": NAME, "version": metadata.version("tallystick"), "description": ABOUT}


def files() -> Mapping[str, str]:
    """Every file by its path in the checkout."""
    codex = {**_HEAD, "skills": "./skills/", "mcpServers": "./.mcp.json", "hooks": "./hooks/hooks.json"}
    gemini = {**_HEAD, "mcpServers": _servers("gemini")}
    found: dict[str, object] = {
        ".claude-plugin/marketplace.json": _claude_marketplace(),
        ".agents/plugins/marketplace.json": _codex_marketplace(),
        f"{FOLDER}/claude/.claude-plugin/plugin.json": {**_HEAD, "author": {"name": "Tallystick"}},
        f"{FOLDER}/claude/.mcp.json": {"mcpServers": _servers("claude")},
        f"{FOLDER}/codex/.codex-plugin/plugin.json": codex,
        f"{FOLDER}/codex/.mcp.json": {"mcpServers": _servers("codex")},
        f"{FOLDER}/gemini/gemini-extension.json": gemini,
        **{f"{FOLDER}/{harness}/hooks/hooks.json": {"hooks": _hooks(harness)} for harness in HOOKS},
    }
    written = {path: json.dumps(value, indent=2, ensure_ascii=False) + "\n" for path, value in found.items()}
    return {**written, **{f"{FOLDER}/{harness}/skills/{NAME}/SKILL.md": plan.skill_text() for harness in HOOKS}}


def _servers(harness: str) -> Mapping[str, object]:
    return {SERVER: config_entries.server(harness, PROGRAM)}


def _hooks(harness: str) -> Mapping[str, object]:
    return {entry.event: [config_entries.hook_group(harness, entry, PROGRAM)] for entry in HOOKS[harness]}


def _claude_marketplace() -> Mapping[str, object]:
    plugin = {"name": NAME, "source": f"./{FOLDER}/claude", "description": ABOUT}
    return {"name": NAME, "owner": {"name": "Tallystick"}, "metadata": {"description": ABOUT}, "plugins": [plugin]}


def _codex_marketplace() -> Mapping[str, object]:
    source = {"source": "local", "path": f"./{FOLDER}/codex"}
    plugin = {"name": NAME, "source": source, "policy": {"installation": "AVAILABLE"}, "category": "Developer Tools"}
    return {"name": NAME, "plugins": [plugin]}


def write(root: Path) -> None:
    for name, text in files().items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    write(Path.cwd())
