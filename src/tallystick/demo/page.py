"""The demo on the page: a hub beside the play, and then a working day that leaves something of everything to look at.

All of it lies in the demo's own folder, so ending the demo deletes it.
"""

from __future__ import annotations

import base64
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from tallystick.demo.run import StoryFailed
from tallystick.hub.hub import Hub
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.errors import Refused

Ask: TypeAlias = Callable[..., dict[str, Any]]

HANDOFF: Mapping[str, object] = {
    "status": "The buoys of the inner channel are charted; the two outer ones drift more than the table allows.",
    "next_action": "Measure the outer two again at slack water and write down both times.",
    "artifacts": [{"path": "charts/channel.csv", "lines": [12, 40], "role": "edit", "note": "the outer two"}],
    "open_questions": ["Do we publish before the second measurement?"],
    "do_not": ["Move the leading marks: pilots steer by them."],
}

JOBS = (
    ("Compare the two lenses", "Count the watches that each lens costs in a year.", "HIGH"),
    ("Photograph the old lens", "All eight sides, in daylight.", "MEDIUM"),
    ("Oil the clockwork", "As every spring, and **try it through a night**.", "LOW"),
)
BENCH = "eves-bench"
ALBUM = """## The old lens
All eight sides, in daylight:
- six without a scratch
- two with a chip of *less* than a nail's width

`album/side-3.jpg` shows the larger one.
"""
TIDES = "time,height\n04:10,0.4\n10:22,3.9\n16:35,0.5\n22:48,4.1\n"
UP = """
import os, signal, sys, threading
from tallystick.surfaces.cli.main import main

def mind():
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)

threading.Thread(target=mind, daemon=True).start()
sys.argv = ["tally", "up", "--port", "0"]
sys.exit(main())
"""
"""A hub that ends with whoever started it, however that ends."""


