"""opencode, Qwen Code and Copilot attached over ACP, each with the scripted model for its only one.

They are long in installing, so these are with the soaks.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

import pytest

from tests import npm
from tests.http.running import Json, RunningHub
from tests.loopback.model import Model, scripted
from tests.loopback.saying import Ask, Say, Saying, Use
from tests.runtime.world import World, message
from tests.waiting import eventually

pytestmark = [pytest.mark.npm, pytest.mark.slow, pytest.mark.soak, pytest.mark.timeout(300)]

PACKAGES = {
    "opencode": "opencode-ai@1.18.33",
    "qwen": "@qwen-code/qwen-code@0.24.4",
    "copilot": "@github/copilot@1.0.102",
}
SHELL: Mapping[str, Callable[[str], Use]] = {
    "opencode": lambda command: Use(tool="bash", given={"command": command, "description": "push it"}),
    "qwen": lambda command: Use(tool="run_shell_command", given={"command": command, "is_background": False}),
    "copilot": lambda command: Use(tool="bash", given={"command": command, "description": "push it"}),
}
OURS = {"opencode": "tally_get_room_state", "qwen": "mcp__tally__get_room_state", "copilot": "tally-get_room_state"}
LATE = {"qwen": Use(tool="glob", given={"pattern": "*"})}
"""What a model does meanwhile, where our tools are not in its first request."""


def environment(slug: str, model: Model) -> dict[str, str]:
    """How each is told of its model. None of them has an account."""
    match slug:
        case "opencode":
            provider = {"anthropic": {"options": {"baseURL": f"{model.url}/v1", "apiKey": "none"}}}
            config = {"provider": provider, "model": "anthropic/claude-sonnet-4-5", "autoupdate": False}
            return {"OPENCODE_CONFIG_CONTENT": json.dumps(config)}
        case "qwen":
            named = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none", "ANTHROPIC_MODEL": "scripted"}
            return {**named, "QWEN_DEFAULT_AUTH_TYPE": "anthropic"}
        case _:
            provider = {"BASE_URL": model.url, "API_KEY": "none", "TYPE": "anthropic"}
            named = {f"COPILOT_PROVIDER_{name}": value for name, value in provider.items()}
            return {**named, "COPILOT_MODEL": "scripted", "COPILOT_OFFLINE": "true"}


@pytest.mark.parametrize("slug", sorted(PACKAGES))
def test_it_uses_our_tools_asks_for_permission_and_answers(tmp_path: Path, slug: str) -> None:
    def script(ask: Ask) -> Saying:
        heard = "\n".join((ask.prompt, *ask.results))
        if "push it" not in ask.prompt or not ask.tools or ask.turn > 20:
            return Say(text="A title")
        if OURS[slug] not in ask.tools:
            return LATE[slug]
        if '"in_order"' not in heard.replace("\\", ""):
            return Use(tool=OURS[slug], given={"room_id": world.room_id})
        if "use the staging database" not in heard:
            return SHELL[slug](f"touch {tmp_path}/pushed")
        return Say(text="Nothing was pushed.")

    binary = npm.installed(PACKAGES[slug]) / ".bin" / slug
    with tempfile.TemporaryDirectory(prefix="tally-") as folder, scripted(script) as model:
        hub = RunningHub(Path(folder) / "data", environ={"TALLYSTICK_HTTP_RATE": "0"}).start()
        world = World(hub, tmp_path)
        try:
            (world.bin / slug).symlink_to(binary)
            (tmp_path / "home").mkdir()
            boss = world.member("boss")
            world.attach("worker", slug, HOME=f"{tmp_path}/home", **environment(slug, model))
            asked = world.relay(boss, message("worker", "push it"))
            number = eventually(lambda: _open(world))
            decision = {"decision": "deny", "message": "use the staging database"}
            world.user.call("permissions.answer", room_id=world.room_id, permission=number, **decision)
            (found,) = world.outcomes(boss, asked)
        finally:
            world.close()
            hub.stop()

    assert (found["status"], found["reply"]) == ("completed", "Nothing was pushed.")
    assert not (tmp_path / "pushed").exists()
    assert (slug in LATE) is (OURS[slug] not in next(ask.tools for ask in model.asked if ask.tools))


def _open(world: World) -> object:
    """The request that waits for an answer: of our own tools none does."""
    found = cast("list[Json]", world.user.call("permissions.list", room_id=world.room_id)["permissions"])
    return found[0]["permission"] if found else None
