"""The real Gemini CLI in a checkout that has our hooks, on a machine that has no `tally`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tallystick.harnesses.install.config_entries import HOOKS, TallyProgram, hook_group
from tests.loopback.model import scripted
from tests.loopback.programs import Home, installed
from tests.loopback.saying import Ask, Say, Saying, Use

pytestmark = [pytest.mark.npm, pytest.mark.slow, pytest.mark.timeout(120)]


def test_without_tally_gemini_edits_and_its_model_is_asked_no_more_than_it_speaks(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / ".gemini").mkdir(parents=True)
    hooks = {entry.event: [hook_group("gemini", entry, TallyProgram(path="tally"))] for entry in HOOKS["gemini"]}
    (work / ".gemini/settings.json").write_text(json.dumps({"hooks": hooks}))
    written = work / "sheep.txt"

    def script(ask: Ask) -> Saying:
        if ask.turn == 0:
            return Use(tool="write_file", given={"file_path": str(written), "content": "one\n"})
        # Whoever asks on and on is told so, instead of being answered for ever.
        return Say(text="There is one sheep." if ask.turn < 5 else "enough")

    with scripted(script) as model:
        home = Home(tmp_path / "home", model)
        done = subprocess.run(
            [str(installed("gemini")), "--approval-mode", "yolo", "--prompt", "write the sheep down"],
            cwd=work,
            env={**home.env, "GEMINI_CLI_TRUST_WORKSPACE": "true"},
            capture_output=True,
            text=True,
            check=False,
            timeout=90,
            process_group=0,
        )

    assert (done.returncode, "There is one sheep." in done.stdout) == (0, True), done.stderr
    assert written.read_text() == "one\n"
    assert len(model.asked) == 2
    assert not any(os.access(f"{folder}/tally", os.X_OK) for folder in home.env["PATH"].split(":"))
