"""What special workers do: race from a common start, obey a test's orders, or be cut off at any microsecond."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle

from tests.chaos.worker import Agent, Plan, catch_breath


def append_events(plan: Plan) -> None:
    """Append a number of events, one after the other, as fast as they are taken."""
    agent = Agent(plan)
    _together(plan)
    _append(agent)
    agent.hub.close()


def append_in_threads(plan: Plan) -> None:
    """Append from eight threads through one hub."""
    agent = Agent(plan)
    _together(plan)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(_append, [agent.apart(f"thread-{number}") for number in range(8)]))
    agent.hub.close()


def _append(agent: Agent) -> None:
    for _ in range(agent.plan.times):
        agent.append()


def append_until_stopped(plan: Plan) -> None:
    agent = Agent(plan)
    while not plan.stop.exists():
        if not agent.append().ok:
            catch_breath()
    agent.hub.close()


def claim_once(plan: Plan) -> None:
    """Join, wait for everybody, look for the turn exactly once, and stay until everybody has looked."""
    agent = Agent(plan)
    agent.here("rooms.join")
    _together(plan)
    agent.here("turns.wait", max_wait_ms=0)
    _together(plan)
    agent.hub.close()


def wait_long(plan: Plan) -> None:
    """Join, tell the test, and wait for the turn as long as it takes."""
    assert plan.orders
    agent = Agent(plan)
    agent.here("rooms.join")
    plan.orders.send("waiting")
    agent.here("turns.wait", max_wait_ms=60_000)
    agent.hub.close()


def join_workspace(plan: Plan) -> None:
    """Join the room of the data directory's own workspace together with everybody else, creating it if need be."""
    agent = Agent(plan)
    _together(plan)
    agent.diary.call("rooms.join", context_path=str(plan.stop.parent))
    agent.hub.close()


def hold_on(plan: Plan) -> None:
    """Claim the stick, tell the test, and use the lease in every way as soon as the test says so."""
    assert plan.orders
    agent = Agent(plan)
    agent.here("rooms.join")
    turn = agent.here("turns.wait", max_wait_ms=0)
    plan.orders.send(turn.answer)
    plan.orders.recv()
    for use in (agent.beat, agent.release, agent.pass_on):
        use(turn)
    agent.hub.close()


def be_cut_off(plan: Plan) -> None:
    """Work through every kind of write until the kernel ends the process, at a microsecond drawn by lot.

    An alarm's default action ends a process exactly as a kill does: nothing of it runs any more.
    """
    agent = Agent(plan)
    signal.setitimer(signal.ITIMER_REAL, 10 ** agent.random.uniform(-4, -1.2))
    agent.here("rooms.join")
    for step in cycle(("append", "turn", "room")):
        if step == "append":
            agent.append()
        elif step == "room":
            agent.diary.call("rooms.create", title=agent.mark())
        else:
            _one_turn(agent)


def append_with_keys(plan: Plan) -> None:
    """Append a number of events in order, each under its key; the next life of this agent repeats them all.

    Without an order to stop it is cut off on the way.
    """
    agent = Agent(plan)
    if not plan.stop.exists():
        signal.setitimer(signal.ITIMER_REAL, 10 ** agent.random.uniform(-3, -1))
    for number in range(plan.times):
        mark = f"{plan.agent_id} {number}"
        agent.here("events.append", key=mark, kind="x.chaos.step", data={"mark": mark})
    agent.hub.close()


def _one_turn(agent: Agent) -> None:
    turn = agent.here("turns.wait", max_wait_ms=0)
    if turn.answer.get("status") == "takeover_available":
        turn = agent.here("turns.takeover", expected_turn_id=turn.answer["turn_id"], reason="it was cut off")
    if turn.answer.get("status") == "your_turn":
        agent.beat(turn)
        agent.release(turn)


def _together(plan: Plan) -> None:
    if plan.start:
        plan.start.wait(timeout=60)
