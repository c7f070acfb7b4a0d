"""The pure decisions about messages, without a store."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tallystick.capabilities.agents.errors import AgentNotFound
from tallystick.capabilities.agents.model import Participant, Role
from tallystick.capabilities.messages import rules
from tallystick.capabilities.messages.events import MessageSent
from tallystick.capabilities.messages.model import ClientIdUse, InboxListener
from tallystick.capabilities.messages.rules import DuplicateListener, UnknownRecipient
from tallystick.kernel.caller import ProcessState
from tests.scene import refused

NAMES = ["ada", "bob", "cyd", "human:eve:pts1", "human:eve:pts2"]
TOKENS = [*NAMES, "@all", "@peers", "@foreman", "@user", "user", "nobody", "@nobody"]


def member(name: str, role: Role) -> Participant:
    return Participant(
        agent_id=name,
        name=name,
        role=role,
        harness="",
        scope_key="",
        ordinal=0,
        joined_at=0,
    )


teams = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(Role)).map(
    lambda team: [member(name, role) for name, role in team.items()]
)


@given(teams, st.lists(st.sampled_from(TOKENS), max_size=4), st.sampled_from(["ada", "user", "svc:ci"]))
def test_recipients_are_sorted_principals_of_the_room_without_an_unnamed_sender(
    team: list[Participant], to: list[str], sender: str
) -> None:
    everyone = {"user", *(each.agent_id for each in team if not each.agent_id.startswith("human:"))}
    try:
        found = rules.recipients(team, to, sender)
    except (AgentNotFound, UnknownRecipient):
        return
    assert found == sorted(set(found))
    assert set(found) <= everyone
    named = {"user" if token == "@user" or token.startswith("human:") else token for token in to}
    assert sender not in found or sender in named


@given(teams, st.lists(st.sampled_from(TOKENS), max_size=4), st.sampled_from(TOKENS))
def test_another_token_never_reaches_fewer(team: list[Participant], to: list[str], more: str) -> None:
    try:
        fewer = set(rules.recipients(team, to or ["@user"], "svc:ci"))
        wider = set(rules.recipients(team, [*(to or ["@user"]), more], "svc:ci"))
    except (AgentNotFound, UnknownRecipient):
        return
    assert fewer <= wider


def test_a_client_id_is_remembered_to_the_millisecond() -> None:
    first = MessageSent(text="x", format="plain", priority="normal", to=[], recipients=[], client_id="c")
    again = structs.replace(first, client_ts="then", recipients=["bob"])
    other = structs.replace(again, text="y")
    used = ClientIdUse(digest=rules.fingerprint(first), seq=1, sent_at=1000)
    assert rules.check_replay(used, again, now=1000 + rules.REPLAY_MS - 1) is True
    assert rules.check_replay(used, other, now=1000 + rules.REPLAY_MS) is False
    assert rules.check_replay(None, again, now=1000) is False
    with refused("client_id_conflict"):
        rules.check_replay(used, other, now=1000)


@given(st.integers(0, 200), st.sampled_from(ProcessState))
def test_a_listener_bars_others_exactly_while_it_lives(now: int, process: ProcessState) -> None:
    listener = InboxListener(heard_seq=0, listener_id="l", since=50, until=150, process=None)
    try:
        rules.check_listener(listener, process, now=now)
        barred = False
    except DuplicateListener:
        barred = True
    assert barred == (50 <= now < 150 and process is not ProcessState.GONE)
