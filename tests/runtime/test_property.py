"""The bus's properties over an agent that speaks ACP, whatever is asked, interrupted, repeated and cut off.

The agent runs in this process, against a real hub and with a program of its own, so that it can be cut off at any
moment and come back. What was asked and what its program wrote down are compared.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tallystick.harnesses.acp.programs import ANY
from tallystick.harnesses.headless.protocol import Sandbox
from tallystick.kernel.errors import TallyError
from tallystick.kernel.ids import new_id
from tallystick.runtime.acp import AcpEngine
from tallystick.runtime.agent import Agent, Leave, MailBox
from tallystick.runtime.room_connection import PermissionRequests
from tallystick.runtime.start import on_the_bus
from tests.http.running import Client, Json, RunningHub
from tests.runtime.world import control, message
from tests.waiting import until

DIARY = Path(__file__).parent / "programs" / "acp_diary.py"
NAME = "worker"

Step: TypeAlias = "tuple[str, Sequence[str]]"

STEPS = st.one_of(
    st.tuples(
        st.sampled_from(("ask", "ask twice")), st.lists(st.sampled_from(("quick", "slow")), min_size=1, max_size=3)
    ),
    st.tuples(st.sampled_from(("interrupt", "settle", "leave", "cut off")), st.just(())),
)


class AcpAgent:
    """One life of an attached agent."""

    def __init__(self, hub: RunningHub, room_id: str, folder: Path, diary: Path) -> None:
        self._mail: MailBox = queue.SimpleQueue()
        self._ending = ExitStack()
        self._line, journal = self._ending.enter_context(
            on_the_bus(NAME, room_id, folder, self._mail, data_dir=hub.data_dir, hub=None, tell=lambda _: None)
        )
        engine = AcpEngine(
            slug="scripted",
            program=ANY,
            argv=(sys.executable, "-S", str(DIARY), str(diary)),
            cwd=folder,
            environment=dict(os.environ),
            sandbox=Sandbox.WORKSPACE_WRITE,
            model=None,
            servers=lambda _: (),
            permissions=PermissionRequests(self._line),
        )
        agent = Agent(line=self._line, engine=engine, journal=journal, mail=self._mail, tell=lambda _: None)
        self._line.ask("actions.attach", {"program": "scripted"})
        self._thread = threading.Thread(target=self._work, args=(agent,))
        self._thread.start()

    def _work(self, agent: Agent) -> None:
        with suppress(TallyError):
            agent.work()

    def leave(self) -> None:
        """End in order, saying so."""
        self._mail.put(Leave())
        self._end()

    def cut_off(self) -> None:
        """End without another word: what it had to say is in its journal."""
        self._line.close()
        self._end()

    def _end(self) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive()
        self._ending.close()


@dataclass
class Play:
    hub: RunningHub
    folder: Path
    texts: dict[str, str] = field(default_factory=dict[str, str])
    """What was asked, by action, in order."""
    groups: list[str] = field(default_factory=list[str])
    agent: AcpAgent | None = None

    def __post_init__(self) -> None:
        self.room_id = self.hub.user.room()
        self.boss = Client(self.hub, over_socket=True, headers={"tally-agent": "boss"})
        self.boss.call("rooms.join", room_id=self.room_id)
        self._diary = self.folder / f"diary-{self.room_id}"

    def do(self, step: Step) -> None:
        match step:
            case ("ask", kinds):
                self._ask(kinds, times=1)
            case ("ask twice", kinds):
                self._ask(kinds, times=2)
            case ("interrupt", _):
                self._relay([control(NAME, "interrupt")], times=1)
            case ("settle", _):
                self._settle()
            case ("leave", _):
                self._change(AcpAgent.leave)
            case _:
                self._change(AcpAgent.cut_off)

    def begin(self) -> None:
        self.agent = AcpAgent(self.hub, self.room_id, self.folder, self._diary)

    def _change(self, how: object) -> None:
        """Have the agent go, or come back."""
        agent, self.agent = self.agent, None
        if agent is None:
            self.begin()
        elif callable(how):
            how(agent)

    def _ask(self, kinds: Sequence[str], *, times: int) -> None:
        texts = [f"{kind} {len(self.texts) + number}" for number, kind in enumerate(kinds)]
        self._relay([message(NAME, text) for text in texts], times=times)

    def _relay(self, actions: list[Json], *, times: int) -> None:
        given: Json = {"room_id": self.room_id, "actions": actions}
        key = new_id()
        replies = [self.boss.post("actions.relay", given, Idempotency_Key=key) for _ in range(times)]
        assert {reply.status for reply in replies} == {200}, replies
        assert all(reply.json == replies[0].json for reply in replies)
        relayed = replies[0].json
        self.groups.append(str(relayed["group_id"]))
        placed = cast("list[Json]", relayed["actions"])
        for place, action in zip(placed, actions, strict=True):
            self.texts[str(place["action_id"])] = str(action.get("text", ""))

    def outcomes(self) -> list[Json]:
        found = list[Json]()
        for group in self.groups:
            reply = self.boss.call("actions.outcomes", room_id=self.room_id, group_id=group)
            found += cast("list[Json]", reply["actions"])
        return found

    def _settle(self) -> None:
        """Wait until the agent can do no more by itself."""
        if self.agent:
            until(lambda: (stuck := self._unfinished()) is None or stuck.startswith("slow"))

    def _unfinished(self) -> str | None:
        """What the first is about that has no end."""
        open_ = [each for each in self.outcomes() if each["status"] not in {"completed", "rejected", "error"}]
        begun = {line.partition(" ")[2] for line in self._lines("begin")}
        text = self.texts[str(open_[0]["action_id"])] if open_ else None
        return text if text is None or text in begun else ""

    def finish(self) -> None:
        """Interrupt what would go on for ever, until everything has an end."""
        if self.agent is None:
            self.begin()
        self._settle()
        while self._unfinished() is not None:
            self._relay([control(NAME, "interrupt")], times=1)
            self._settle()
        if self.agent:
            self.agent.leave()

    def _lines(self, word: str) -> list[str]:
        lines = self._diary.read_text().splitlines() if self._diary.exists() else []
        return [line for line in lines if line.startswith(word)]

    def judge(self) -> None:
        begun = [line.partition(" ")[2] for line in self._lines("begin")]
        ended = {line.partition(" ")[2] for line in self._lines("end")}
        asked = [text for text in self.texts.values() if text]

        assert begun == [text for text in asked if text in begun], "in order, and none twice"
        for each in self.outcomes():
            text = self.texts[str(each["action_id"])]
            if not text:
                assert each["status"] in {"completed", "rejected"}, each
            elif each["status"] == "completed":
                assert (each["reply"], text in ended) == ("noted", True)
            else:
                why = ("interrupted by", "ended while it worked")
                assert each["status"] == "error", each
                assert any(words in str(each["detail"]) for words in why), each


def check(hub: RunningHub, folder: Path, steps: list[Step]) -> None:
    play = Play(hub, folder)
    play.begin()
    try:
        for step in steps:
            play.do(step)
        play.finish()
    finally:
        if play.agent:
            with suppress(TallyError):
                play.agent.cut_off()
    play.judge()


LAX = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@settings(max_examples=8, **LAX)  # pyright: ignore[reportArgumentType]
@given(steps=st.lists(STEPS, max_size=12))
def test_order_idempotency_and_redelivery_hold_for_an_agent_over_acp(
    shared_hub: RunningHub, tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    check(shared_hub, tmp_path_factory.mktemp("play"), steps)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@settings(max_examples=300, **LAX)  # pyright: ignore[reportArgumentType]
@given(steps=st.lists(STEPS, max_size=40))
def test_the_same_in_long_plays(
    shared_hub: RunningHub, tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    check(shared_hub, tmp_path_factory.mktemp("play"), steps)
