"""Where the data is kept on each platform, and what the environment may change."""

from __future__ import annotations

from pathlib import Path

import pytest

from tallystick.hub.settings import Settings
from tests.scene import refused


@pytest.mark.parametrize(
    ("platform", "environ", "data_dir"),
    [
        ("linux", {"HOME": "/home/wren"}, "/home/wren/.local/share/tallystick"),
        ("darwin", {"HOME": "/Users/wren"}, "/Users/wren/.local/share/tallystick"),
        ("linux", {"HOME": "/home/wren", "XDG_DATA_HOME": "/data"}, "/data/tallystick"),
        ("darwin", {"HOME": "/Users/wren", "XDG_DATA_HOME": "/data"}, "/data/tallystick"),
        ("linux", {"HOME": "/home/wren", "XDG_DATA_HOME": ""}, "/home/wren/.local/share/tallystick"),
        ("linux", {"HOME": "/home/wren", "XDG_DATA_HOME": "data"}, "/home/wren/.local/share/tallystick"),
        ("linux", {"HOME": "/home/wren", "APPDATA": "/appdata"}, "/home/wren/.local/share/tallystick"),
        ("win32", {"APPDATA": "C:/Users/wren/AppData/Roaming"}, "C:/Users/wren/AppData/Roaming/tallystick"),
        ("win32", {"USERPROFILE": "C:/Users/wren"}, "C:/Users/wren/AppData/Roaming/tallystick"),
        ("win32", {"APPDATA": "C:/a", "XDG_DATA_HOME": "C:/b"}, "C:/a/tallystick"),
    ],
)
def test_each_platform_has_its_place_for_a_users_data(platform: str, environ: dict[str, str], data_dir: str) -> None:
    assert Settings.of(environ, platform=platform).data_dir == Path(data_dir)


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_one_variable_overrides_them_all(platform: str) -> None:
    environ = {
        "TALLYSTICK_DATA_DIR": "/elsewhere",
        "XDG_DATA_HOME": "/data",
        "APPDATA": "/appdata",
        "HOME": "/home/wren",
    }
    assert Settings.of(environ, platform=platform).data_dir == Path("/elsewhere")


def test_the_override_may_start_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/wren")
    assert Settings.of({"TALLYSTICK_DATA_DIR": "~/tally"}).data_dir == Path("/home/wren/tally")


def test_without_variables_the_embedded_store_is_used_with_its_defaults() -> None:
    assert Settings.of({"HOME": "/home/wren"}, platform="linux") == Settings(
        data_dir=Path("/home/wren/.local/share/tallystick"),
        database_url=None,
        full_sync=False,
        allow_network_fs=False,
    )


def test_the_environment_chooses_engine_durability_and_file_system() -> None:
    environ = {
        "TALLYSTICK_DATA_DIR": "/elsewhere",
        "TALLYSTICK_DATABASE_URL": "postgresql://db/tally",
        "TALLYSTICK_SYNC": "FULL",
        "TALLYSTICK_ALLOW_NETWORK_FS": "1",
    }
    assert Settings.of(environ) == Settings(
        data_dir=Path("/elsewhere"),
        database_url="postgresql://db/tally",
        full_sync=True,
        allow_network_fs=True,
    )


@pytest.mark.parametrize(
    ("environ", "minutes"),
    [
        ({}, 15),
        ({"BB_AGENT_STALE_MINUTES": "20"}, 20),
        ({"TALLYSTICK_AGENT_STALE_MINUTES": "5", "BB_AGENT_STALE_MINUTES": "20"}, 5),
        ({"TALLYSTICK_AGENT_STALE_MINUTES": "", "BB_AGENT_STALE_MINUTES": "20"}, 20),
    ],
)
def test_how_long_an_agent_may_be_silent_comes_from_either_variable(environ: dict[str, str], minutes: int) -> None:
    assert Settings.of({"HOME": "/home/wren", **environ}).agent_stale_ms == minutes * 60_000


@pytest.mark.parametrize("text", ["0", "-5", "soon", "1.5", "99999", "9" * 5000, "five"])
def test_a_silence_that_cannot_be_meant_is_refused_by_its_name(text: str) -> None:
    with refused("invalid_setting") as caught:
        Settings.of({"HOME": "/home/wren", "BB_AGENT_STALE_MINUTES": text})
    assert caught.value.details == {"name": "BB_AGENT_STALE_MINUTES"}