@contextmanager
def served(environ: Mapping[str, str]) -> Generator[str]:
    """The link to the page of a hub that runs as long as this lasts."""
    command = [sys.executable, "-c", UP]
    hub = subprocess.Popen(
        command,
        env=dict(environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        lines = iter(hub.stdout or ())
        link = next((line.split()[-1] for line in lines if line.startswith("Tallystick runs.")), None)
        if link is None:
            raise StoryFailed("The hub did not start.")
        yield link
    finally:
        hub.communicate()


def fill(hub: Hub, lighthouse: str) -> str:
    """A day's work: questions, conflicts, jobs and a second team, so that no view is empty; the result is its room."""
    dov, eve, fay = (_agent(hub, name) for name in ("dov", "eve", "fay"))
    keeper = _agent(hub, "user", SessionKind.HUMAN_GUARDIAN)
    harbour = _harbour(dov, eve, fay, keeper, lighthouse)
    _questions(dov, eve, lighthouse)
    _request(fay, keeper, lighthouse)
    _paths(dov, eve, lighthouse)
    _jobs(dov, eve, lighthouse)
    return harbour


def _agent(hub: Hub, name: str, session: SessionKind = SessionKind.NAMED) -> Ask:
    caller = Caller(agent_id=name, session=session)

    def ask(operation: str, **given: object) -> dict[str, Any]:
        return hub.call(operation, given, caller).to_data()

    return ask


def _harbour(dov: Ask, eve: Ask, fay: Ask, keeper: Ask, lighthouse: str) -> str:
    """A second room, where a handoff is in force and the next one is waiting."""
    room = dov("rooms.create", title="harbour-charts")["room_id"]
    for ask in (fay, eve, dov):
        ask("rooms.join", room_id=room)
    turn = fay("turns.wait", room_id=room, max_wait_ms=0)
    fence = {"room_id": room, "lease_id": turn["lease_id"], "expected_turn_id": turn["turn_id"]}
    fay("turns.pass", **fence, to_agent_id="eve", handoff=HANDOFF)
    eve("turns.wait", room_id=room, max_wait_ms=0)
    said = eve("messages.send", room_id=room, text="The tide tables for next week are in; the lighthouse needs them.")
    given = {"room_id": lighthouse, "src_group_id": room, "src_event_id": said["event"]["id"]}
    keeper("messages.relay", **given, to=["@all"])
    return room


def _questions(dov: Ask, eve: Ask, room: str) -> None:
    for ask in (dov, eve):
        ask("rooms.join", room_id=room)
    asked = "The old lens is cheaper to keep, the new one saves a watch a night. Which do we order?"
    dov("messages.send", room_id=room, text=asked, to=["@user"], priority="attention")
    given = {"text": "Please check my sums in watches.md.", "to": ["eve"], "priority": "attention"}
    event = dov("messages.send", room_id=room, **given)
    eve("messages.read", room_id=room, event_id=event["event"]["id"])
    eve("messages.ack", room_id=room, event_id=event["event"]["id"])
    answer = {"reply_to": event["event"]["id"], "quote_text": "check my sums", "to": ["dov"]}
    eve("messages.send", room_id=room, text="They hold. One watch fewer from March on.", **answer)


def _request(fay: Ask, keeper: Ask, room: str) -> None:
    """What is said to an attached agent is a request; its answer brings a file, and it asks for leave."""
    fay("rooms.join", room_id=room)
    fay("actions.attach", room_id=room, program="tides.py")
    keeper("messages.send", room_id=room, text="When is slack water at the outer buoys tomorrow?", to=["fay"])
    asked = fay("actions.pending", room_id=room)["next"]["action_id"]
    fay("actions.result", room_id=room, action_id=asked, status="accepted")
    content = base64.b64encode(TIDES.encode()).decode()
    table = fay("blobs.put", room_id=room, content_base64=content, name="tides.csv", mime_type="text/csv")
    answer = "At 04:10 and 16:35, as tides.csv says."
    given = {"to": ["@user"], "attachments": [{"path": table["path"], "title": "tides.csv"}]}
    about = {"kind": "reply", "reply_to_action_id": asked}
    fay("messages.send", room_id=room, text=answer, conversation=about, **given)
    fay("actions.result", room_id=room, action_id=asked, status="completed")
    fay(
        "permissions.ask",
        room_id=room,
        tool="Bash",
        title="send the tables to the pilots",
        command="mail pilots < tides.csv",
    )


def _paths(dov: Ask, eve: Ask, room: str) -> None:
    dov("reservations.reserve", room_id=room, path="lamp/lens.py", task_id="TASK-001")
    eve("reservations.reserve", room_id=room, path="docs/watches.md")
    try:
        eve("reservations.reserve", room_id=room, path="lamp")
    except Refused:
        # Both sides see the attempt, and so does the page.
        eve("reservations.reserve", room_id=room, path="lamp/README.md", mode="shared")


def _jobs(dov: Ask, eve: Ask, room: str) -> None:
    steps = [{"text": "Compare both lenses", "done": True}, {"text": "Order the new one"}]
    about = "The old lens has two chipped sides; lamp/lens.py knows the new one already."
    dov("tasks.create", room_id=room, title="A new lens for the lamp", description=about, steps=steps)
    created = [
        dov("jobs.create", room_id=room, title=title, prompt=prompt, priority=priority, task="TASK-001")
        for title, prompt, priority in JOBS
    ]
    asks, ends, lacks = (each["job"]["job_id"] for each in created)
    given = {"title": "Order the new lens", "prompt": "From the glassworks.", "after": [asks], "task": "TASK-001"}
    dov("jobs.create", room_id=room, **given)
    able = {"executors": ["codex", "claude_code"], "max_parallel": 3}
    eve("runners.heartbeat", room_id=room, runner_id=BENCH, status="idle", **able)
    fences = [_claimed(eve, room, job) for job in (asks, ends, lacks)]
    eve("jobs.report", **fences[0], message="A year has 8,760 hours of watch; counted both lenses.", percent=60)
    album = eve("cards.create", room_id=room, title="The old lens, in pictures", body=ALBUM)["card_id"]
    eve("jobs.complete", **fences[1], status="DONE", summary="All eight sides, **two chipped**.", refs=[album])
    eve("jobs.report", **fences[2], kind="proof_gate", message="says done without proof: no night's run is on record")
    eve("jobs.report", **fences[0], kind="question", message="Does a foggy night count as one watch or as two?")
    dov("tasks.macro.merge_report", room_id=room, jobs=[ends, lacks], title="A new lens: where we are")
    eve("runners.heartbeat", room_id=room, runner_id=BENCH, status="live", active_job_id=asks, **able)


def _claimed(ask: Ask, room: str, job: str) -> dict[str, object]:
    claim = ask("jobs.claim", room_id=room, runner_id=BENCH, job=job)
    return {"room_id": room, "job": job, "runner_id": BENCH, "claim_revision": claim["claim_revision"]}
