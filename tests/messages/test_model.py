"""Random sends, reads and acks, while members come and go, against a small model that only knows sets and counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tallystick.hub import maintenance
from tallystick.kernel.errors import TallyError
from tallystick.storage.port import Store
from tests.messages.talk import human, inbox
from tests.scene import Actor, Row, Scene

NAMES = ["ada", "bob", "cyd"]
EVERYONE = [*NAMES, "user"]
actors = st.sampled_from(EVERYONE)
tokens = st.lists(st.sampled_from([*NAMES, "@all", "@peers", "@foreman", "@user", "user", "nobody"]), max_size=3)


@dataclass
class Said:
    """One message or notification."""

    id: str
    seq: int
    sender: str
    recipients: set[str]
    asks: bool
    is_message: bool
    acked: set[str] = field(default_factory=set[str])

    @property
    def owing(self) -> set[str]:
        return self.recipients - {self.sender} - self.acked if self.asks else set()


@dataclass
class Model:
    """Who is here in which role, what was said, and how far each has read."""

    roles: dict[str, str] = field(default_factory=dict[str, str])
    known: set[str] = field(default_factory=lambda: {"user"})
    """Whoever was ever here: who left still has what it got."""
    said: list[Said] = field(default_factory=list[Said])
    marks: dict[str, int] = field(default_factory=dict[str, int])

    def reach(self, sender: str, to: list[str]) -> set[str] | str:
        """Whom a message reaches, or the code of the refusal."""
        if sender not in self.roles and sender != "user":
            return "unknown_member"
        groups = {
            "@all": {*self.roles, "user"},
            "@peers": {name for name, role in self.roles.items() if role == "peer"},
            "@foreman": {name for name, role in self.roles.items() if role == "foreman"},
            "@user": {"user"},
            "user": {"user"},
            **{name: {name} for name in self.roles},
        }
        found = set[str]()
        for token in to or ["@all"]:
            chosen = groups.get(token)
            if not chosen:
                return "unknown_recipient" if token.startswith("@") else "agent_not_found"
            found |= chosen - {sender} if token in {"@all", "@peers", "@foreman"} else chosen
        return found or "unknown_recipient"

    def unread(self, actor: str) -> int:
        return sum(actor in each.recipients and each.seq > self.marks.get(actor, 0) for each in self.said)

    def unacked(self, actor: str) -> int:
        return sum(actor in each.owing for each in self.said)


class Conversation(RuleBasedStateMachine):
    scene: Scene

    @initialize()
    def start(self) -> None:
        founder = self.scene.agent("founder")
        self.room_id = cast("str", founder.call("rooms.create", title="model")["room_id"])
        self.model = Model()

    def actor(self, name: str) -> Actor:
        if name == "user":
            return human(self.scene, self.room_id)
        return Actor(self.scene, self.scene.agent(name).caller, self.room_id)

    def outcome(self, name: str, operation: str, **given: object) -> Row | str:
        """The answer, or the code of the refusal."""
        try:
            return self.actor(name).here(operation, **given)
        except TallyError as refused:
            return refused.code

    @rule(name=st.sampled_from(NAMES), role=st.sampled_from(["peer", "foreman"]))
    def join(self, name: str, role: str) -> None:
        actor = self.actor(name)
        actor.call("rooms.join", room_id=self.room_id)
        actor.appointed(role)
        self.model.roles[name] = role
        self.model.known.add(name)

    @rule(name=st.sampled_from(NAMES))
    def leave(self, name: str) -> None:
        self.actor(name).here("rooms.leave")
        self.model.roles.pop(name, None)

    @rule(sender=actors, to=tokens, asks=st.booleans())
    def send(self, sender: str, to: list[str], asks: bool) -> None:
        priority = "attention" if asks else "normal"
        answer = self.outcome(sender, "messages.send", text="x", to=to, priority=priority)
        self.record(sender, answer, self.model.reach(sender, to), asks=asks, is_message=True)

    @rule(sender=actors, whom=st.sampled_from([*NAMES, None]), asks=st.booleans())
    def notify(self, sender: str, whom: str | None, asks: bool) -> None:
        answer = self.outcome(sender, "notifications.send", kind="info", target_actor_id=whom, requires_ack=asks)
        expected = self.model.reach(sender, [whom] if whom else [])
        self.record(sender, answer, expected, asks=asks, is_message=False)

    def record(self, sender: str, answer: Row | str, expected: set[str] | str, *, asks: bool, is_message: bool) -> None:
        if isinstance(answer, str) or isinstance(expected, str):
            assert answer == expected
            return
        event = cast("Row", answer["event"])
        assert answer["recipients"] == event["data"]["recipients"] == sorted(expected)
        self.model.said.append(
            Said(event["id"], event["seq"], sender, expected, asks=asks, is_message=is_message),
        )

    @precondition(lambda self: self.model.said)
    @rule(data=st.data(), reader=actors, actor=actors)
    def read(self, data: st.DataObject, reader: str, actor: str) -> None:
        said = data.draw(st.sampled_from(self.model.said))
        answer = self.outcome(reader, "messages.read", event_id=said.id, actor_id=actor)
        if actor not in self.model.known:
            assert answer == "agent_not_found"
        elif reader not in {actor, "user"}:
            assert answer == "not_your_inbox"
        elif actor not in said.recipients:
            assert answer == "not_addressed"
        else:
            moved = said.seq > self.model.marks.get(actor, 0)
            self.model.marks[actor] = max(said.seq, self.model.marks.get(actor, 0))
            assert answer == {
                "actor_id": actor,
                "event_id": said.id,
                "moved": moved,
                "read_seq": self.model.marks[actor],
                "unread": self.model.unread(actor),
            }

    @precondition(lambda self: self.model.said)
    @rule(data=st.data(), name=actors)
    def ack(self, data: st.DataObject, name: str) -> None:
        said = data.draw(st.sampled_from(self.model.said))
        if said.is_message:
            answer = self.outcome(name, "messages.ack", event_id=said.id)
            expected = self.refusal_of_ack(said, name)
        else:
            answer = self.outcome(name, "notifications.ack", notify_event_id=said.id)
            expected = None if name in said.recipients else "not_addressed"
        if isinstance(answer, str):
            assert answer == expected
            return
        assert (expected, answer["already"]) == (None, name in said.acked)
        said.acked.add(name)

    def refusal_of_ack(self, said: Said, name: str) -> str | None:
        if not said.asks:
            return "not_an_attention_message"
        if said.sender == name:
            return "own_message"
        return None if name in said.recipients else "not_addressed"

    @invariant()
    def counts_and_debts_are_what_the_model_says(self) -> None:
        for name in EVERYONE:
            found = inbox(self.actor(name), limit=200)
            awaited = [each for each in self.model.said if each.is_message and each.sender == name and each.owing]
            assert (found["unread"], found["unacked"]) == (self.model.unread(name), self.model.unacked(name))
            assert len(found["messages"]) == found["unread"]
            assert [(each["event_id"], each["missing"]) for each in found["awaiting"]] == [
                (each.id, sorted(each.owing)) for each in awaited
            ][:20]


def test_any_history_leaves_the_counts_and_debts_of_the_model(store: Store, tmp_path: Path) -> None:
    class Machine(Conversation):
        scene = Scene(store, tmp_path.resolve())

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=40 if store.engine == "sqlite" else 5,
            stateful_step_count=30,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
    assert maintenance.check(Machine.scene.hub) == []
