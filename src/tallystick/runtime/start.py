"""Starting an agent or a relay: find the hub, enter the room, work until told to leave."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tallystick.client.bus_protocol import Envelope
from tallystick.harnesses.headless.protocol import Sandbox
from tallystick.harnesses.install import plan
from tallystick.kernel import places
from tallystick.kernel.caller import check_agent_id
from tallystick.kernel.errors import InvalidField, TallyError
from tallystick.runtime import rules
from tallystick.runtime.acp_start import AcpStart, acp_engine, acp_start, hub_access
from tallystick.runtime.agent import Agent, Gone, Leave, MailBox
from tallystick.runtime.journal import Journal
from tallystick.runtime.program import AgentPlace, AgentProgram, HeadlessEngine
from tallystick.runtime.relay import RelayEnd, TaskRelay
from tallystick.runtime.room_connection import PermissionRequests, RemoteHub, RoomConnection, Tell, teller
from tallystick.runtime.rules import ActionDelivery, AgentReplaced, RoomOver

FOLDER = "attached"


class AgentAttachment:
    """An agent that is on the bus. `work` blocks; `leave` may be called from anywhere, also from a signal handler."""

    def __init__(self, agent: Agent, line: RoomConnection, mail: MailBox) -> None:
        self._agent, self._line, self._mail = agent, line, mail
        self._left = False

    @property
    def room_id(self) -> str:
        return self._line.room_id

    def work(self) -> str:
        """Take actions until told to leave; why it ended."""
        return self._agent.work()

    def leave(self) -> None:
        """End in order; a second time, or while the hub is away, without waiting for anybody."""
        if self._left or not self._line.connected:
            self._line.close()
        self._left = True
        self._mail.put(Leave())


@contextmanager
def attached(
    command: Sequence[str],
    *,
    name: str,
    room: str | None = None,
    cwd: Path | str = ".",
    harness: str | None = None,
    sandbox: Sandbox = Sandbox.WORKSPACE_WRITE,
    model_name: str | None = None,
    acp: bool | None = None,
    data_dir: Path | str | None = None,
    hub: RemoteHub | None = None,
    environ: Mapping[str, str] = os.environ,
    tell: Tell | None = None,
) -> Generator[AgentAttachment]:
    """A program as an agent of a room: by default of the room of the folder in which it works.

    A harness that speaks ACP runs as one process for as long as this lasts, any other program once for each message;
    `acp` says it where the program's name does not.
    """
    spoken = None if acp is False or harness else acp_start(command, environ, must=acp is True)
    program = spoken or AgentProgram.of(command, environ=environ, harness=harness, sandbox=sandbox, model=model_name)
    folder, say = folder_at(cwd), tell or teller(name)
    mail: MailBox = queue.SimpleQueue()
    with ExitStack() as ending:
        found = on_the_bus(name, room, folder, mail, data_dir=data_dir, hub=hub, tell=say)
        line, journal = ending.enter_context(found)
        place = AgentPlace(cwd=folder, scratch=journal.scratch, environ=environ, room_id=line.room_id, agent=name)
        if isinstance(program, AcpStart):
            access = ending.enter_context(hub_access(place, data_dir=data_dir, hub=hub))
            permissions = PermissionRequests(line)
            engine = acp_engine(program, place, access, sandbox=sandbox, model=model_name, permissions=permissions)
        else:
            engine = HeadlessEngine(program=program, place=place)
        agent = Agent(line=line, engine=engine, journal=journal, mail=mail, tell=say)
        line.ask("actions.attach", {"program": engine.slug})
        say(f"is in room {line.room_id} with {engine.slug}: {' '.join(program.argv)}")
        for warning in plan.warnings(engine.slug, folder=folder, environ=environ):
            say(warning)
        yield AgentAttachment(agent, line, mail)


def folder_at(cwd: Path | str) -> Path:
    folder = Path(cwd).resolve()
    if not folder.is_dir():
        raise InvalidField(f"{cwd} is no folder.", field="cwd")
    return folder


@contextmanager
def on_the_bus(
    name: str,
    room: str | None,
    folder: Path,
    mail: MailBox,
    *,
    data_dir: Path | str | None,
    hub: RemoteHub | None,
    tell: Tell,
) -> Generator[tuple[RoomConnection, Journal]]:
    """A line in a room, whose deliveries go into `mail`, and the journal, which nobody else can open meanwhile."""

    def brought(envelope: Envelope) -> None:
        if (found := rules.delivery(envelope)) is not None:
            mail.put(found)

    data = Path(data_dir or places.data_dir())
    line = RoomConnection(
        check_agent_id(name),
        data_dir=data,
        url=hub.url if hub else None,
        token=hub.token if hub else None,
        brought=brought,
        ended=lambda why: mail.put(Gone(why=why)),
        tell=tell,
    )
    try:
        journal = Journal(data / FOLDER, line.enter(room, folder), name)
        try:
            line.add()
            yield line, journal
        finally:
            journal.close()
    finally:
        line.close()


def attach(command: Sequence[str], *, name: str, room: str | None = None, cwd: Path | str = ".") -> str:
    """Put a program on the bus and keep it there; returns why it ended."""
    with attached(command, name=name, room=room, cwd=cwd) as attachment:
        return attachment.work()


MAX_TURNS = 20


def relaying(
    task: str,
    command: Sequence[str],
    *,
    name: str,
    room: str | None = None,
    cwd: Path | str = ".",
    harness: str | None = None,
    sandbox: Sandbox = Sandbox.WORKSPACE_WRITE,
    model_name: str | None = None,
    max_turns: int = MAX_TURNS,
    data_dir: Path | str | None = None,
    hub: RemoteHub | None = None,
    environ: Mapping[str, str] = os.environ,
    tell: Tell | None = None,
    prepared: Callable[[Callable[[], None]], None] | None = None,
) -> RelayEnd:
    """Have the agent `name`, run by this program, carry out a task through the other agents of a room.

    `prepared` is called with a function that ends the relay, before it begins.
    """
    engine = AgentProgram.of(command, environ=environ, harness=harness, sandbox=sandbox, model=model_name)
    folder, say = folder_at(cwd), tell or teller(name)
    mail: MailBox = queue.SimpleQueue()
    with on_the_bus(name, room, folder, mail, data_dir=data_dir, hub=hub, tell=say) as (line, journal):
        place = AgentPlace(cwd=folder, scratch=journal.scratch, environ=environ, room_id=line.room_id, agent=name)
        owner = HeadlessEngine(program=engine, place=place)
        relay = TaskRelay(line=line, engine=owner, tell=say, max_turns=max_turns)
        if prepared:
            prepared(lambda: relay.stop("its user"))
        threading.Thread(target=_deliver, args=(mail, relay), daemon=True).start()
        say(f"relays in room {line.room_id} with {engine.slug}: {' '.join(engine.argv)}")
        for warning in plan.warnings(engine.slug, folder=folder, environ=environ):
            say(warning)
        return relay.run(task)


def _deliver(mail: MailBox, relay: TaskRelay) -> None:
    while not isinstance(found := mail.get(), Gone):
        try:
            if isinstance(found, ActionDelivery | RoomOver):
                relay.brought(found)
            elif isinstance(found, AgentReplaced):
                relay.stop("another connection of the same name")
        except TallyError:
            return  # The line is closed; whoever waits for the relay hears of it there.
