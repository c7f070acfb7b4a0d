"""The first request of a real Codex to its model has our tools, however slowly our server starts: it waits for it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tallystick.runtime import attached
from tests import npm
from tests.loopback.programs import installed
from tests.loopback.saying import Ask, Give, Say, Saying
from tests.loopback.workplace import HarnessHome, hub_for, workplace
from tests.stories.team_programs import PACKAGES
from tests.surfaces.cli.place import TALLY

pytestmark = [pytest.mark.npm, pytest.mark.slow, pytest.mark.timeout(300)]

LATE_S = 3
"""Codex without `required` has asked its model by then."""
FAILED = Give(answer={"status": "FAILED", "summary": "I only looked at my tools", "refs": [], "events": []})


def late(place: HarnessHome, program: str) -> str:
    """The program, which takes its time when it is to serve MCP."""
    script = place.home.path / "late" / Path(program).name
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\ncase " $* " in *" mcp "*) sleep {LATE_S};; esac\nexec {program} "$@"\n')
    script.chmod(0o755)
    return str(script)


def installed_as_readme_says(place: HarnessHome, _: pytest.MonkeyPatch) -> None:
    place.tally("install", "codex", "--hooks")
    config = place.home.path / ".codex/config.toml"
    config.write_text(config.read_text().replace(f'"{TALLY}"', f'"{late(place, TALLY)}"'))
    assert place.run().returncode == 0


def added_by_hand(place: HarnessHome) -> None:
    add = [str(installed("codex")), "mcp", "add", "tally", "--", late(place, TALLY), "mcp"]
    subprocess.run(add, env=place.environ, check=True, capture_output=True)


def run_for_a_job(place: HarnessHome, _: pytest.MonkeyPatch) -> None:
    added_by_hand(place)
    place.tally("join", agent="boss")
    place.tally("jobs", "create", "--title", "look", "--prompt", "look", "--executor", "codex", agent="boss")
    program = ["--codex-bin", str(installed("codex")), "--max-failures", "1"]
    argv = [TALLY, "runner", "--id", "r1", "--once", "--executors", "codex", *program]
    subprocess.run(argv, cwd=place.root, env=place.environ, check=True, capture_output=True, timeout=120)


def run_for_a_message(place: HarnessHome, _: pytest.MonkeyPatch) -> None:
    added_by_hand(place)
    asked(place, str(installed("codex")), acp=False)


def attached_over_acp(place: HarnessHome, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our server is the Python that attaches it."""
    monkeypatch.setattr(sys, "executable", late(place, sys.executable))
    package, program = PACKAGES["codex"]
    asked(place, str(npm.installed(package) / ".bin" / program), acp=True)


def attached_where_a_hub_elsewhere_is_set_up(place: HarnessHome, monkeypatch: pytest.MonkeyPatch) -> None:
    """Codex takes no entry with both an address and a command."""
    config = place.home.path / ".codex/config.toml"
    config.write_text(f'{config.read_text()}\n[mcp_servers.tally]\nurl = "http://127.0.0.1:9/mcp"\n')
    attached_over_acp(place, monkeypatch)


def asked(place: HarnessHome, program: str, *, acp: bool) -> None:
    room = str(place.tally("join", agent="boss")["room_id"])
    with (
        hub_for(place),
        attached(
            [program],
            name="worker",
            room=room,
            cwd=place.root,
            acp=acp,
            data_dir=place.data,
            environ=place.environ,
            tell=lambda _: None,
        ) as agent,
    ):
        work = threading.Thread(target=agent.work)
        work.start()
        place.tally("ask", "worker", "look", agent="boss")
        agent.leave()
        work.join()


WAYS: Mapping[str, Callable[[HarnessHome, pytest.MonkeyPatch], None]] = {
    "installed": installed_as_readme_says,
    "runner": run_for_a_job,
    "attach --once": run_for_a_message,
    "attach": attached_over_acp,
    "attach beside a hub elsewhere": attached_where_a_hub_elsewhere_is_set_up,
}


@pytest.mark.parametrize("way", WAYS)
def test_the_first_request_has_our_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    def script(_: Ask) -> Saying:
        return FAILED if way == "runner" else Say(text="I see them.")

    with workplace(tmp_path, "codex", script) as (place, model):
        WAYS[way](place, monkeypatch)

    tools = model.asked[0].tools if model.asked else ()
    assert any(name.startswith("mcp__tally") and name.endswith(".join_path") for name in tools), tools
