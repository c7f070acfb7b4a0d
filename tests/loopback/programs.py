"""Real harness programs from npm, each run in a home of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tests import npm
from tests.loopback.model import Model

PACKAGES = {
    "claude": "@anthropic-ai/claude-code@2.1.197",
    "codex": "@openai/codex@0.166.0",
    "gemini": "@google/gemini-cli@0.61.0",
}
GEMINI = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    # A named model, or it would ask another one which to take.
    "model": {"name": "gemini-2.5-flash"},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
}


def installed(command: str) -> Path:
    """The program's path; skips the test, saying so, where npm or the package is not to be had."""
    return npm.installed(PACKAGES[command]) / ".bin" / command


@dataclass(frozen=True, slots=True)
class Home:
    """A home directory in which nobody has an account and the scripted model is the only one."""

    path: Path
    model: Model

    def __post_init__(self) -> None:
        provider = {"name": "loop", "base_url": f"{self.model.url}/v1", "wire_api": "responses", "env_key": "LOOP_KEY"}
        table = "\n".join(f"{name} = {json.dumps(value)}" for name, value in provider.items())
        config = self.path / ".codex/config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(
            f'model = "scripted"\nmodel_provider = "loop"\nweb_search = "disabled"\n\n[model_providers.loop]\n{table}\n'
        )

        settings = self.path / ".gemini/settings.json"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(json.dumps(GEMINI))

    @property
    def env(self) -> dict[str, str]:
        """All that a harness needs; nothing of what this process has."""
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.path),
            "LOOP_KEY": "none",
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": self.model.url,
            "GEMINI_API_KEY": "none",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }


def known(harness: str, home: Path, root: Path) -> None:
    """As on a machine where the harness was used in this folder before: nobody is asked about themes and trust."""
    if harness == "claude":
        file = home / ".claude.json"
        settings = json.loads(file.read_text())
        settings |= {"hasCompletedOnboarding": True, "theme": "dark", "numStartups": 9}
        settings["customApiKeyResponses"] = {"approved": ["none"], "rejected": []}
        settings["projects"] = {str(root): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}}
        file.write_text(json.dumps(settings))
    if harness == "codex":
        config = home / ".codex/config.toml"
        config.write_text(f'{config.read_text()}\n[projects."{root}"]\ntrust_level = "trusted"\n')
