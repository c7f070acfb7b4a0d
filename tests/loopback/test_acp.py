"""Real harnesses attached over ACP, driven by the scripted model: ask, be asked for permission, go on."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import cast

import pytest

from tests import npm
from tests.http.running import Json, RunningHub
from tests.loopback.model import scripted
from tests.loopback.programs import Home
from tests.loopback.saying import Say, Use, lines
from tests.runtime.world import World
from tests.waiting import eventually

pytestmark = [pytest.mark.npm, pytest.mark.slow, pytest.mark.timeout(300)]

PROGRAMS = {
    "claude": ("@agentclientprotocol/claude-agent-acp@0.99.1", "Bash", "command"),
    "codex": ("@agentclientprotocol/codex-acp@2.6.0", "exec_command", "cmd"),
    "gemini": ("@google/gemini-cli@0.61.0", "run_shell_command", "command"),
}
MORE = {"claude": {"IS_SANDBOX": "1"}}
"""Claude Code would not start for root, which is who runs tests in a container."""


def asked(world: World, text: str) -> Json:
    sent = world.user.call("messages.send", room_id=world.room_id, text=text, to=["worker"])
    return world.outcomes(world.user, {"group_id": cast("Json", sent["event"])["id"]})[0]


@pytest.mark.parametrize("command", sorted(PROGRAMS))
def test_a_real_harness_over_acp_asks_for_permission_and_answers(tmp_path: Path, command: str) -> None:
    package, tool, field = PROGRAMS[command]
    bin = npm.installed(package) / ".bin"
    given = {field: "echo 3 > sheep"}
    extra = {"sandbox_permissions": "require_escalated", "justification": "count"} if command == "codex" else {}
    script = lines(Use(tool=tool, given={**given, **extra}), Say(text="Three."), Say(text="Still three."))
    with tempfile.TemporaryDirectory(prefix="tally-") as folder, scripted(script) as model:
        hub = RunningHub(Path(folder) / "data", environ={"TALLYSTICK_HTTP_RATE": "0"}).start()
        world = World(hub, tmp_path)
        try:
            home = Home(tmp_path / "home", model).env
            env = {**home, "PATH": f"{bin}:{home['PATH']}"}
            agent = world.start(
                "attach", "--name", "worker", "--room", world.room_id, "--", command, **env, **MORE.get(command, {})
            )
            agent.until("ready")
            sent = world.user.call("messages.send", room_id=world.room_id, text="count the sheep", to=["worker"])

            def waiting() -> Json | None:
                found = world.user.call("permissions.list", room_id=world.room_id)
                return next(iter(cast("list[Json]", found["permissions"])), None)

            request = eventually(waiting)
            world.user.call(
                "permissions.answer", room_id=world.room_id, permission=request["permission"], decision="allow"
            )
            first = world.outcomes(world.user, {"group_id": cast("Json", sent["event"])["id"]})[0]
            second = asked(world, "and now?")
        finally:
            world.close()
            hub.stop()

    assert (first["reply"], second["reply"]) == ("Three.", "Still three.")
    assert "echo 3" in str(request["command"])
