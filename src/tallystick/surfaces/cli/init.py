"""`tally init`: begin a session here, under a name of its own or as an agent that left work behind."""

from __future__ import annotations

import re
import sys

import click

from tallystick.capabilities.agents.contract import (
    AdoptAgentResult,
    Agents,
    AgentView,
    Candidates,
    FindCandidates,
    ListAgents,
    RegisterAgentResult,
)
from tallystick.capabilities.rooms.contract import JoinRoom, JoinRoomResult
from tallystick.commandline.command import Command
from tallystick.kernel.caller import is_person
from tallystick.kernel.errors import Conflict, NoRoomHere, TallyError
from tallystick.surfaces.cli import screen
from tallystick.surfaces.cli.session import Session, Usage, absolute

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")
"""What `init` calls an agent when it chooses a name itself."""


class AmbiguousSession(Conflict):
    """An agent left work behind here: whether to go on for it cannot be decided without you."""

    hint = "Run `tally init --adopt ID` to go on for it, or `tally init --register NAME` to begin anew."


@click.command(cls=Command)
@click.argument("path", required=False, type=click.Path())
@click.option("--non-interactive", is_flag=True, help="Never ask; fail when it cannot be decided safely.")
@click.option("--adopt", metavar="ID", help="Go on as this agent, named by id or name.")
@click.option("--register", metavar="NAME", help="Begin under this name, such as amber-otter.")
@click.option("--role", type=click.Choice(["foreman", "peer"]), help="The role to register in.")
@click.option("--scope", metavar="PATH", help="With --adopt: where its work is.")
@click.pass_obj
def init(
    session: Session,
    *,
    path: str | None,
    non_interactive: bool,
    adopt: str | None,
    register: str | None,
    role: str | None,
    scope: str | None,
) -> None:
    """Begin a session: under a name of its own, or as an agent that left work behind.

    Without --adopt or --register it looks what was left behind here. If nothing was, it registers under a new name; if
    something was, it asks, and with --non-interactive or --json it fails and says what it recommends and why.
    """
    if adopt is not None and register is not None:
        raise Usage("Give --adopt or --register, not both.")
    start = SessionStart(
        session, absolute(path), asks=not non_interactive and not session.as_json and sys.stdin.isatty()
    )
    if adopt is not None:
        data = start.adopt(adopt, scope)
    elif register is not None:
        data = start.register(register, role, mode="register")
    else:
        data = start.decide(role)
    if not session.finish(data):
        screen.pairs(data)


class SessionStart:
    def __init__(self, session: Session, here: str, *, asks: bool) -> None:
        self._session, self._here, self._asks = session, here, asks

    def register(
        self, name: str | None, role: str | None, *, mode: str, reason: str = "", force: bool = False
    ) -> dict[str, object]:
        """Join and take a name. Whoever has no identity but a terminal takes the name for its id."""
        session = self._session
        name = name or self._own_name
        if self._is_person:
            name = self._take_name(name)
        was_here = session.caller.agent_id in {each.agent_id for each in self._members()}
        room_id = session.ask("rooms.join", JoinRoom(context_path=self._here), JoinRoomResult).room_id
        given: dict[str, object] = {"room_id": room_id, "force_update": force}
        given |= {key: value for key, value in (("name", name), ("role", role)) if value is not None}
        try:
            agent = session.call("agents.register", given).read(RegisterAgentResult).agent
        except TallyError:
            if not was_here:
                session.call("rooms.leave", {"room_id": room_id})
            raise
        why = reason or f"register_requested: {agent.name} was asked for and is free"
        return self._result(mode, room_id, agent.agent_id, agent.name, reason=why)

    def adopt(self, who: str, scope: str | None) -> dict[str, object]:
        room_id = self._session.room(self._here, None)
        given: dict[str, object] = {"room_id": room_id, "agent_id": who, "context_path": self._here}
        if scope is not None:
            given["scope"] = scope
        try:
            done = self._session.call("agents.adopt", given)
        except TallyError as refusal:
            if refusal.code != "adoption_rejected" or not self._asks:
                raise
            screen.say(refusal.message)
            click.confirm(f"Go on as {who} all the same?", abort=True, err=True)
            done = self._session.call("agents.adopt", {**given, "confirm": True})
        found = done.read(AdoptAgentResult)
        reason = f"{found.reason}: {found.evidence}"
        return self._result("adopt", room_id, found.agent_id, found.name, reason=reason)

    def decide(self, role: str | None) -> dict[str, object]:
        """Do what is recommended where that is safe: to register is, to act for another is somebody's decision."""
        room_id = self._room()
        if room_id is None:
            return self.register(None, role, mode="auto", reason="no_room_yet: nobody has worked here before")
        found = self._session.call("agents.candidates", {"room_id": room_id, "context_path": self._here})
        seen = found.read(Candidates)
        advice = seen.recommendation
        if advice.action == "register":
            return self.register(None, role, mode="auto", reason=advice.reason)
        if not self._asks:
            raise AmbiguousSession(
                f"{', '.join(each.name for each in seen.candidates)} left work behind here.",
                recommendation=found.data["recommendation"],
                candidates=found.data["candidates"],
            )
        for each in seen.candidates:
            screen.say(f"{each.name} ({each.agent_id}): {each.evidence}")
        if advice.agent_id and click.confirm(f"Go on as {advice.agent_id}?", err=True):
            return self.adopt(advice.agent_id, None)
        return self.register(None, role, mode="register", reason="adoption_declined: you chose to begin anew")

    def _room(self) -> str | None:
        try:
            return self._session.room(self._here, None)
        except NoRoomHere:
            return None

    @property
    def _is_person(self) -> bool:
        return self._session.agent is None and is_person(self._session.caller.agent_id)

    @property
    def _own_name(self) -> str | None:
        """The name that the caller has here already, or was given on the command line; a harness's id is none."""
        me = self._session.caller.agent_id
        known = next((each.name for each in self._members() if each.agent_id == me), self._session.agent)
        return known if known and _NAME.fullmatch(known) else None

    def _take_name(self, name: str | None) -> str | None:
        """Whoever has no identity but a terminal becomes an agent whose id is its name, unless somebody has that."""
        name = name or self._candidates(self._open()).recommendation.name
        known = {each for member in self._members() for each in (member.agent_id, member.name)}
        if name is not None and name not in known:
            self._session.act_as(name)
        return name

    def _open(self) -> str:
        """The room of this place, without anybody in it who was not there."""
        room_id = self._room()
        if room_id is None:
            room_id = self._session.ask("rooms.join", JoinRoom(context_path=self._here), JoinRoomResult).room_id
            self._session.call("rooms.leave", {"room_id": room_id})
        return room_id

    def _candidates(self, room_id: str) -> Candidates:
        asked = FindCandidates(room_id=room_id, context_path=self._here)
        return self._session.ask("agents.candidates", asked, Candidates)

    def _members(self) -> list[AgentView]:
        room_id = self._room()
        return self._session.ask("agents.list", ListAgents(room_id=room_id), Agents).agents if room_id else []

    def _result(self, mode: str, room_id: str, agent_id: str, name: str, *, reason: str) -> dict[str, object]:
        return {
            "mode": mode,
            "agent_id": agent_id,
            "name": name,
            "room_id": room_id,
            "session_id": self._session.caller.agent_id,
            "reason": reason,
        }
