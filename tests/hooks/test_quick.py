"""The short way past the hub: it says yes only when the long way would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tallystick.client.calls import Answered
from tallystick.hub import reservation_check
from tallystick.hub.hub import Hub
from tallystick.kernel.clock import system_clock
from tallystick.surfaces.hook import session_files
from tests.harnesses.trees import binary
from tests.hooks.hooked import HookedWorkspace, caller
from tests.surfaces.cli.place import TALLY

LONG = ("pydantic", "tallystick.hub.hub", "tallystick.capabilities", "click", "dataclasses")
names = st.sampled_from(["a", "A", "b", "src", "SRC", "src2", "ä", "x.py", "..", "."])
paths = st.lists(names, min_size=1, max_size=4).map("/".join)


@pytest.fixture
def hooked(lone_desk: HookedWorkspace) -> HookedWorkspace:
    """Without a hub, for that is what is looked past."""
    return lone_desk


@pytest.fixture
def database(hooked: HookedWorkspace) -> str:
    hooked.join("me", "ann")
    return str(hooked.place.data_dir / "tally.sqlite")


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(reserved=st.lists(paths, max_size=4), touched=st.lists(paths, min_size=1, max_size=3))
def test_what_the_first_look_lets_pass_the_rules_let_pass_too(
    hooked: HookedWorkspace, database: str, reserved: list[str], touched: list[str]
) -> None:
    with hooked.hub() as hub:
        for row in _status(hooked):
            hub.call("reservations.release", {"room_id": row["room_id"], "path": row["path"]}, caller("ann"))
        room_id = hooked.join("ann")
        inside = [path for path in reserved if not os.path.normpath(path).startswith("..")]
        for path in inside:
            hub.call("reservations.reserve", {"room_id": room_id, "path": path}, caller("ann"))
        absolute = [os.path.normpath(hooked.root / path) for path in touched]

        for name in ("me", "ann"):
            passes = reservation_check.concerns_nobody(database, absolute, name, system_clock())
            taken = reservation_check.found(asking(hub, name), absolute)
            assert not (passes and taken)


def test_whoever_lost_its_turn_does_not_pass_until_it_has_looked(hooked: HookedWorkspace, database: str) -> None:
    room_id = hooked.join("me")
    hooked.call("me", "turns.wait", room_id=room_id, max_wait_ms=0)
    hooked.call("user", "turns.revoke", room_id=room_id, expected_turn_id=1, reason="it hangs")

    def passes(name: str) -> bool:
        return reservation_check.concerns_nobody(database, [str(hooked.root / "a")], name, system_clock())

    before = passes("me"), passes("ann")
    hooked.call("me", "turns.state", room_id=room_id)

    assert (before, passes("me")) == ((False, True), True)


def asking(hub: Hub, name: str) -> reservation_check.Asking:
    def ask(operation: str, given: Mapping[str, object]) -> Answered:
        return Answered(hub.call(operation, given, caller(name)).to_data())

    return ask


def _status(hooked: HookedWorkspace) -> list[dict[str, object]]:
    room_id = hooked.join("ann")
    found = hooked.call("ann", "reservations.status", room_id=room_id)["reservations"]
    return cast("list[dict[str, object]]", found)


def test_without_a_stamp_only_a_place_without_rooms_passes(
    hooked: HookedWorkspace, database: str, tmp_path: Path
) -> None:
    assert not reservation_check.concerns_nobody(database, [str(hooked.root / "a")], None, system_clock())
    assert reservation_check.concerns_nobody(database, [str(tmp_path / "elsewhere" / "a")], None, system_clock())


def test_a_store_that_cannot_be_read_lets_nothing_pass(tmp_path: Path) -> None:
    (tmp_path / "tally.sqlite").write_bytes(b"garbage" * 1000)

    assert not reservation_check.concerns_nobody(str(tmp_path / "tally.sqlite"), ["/a"], "me", system_clock())


def test_a_stamp_counts_while_its_process_is_above_us_and_fresh(tmp_path: Path) -> None:
    parent = Path(f"/proc/{os.getppid()}/stat").read_text("utf-8").rpartition(")")[2].split()[19]
    folder = str(tmp_path)

    session_files.remember_agent(folder, "s", "me", os.getppid(), parent)
    assert session_files.remembered_agent(folder, "s") == "me"
    assert session_files.remembered_agent(folder, "other session") is None

    session_files.remember_agent(folder, "s", "me", os.getppid(), "1")
    assert session_files.remembered_agent(folder, "s") is None, "another process under the same number"

    session_files.remember_agent(folder, "s", "me", os.getppid(), parent)
    (file,) = (tmp_path / "hooks").iterdir()
    old = file.stat().st_mtime - session_files.FRESH_SECONDS - 1
    os.utime(file, (old, old))
    assert session_files.remembered_agent(folder, "s") is None, "an old stamp"

    os.utime(file, (old - session_files.KEPT_SECONDS, old - session_files.KEPT_SECONDS))
    session_files.forget_old_agents(folder)
    assert list((tmp_path / "hooks").iterdir()) == []


def test_hooks_of_one_harness_are_one_agent_and_most_of_them_take_the_short_way(
    hooked: HookedWorkspace, tmp_path: Path
) -> None:
    hooked.reserve("ann", "taken.py")
    claude = binary(tmp_path / "bin", "claude")
    edits = {name: tmp_path / f"{name}.json" for name in ("free.py", "taken.py")}
    for name, file in edits.items():
        tool = {"tool_name": "Write", "tool_input": {"file_path": str(hooked.root / name), "content": ""}}
        file.write_text(json.dumps({"session_id": "s", "cwd": str(hooked.root), **tool}), "utf-8")
    # Both are told the session: a hook in its payload, the shell of the tools in its environment.
    typed = f"CLAUDE_CODE_SESSION_ID=s {TALLY} --json whoami"
    trace = f"{sys.executable} -X importtime {TALLY} hook claude PreToolUse"
    script = "; ".join(
        [
            typed,
            *(
                f"{trace} < {edits[name]} 2> {tmp_path}/{at}"
                for at, name in enumerate(["free.py", "free.py", "taken.py"])
            ),
            typed,
        ]
    )

    done = subprocess.run(
        [claude, "-c", f"{script}; exit 0"],
        env=hooked.place.env,
        cwd=hooked.root,
        capture_output=True,
        text=True,
        check=True,
    )

    who = {json.loads(line)["data"]["agent_id"] for line in done.stdout.splitlines() if '"agent_id"' in line}
    stamped = {(file.read_text("utf-8").splitlines())[0] for file in (hooked.place.data_dir / "hooks").iterdir()}
    loaded = [
        {line.rpartition("|")[2].strip() for line in (tmp_path / str(at)).read_text("utf-8").splitlines()}
        for at in range(3)
    ]
    assert (len(who), stamped) == (1, who)
    assert [bool(each & set(LONG)) for each in loaded] == [True, False, True]
    assert "permissionDecision" in done.stdout
