"""How many modules a call goes through inside the hub: whoever follows it has to open that many files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from pathlib import Path
from types import FrameType
from typing import cast

import pytest

from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.kernel.caller import Caller, SessionKind
from tests.scene import HANDOFF

MOST_MODULES = 20


@pytest.fixture
def hub(tmp_path: Path) -> Generator[Hub]:
    hub = Hub.open(Settings(data_dir=tmp_path))
    yield hub
    hub.close()


def modules_in(work: Callable[[], object]) -> list[str]:
    """Our modules of which at least one function that somebody wrote runs while this works."""
    found = set[str]()

    def count(frame: FrameType, event: str, _argument: object) -> None:
        # What a decorator has generated stands in no file.
        if event == "call" and frame.f_code.co_filename == frame.f_globals.get("__file__"):
            found.add(str(frame.f_globals["__name__"]))

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return sorted(each for each in found if each.startswith("tallystick."))


def test_handing_on_the_stick_goes_through_few_modules_of_the_hub(hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    ann, bob = (Caller(agent_id=name, session=SessionKind.NAMED) for name in ("ann", "bob"))
    room = cast("dict[str, object]", hub.call("rooms.create", {"title": "floor plan"}, ann).to_data())["room_id"]
    for agent in (ann, bob):
        hub.call("rooms.join", {"room_id": room}, agent)

    def release_by(agent: Caller) -> list[str]:
        turn = hub.call("turns.wait", {"room_id": room, "max_wait_ms": 0}, agent).to_data()
        fence = {"room_id": room, "lease_id": turn["lease_id"], "expected_turn_id": turn["turn_id"]}
        return modules_in(lambda: hub.call("turns.release", {**fence, "handoff": HANDOFF}, agent))

    # The first ones load and remember what later ones do not have to.
    *_, found = [release_by(agent) for agent in (ann, bob, ann, bob)]

    with capsys.disabled():
        sys.stdout.write(f"\nturns.release: {len(found)} modules inside the hub, at most {MOST_MODULES}\n")
    assert len(found) <= MOST_MODULES, "\n".join(found)
