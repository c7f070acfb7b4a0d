"""How many modules a call goes through inside the hub: whoever follows it has to open that many files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import cast

import pytest

from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.kernel.caller import Caller, SessionKind
from tests.jobs.shop import PROOF, SEEN
from tests.scene import HANDOFF

RELEASE, SEND, JOB = 20, 24, 33
"""So many modules at most: to hand on the stick, to send a message, and for one job from its creation to its end."""


ANN, BOB = (Caller(agent_id=name, session=SessionKind.NAMED) for name in ("ann", "bob"))


@pytest.fixture
def hub(tmp_path: Path) -> Generator[Hub]:
    hub = Hub.open(Settings(data_dir=tmp_path))
    yield hub
    hub.close()


@pytest.fixture
def room(hub: Hub) -> str:
    """A room with Ann and Bob in it."""
    room = cast("str", hub.call("rooms.create", {"title": "floor plan"}, ANN).to_data()["room_id"])
    for agent in (ANN, BOB):
        hub.call("rooms.join", {"room_id": room}, agent)
    return room


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


def check(capsys: pytest.CaptureFixture[str], what: str, works: Iterable[Callable[[], object]], most: int) -> None:
    # The first ones load and remember what later ones do not have to.
    *_, found = [modules_in(work) for work in works]

    with capsys.disabled():
        sys.stdout.write(f"\n{what}: {len(found)} modules inside the hub, at most {most}\n")
    assert len(found) <= most, "\n".join(found)


def test_handing_on_the_stick_goes_through_few_modules_of_the_hub(
    hub: Hub, room: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def releases() -> Iterator[Callable[[], object]]:
        for agent in (ANN, BOB, ANN, BOB):
            turn = hub.call("turns.wait", {"room_id": room, "max_wait_ms": 0}, agent).to_data()
            fence = {"room_id": room, "lease_id": turn["lease_id"], "expected_turn_id": turn["turn_id"]}
            yield partial(hub.call, "turns.release", {**fence, "handoff": HANDOFF}, agent)

    check(capsys, "turns.release", releases(), RELEASE)


def test_a_message_goes_through_few_modules_of_the_hub(hub: Hub, room: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = {"room_id": room, "to": ["bob"], "text": "over to you"}

    check(capsys, "messages.send", [partial(hub.call, "messages.send", said, ANN)] * 3, SEND)


def test_a_job_from_end_to_end_goes_through_few_modules_of_the_hub(
    hub: Hub, room: str, capsys: pytest.CaptureFixture[str]
) -> None:
    runner = {"room_id": room, "runner_id": "r1"}

    def job() -> None:
        hub.call("jobs.create", {"room_id": room, "title": "a job", "prompt": "do it"}, ANN)
        hub.call("runners.heartbeat", {**runner, "status": "idle", "executors": ["codex"]}, BOB)
        held = hub.call("jobs.claim", runner, BOB).to_data()
        named = cast("dict[str, object]", held["job"])["job_id"]
        claim = {**runner, "job": named, "claim_revision": held["claim_revision"]}
        hub.call("jobs.report", {**claim, "message": "tests pass"}, BOB)
        hub.call("jobs.complete", {**claim, "status": "DONE", "refs": [PROOF], "observed": [SEEN]}, BOB)

    check(capsys, "a job", [job] * 3, JOB)
