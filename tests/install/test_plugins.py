"""The plugins and the extension of a checkout: built from what `tally install` writes, taken by the real programs."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tallystick.harnesses.install import plugins
from tests.loopback.model import scripted
from tests.loopback.programs import Home, installed
from tests.loopback.saying import Ask, Say, Saying
from tests.surfaces.cli.place import TALLY

ROOT = Path(__file__).parents[2]
INSTALL = {
    "claude": [["plugin", "marketplace", "add", "{root}"], ["plugin", "install", "tallystick@tallystick"]],
    "codex": [["plugin", "marketplace", "add", "{root}"], ["plugin", "add", "tallystick@tallystick"]],
    "gemini": [["extensions", "install", "--consent", "{root}/plugins/gemini"]],
}
RUN = {
    "claude": ["-p", "--output-format", "json"],
    "codex": ["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "-"],
    "gemini": ["--output-format", "json", "--prompt", "go"],
}


def test_what_stands_in_the_checkout_is_what_is_built() -> None:
    there = {path: (ROOT / path).read_text("utf-8") for path in plugins.files() if (ROOT / path).exists()}

    assert there == plugins.files(), "run make docs"
    assert not any("/home/" in text or str(ROOT) in text for text in there.values())


@pytest.mark.npm
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("harness", sorted(INSTALL))
def test_a_harness_installs_it_from_a_checkout_and_greets_its_model(tmp_path: Path, harness: str) -> None:
    checkout, work = tmp_path / "checkout", tmp_path / "work"
    plugins.write(checkout)
    (work / ".git").mkdir(parents=True)

    def script(_ask: Ask) -> Saying:
        return Say(text="I am here.")

    with scripted(script) as model:
        home = Home(tmp_path / "home", model)
        path = os.pathsep.join((str(Path(TALLY).parent), home.env["PATH"]))
        env = {**home.env, "PATH": path, "GEMINI_CLI_TRUST_WORKSPACE": "true"}

        def run(*args: str) -> str:
            done = subprocess.run(
                [str(installed(harness)), *args],
                cwd=work,
                env=env,
                input="y\n",
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
            )
            assert done.returncode == 0, (args, done.stdout[-2000:], done.stderr[-2000:])
            return f"{done.stdout}{done.stderr}"

        for args in INSTALL[harness]:
            run(*(arg.replace("{root}", str(checkout)) for arg in args))
        listed = run("mcp", "list")
        run(*RUN[harness])

    assert "tally" in next(line for line in listed.splitlines() if "mcp" in line and "tally" in line)
    assert any("Tallystick: you are " in json.dumps(body) for body in model.bodies), "the hook greets"
    assert any("Take turns, reserve files" in json.dumps(body) for body in model.bodies), "the skill is known"
