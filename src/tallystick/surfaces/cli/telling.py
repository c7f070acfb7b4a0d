"""What a person reads of an answer. Where a list of its fields would bury the point, an operation has words here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from tallystick.surfaces.cli import screen, telling_jobs
from tallystick.surfaces.cli.views import View

Teller: TypeAlias = Callable[[Mapping[str, object]], None]


def tell(operation: str, data: Mapping[str, object]) -> None:
    TELLERS.get(operation, screen.answer)(data)


class _Event(View):
    id: str
    ts: str
    seq: int
    kind: str
    by: str
    data: dict[str, object]


class _Letter(View, event=_Event):
    event: _Event
    read: bool
    needs_ack: bool
    acked_at: str | None

    @property
    def state(self) -> str:
        if self.acked_at:
            return "accepted"
        seen = "read" if self.read else "new"
        return f"{seen}, needs your ack" if self.needs_ack else seen


class _Awaited(View):
    event_id: str
    missing: list[str]


class _Inbox(View, messages=_Letter, awaiting=_Awaited):
    unread: int
    unacked: int
    more: bool
    messages: list[_Letter]
    awaiting: list[_Awaited]


def _inbox(data: Mapping[str, object]) -> None:
    inbox = _Inbox(data)
    for letter in inbox.messages:
        event, about = letter.event, letter.event.data
        screen.say(f"{event.id}  {event.ts}  {event.by}: {letter.state}")
        texts = [str(about[name]) for name in ("title", "text", "message") if about.get(name)]
        screen.paragraph(f"{event.kind} {event.seq}", texts)
    screen.say(f"{inbox.unread} unread, {inbox.unacked} to acknowledge.{' There is more.' if inbox.more else ''}")
    for each in inbox.awaiting:
        screen.say(f"You wait for the ack of {', '.join(each.missing)}: {each.event_id}")


class _Sent(View, event=_Event):
    event: _Event
    recipients: list[str]
    replayed: bool


def _sent(data: Mapping[str, object]) -> None:
    sent = _Sent(data)
    before = ", as it was before" if sent.replayed else ""
    screen.say(f"Sent to {', '.join(sent.recipients) or 'nobody'}{before}: {sent.event.id}")


class _Reservation(View):
    path: str
    name: str
    liveness: str
    mode: str
    until: str
    fence: int
    state: str


class _Holder(View):
    path: str
    name: str
    until: str


class _Reserved(View, reservation=_Reservation, overlaps=_Holder, took_over=_Holder):
    reservation: _Reservation
    overlaps: Sequence[_Holder] = ()
    took_over: Sequence[_Holder] = ()


def _reserved(data: Mapping[str, object]) -> None:
    found = _Reserved(data)
    mine = found.reservation
    screen.say(f"{mine.path} is reserved for {mine.name} until {mine.until} ({mine.mode}, fence {mine.fence}).")
    for each in found.took_over:
        screen.say(f"Taken over from {each.name}: {each.path}. Look at what was left uncommitted.")
    for each in found.overlaps:
        screen.say(f"Shared with {each.name}, who has {each.path} until {each.until}.")


class _Status(View, reservations=_Reservation):
    reservations: list[_Reservation]


def _status(data: Mapping[str, object]) -> None:
    found = _Status(data).reservations
    if not found:
        screen.say("Nothing is reserved.")
        return
    screen.table(
        ["path", "holder", "liveness", "mode", "state", "until"],
        [[each.path, each.name, each.liveness, each.mode, each.state, each.until] for each in found],
    )


class _Verdict(View):
    path: str
    verdict: str
    name: str | None = None
    until: str | None = None


class _Checked(View, paths=_Verdict):
    paths: list[_Verdict]


def _checked(data: Mapping[str, object]) -> None:
    found = _Checked(data).paths
    screen.table(
        ["path", "verdict", "holder", "until"], [[each.path, each.verdict, each.name, each.until] for each in found]
    )


class _Agent(View):
    agent_id: str
    name: str
    role: str
    liveness: str
    stalled: bool
    holds: list[str]
    last_seen_at: str


class _Agents(View, agents=_Agent):
    agents: list[_Agent]


def _agents(data: Mapping[str, object]) -> None:
    found = _Agents(data).agents
    screen.table(
        ["agent", "name", "role", "liveness", "holds", "last seen"],
        [[each.agent_id, each.name, each.role, _life(each), each.holds, each.last_seen_at] for each in found],
    )


def _life(agent: _Agent) -> str:
    return f"{agent.liveness}, stalled" if agent.stalled else agent.liveness


TELLERS: Mapping[str, Teller] = {
    **telling_jobs.TELLERS,
    "agents.list": _agents,
    "messages.inbox": _inbox,
    "messages.send": _sent,
    "reservations.check": _checked,
    "reservations.renew": _reserved,
    "reservations.reserve": _reserved,
    "reservations.status": _status,
}
