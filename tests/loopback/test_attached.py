"""The real Claude Code and Codex attached to the bus, driven by the scripted model."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import cast

import pytest

from tests.http.running import RunningHub
from tests.loopback.model import scripted
from tests.loopback.programs import Home, installed
from tests.loopback.saying import Say, Use, lines
from tests.runtime.world import World, control, message

pytestmark = [pytest.mark.npm, pytest.mark.slow, pytest.mark.timeout(300)]

SHELL = {"codex": ("exec_command", "cmd"), "claude": ("Bash", "command")}


@pytest.mark.parametrize("command", sorted(SHELL))
def test_a_real_harness_works_for_others_follows_up_and_starts_anew(tmp_path: Path, command: str) -> None:
    tool, field = SHELL[command]
    script = lines(Use(tool=tool, given={field: "echo 3 > sheep"}), Say(text="Three."), Say(text="Still three."))
    binary = str(installed(command))
    with tempfile.TemporaryDirectory(prefix="tally-") as folder, scripted(script) as model:
        hub = RunningHub(Path(folder) / "data", environ={"TALLYSTICK_HTTP_RATE": "0"}).start()
        world = World(hub, tmp_path)
        try:
            boss = world.member("boss")
            world.attach("worker", binary, **Home(tmp_path / "home", model).env)
            asked = world.relay(boss, message("worker", "count the sheep"))
            (first,) = world.outcomes(boss, asked)
            (second,) = world.done(boss, message("worker", "and now?"), context_id=asked["context_id"])
            _, third = world.done(
                boss, control("worker", "new"), message("worker", "who are you?"), context_id=asked["context_id"]
            )
            tasks = world.tasks()
        finally:
            world.close()
            hub.stop()

    assert (first["reply"], second["reply"], third["status"]) == ("Three.", "Still three.", "completed")
    assert (world.repo / "sheep").read_text() == "3\n"
    assert any("echo 3 > sheep" in cast("str", detail or "") for _, detail in tasks)
    follow_up = next(ask for ask in model.asked if "and now?" in ask.prompt)
    assert "count the sheep" in follow_up.prompt
    fresh = next(ask for ask in model.asked if "who are you?" in ask.prompt)
    assert "count the sheep" not in fresh.prompt
