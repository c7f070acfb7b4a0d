"""What each agent does, in order. The stick decides who does it when."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from tallystick.demo import script
from tallystick.demo.player import Player, Refusal, Turn, taken

Part: TypeAlias = Callable[[Player], Awaitable[None]]


def _fence(turn: Turn) -> dict[str, object]:
    return {"lease_id": turn.lease_id, "expected_turn_id": turn.turn_id}


async def _release(me: Player, turn: Turn, handoff: Mapping[str, object]) -> None:
    await me.call("release_stick", **_fence(turn), handoff=handoff)


async def _tested(me: Player, *, expected: bool) -> None:
    passed = await asyncio.to_thread(me.workspace.tests_pass)
    if passed is not expected:
        raise RuntimeError(f"the tests should {'pass' if expected else 'fail'} here")
    await me.do("runs the tests: all green" if passed else "runs the tests: red, as they should be", tests=passed)


async def _commit(me: Player, message: str) -> None:
    commit = me.workspace.commit(me.name, message)
    await me.do(f"commits {commit}: {message}", commit=commit)


async def ada(me: Player) -> None:
    first = await me.turn()
    await me.present(*script.CAST)
    await me.do("watches the lamp for a minute: three flashes, and then never again")
    me.workspace.write("test_lamp.py", script.TEST_LAMP)
    await me.do("writes test_lamp.py", file="test_lamp.py")
    await _tested(me, expected=False)
    await _commit(me, "A test for the second round of flashes")
    await _release(me, first, script.ADA_TO_BO)
    second = await me.turn()
    await me.beyond("notes.list")
    await me.do("reads the keeper's note")
    me.workspace.write("horn.py", script.HORN)
    me.workspace.write("test_horn.py", script.TEST_HORN)
    await me.do("writes horn.py and test_horn.py", file="horn.py")
    await _tested(me, expected=True)
    await _commit(me, "A fog horn that lets the village sleep")
    await me.present("bo")
    await _release(me, second, script.ADA_TO_NEXT)


async def bo(me: Player) -> None:
    turn = await me.turn()
    # What an agent's conversation would still hold when its harness is started again.
    me.memory.write_text(json.dumps({"lease_id": turn.lease_id, "turn_id": turn.turn_id}), "utf-8")
    await me.do("reads the handoff: one line in lamp.py, FLASHES stays as it is")
    me.workspace.write("lamp.py", script.HALF_A_LAMP)
    await me.do("is in the middle of line 9", file="lamp.py", cue=script.Cue.HALF_WRITTEN)
    await asyncio.Event().wait()


async def bo_again(me: Player) -> None:
    old = json.loads(me.memory.read_text("utf-8"))
    await me.do("is started again, remembers his lease and goes to release the stick")
    fence = {"lease_id": old["lease_id"], "expected_turn_id": old["turn_id"]}
    try:
        await me.call("release_stick", **fence, handoff=script.BO_TO_NEXT)
    except Refusal as refused:
        told = {key: refused.payload[key] for key in ("error", "message", "hint")}
        await me.do(f"is refused: {told['error']}", kind=script.SAW, **told)
    turn = await me.turn()
    me.workspace.write("LOGBOOK.md", script.LOGBOOK)
    await me.do("writes LOGBOOK.md", file="LOGBOOK.md")
    await _commit(me, "What happened tonight")
    await _release(me, turn, script.BO_TO_NEXT)


async def cleo(me: Player) -> None:
    found = await me.look()
    seen = {key: found[key] for key in ("status", "reason", "current_owner", "turn_id")}
    await me.do(f"sees that bo is gone: {found['status']}, {found['reason']}", kind=script.SAW, **seen)
    turn = taken(await me.call("takeover_stick", expected_turn_id=found["turn_id"], reason=script.TAKEOVER_REASON))
    await asyncio.sleep(me.pace)
    await me.call("get_room_events", newest=True, limit=10)
    await me.do("reads the history and finds ada's handoff in it", cue=script.Cue.HISTORY_READ)
    half = me.workspace.unfinished().splitlines()[-2:]
    await me.do(f"asks git what bo left behind: {half[0].removeprefix('+').strip()}")
    me.workspace.write("lamp.py", script.WHOLE_LAMP)
    await me.do("finishes the line", file="lamp.py")
    await _tested(me, expected=True)
    await _commit(me, "Flash again every twelve seconds")
    await me.call("pass_stick", **_fence(turn), to_agent_id="ada", handoff=script.CLEO_TO_ADA)


PARTS: Mapping[str, Part] = {"ada": ada, "bo": bo, "bo-again": bo_again, "cleo": cleo}
