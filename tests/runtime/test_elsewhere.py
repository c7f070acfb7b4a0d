"""An agent attached to a hub on another machine, by its address and a token."""

from __future__ import annotations

import pytest

from tests.runtime.world import Process, World, control, message


def attach(world: World, name: str = "worker", *, token: str | None = None, url: str | None = None) -> Process:
    token = token or world.hub.agent("worker", world.room_id).token or ""
    return world.start(
        "attach",
        "--name",
        name,
        "--hub",
        url or f"http://127.0.0.1:{world.hub.port}",
        "--room",
        world.room_id,
        "--",
        "claude",
        TALLYSTICK_TOKEN=token,
        TALLYSTICK_DATA_DIR=str(world.folder / "elsewhere"),
    )


def test_it_works_like_one_on_the_hubs_machine(world: World) -> None:
    boss = world.member("boss")
    attach(world).until("ready")
    asked = world.relay(boss, message("worker", "one"), message("worker", "sleep"), message("worker", "two"))
    world.sleepers()

    (interrupt,) = world.done(boss, control("worker", "interrupt"))
    outcomes = world.outcomes(boss, asked)

    assert interrupt["status"] == "completed"
    assert [(each["status"], each["reply"]) for each in outcomes] == [
        ("completed", "one (1)"),
        ("error", None),
        ("completed", "two (3)"),
    ]


def test_it_survives_a_killed_hub(lone_world: World) -> None:
    world = lone_world
    boss = world.member("boss")
    worker = attach(world)
    worker.until("ready")
    asked = world.relay(boss, message("worker", "sleep"), message("worker", "after"))
    world.sleepers()

    world.hub.kill()
    worker.until("the hub is away")
    world.hub.start()
    worker.until("the hub is back")
    world.done(boss, control("worker", "interrupt"))

    assert [each["status"] for each in world.outcomes(boss, asked)] == ["error", "completed"]


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        ({"token": "wrong"}, 1, "error: "),
        ({"url": "http://127.0.0.1:9"}, 3, "The hub does not answer"),
        ({"name": "other"}, 1, "Your token is for 'worker'."),
    ],
)
def test_what_is_not_let_in_says_why(world: World, given: dict[str, str], code: int, words: str) -> None:
    worker = attach(world, **given)

    assert worker.wait() == code
    worker.until(words)
    worker.until("hint: ")
