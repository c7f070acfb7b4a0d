"""Starting an agent or a relay: find the hub, enter the room, work until told to leave.

A harness that speaks ACP is started so that it does: which program, its environment, and our MCP server in it.
"""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tallystick.client.bus_protocol import Envelope
from tallystick.client.connection import HubLocation
from tallystick.harnesses.acp import programs, protocol
from tallystick.harnesses.acp.programs import ACP_PROGRAMS, ANY, TALLY, AcpProgram
from tallystick.harnesses.headless.protocol import Sandbox, line_object, part
from tallystick.harnesses.install import plan
from tallystick.kernel import places
from tallystick.kernel.caller import check_agent_id
from tallystick.kernel.errors import InvalidField, TallyError
from tallystick.runtime import rules
from tallystick.runtime.acp import AcpEngine
from tallystick.runtime.agent import Agent, Gone, Leave, MailBox
from tallystick.runtime.journal import Journal
from tallystick.runtime.program import AgentPlace, AgentProgram, HeadlessEngine, NoProgram, standing_environment
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AcpStart:
    slug: str
    program: AcpProgram
    argv: tuple[str, ...]


def acp_start(command: Sequence[str], environ: Mapping[str, str], *, must: bool) -> AcpStart | None:
    """How to start a command so that it speaks ACP; None where it is called once for each message instead.

    `must` says that it speaks ACP whatever its name is. A harness under its own name is started as such when that, or
    its adapter, is installed; options of its own mean the harness, which its adapter does not know.
    """
    if not command:
        raise NoProgram
    path, name = environ.get("PATH"), Path(command[0]).name
    known = ACP_PROGRAMS.get(name)
    for first, *rest in known.commands if known else ():
        itself = first == name
        found = shutil.which(command[0] if itself else first, path=path)
        if known and found and (itself or len(command) == 1):
            return AcpStart(slug=name, program=known, argv=(_absolute(found), *rest, *command[1:]))
    if not must:
        return None
    found = shutil.which(command[0], path=path)
    if found is None:
        adapters = " or ".join(first for first, *_ in known.commands) if known else ""
        more = f" Its adapter {adapters} is not installed either." if adapters else ""
        raise NoProgram(f"'{command[0]}' is no program that could be run.{more}")
    if known:
        needed = known.commands[0][0]
        raise InvalidField(f"'{name}' speaks ACP through {needed}, which is not installed.", field="acp")
    adapter = next((slug for slug, each in ACP_PROGRAMS.items() if name in {first for first, *_ in each.commands}), "")
    program = ACP_PROGRAMS.get(adapter, ANY)
    return AcpStart(slug=adapter or name, program=program, argv=(_absolute(found), *command[1:]))


def _absolute(found: str) -> str:
    return str(Path(found).absolute())


def acp_engine(
    start: AcpStart,
    place: AgentPlace,
    access: HubAccess,
    *,
    sandbox: Sandbox,
    model: str | None,
    permissions: PermissionRequests,
) -> AcpEngine:
    program, env = start.program, standing_environment(place)
    for name, value in program.environment.items():
        env[name] = programs.beside(env[name], value) if env.get(name) else value
    variable, within = program.engine
    # The adapter brings a program of its own, most often newer; people expect theirs, with their settings.
    if variable and variable not in env and (own := shutil.which(within, path=env.get("PATH"))):
        env[variable] = own
    if program.config_variable:
        given = env.get(program.config_variable, "")
        elsewhere = plan.reached_by_address(start.slug, environ=place.environ)
        env[program.config_variable] = programs.merged_config(
            given, access.command, access.variables, elsewhere=elsewhere
        )
    return AcpEngine(
        slug=start.slug,
        program=program,
        argv=start.argv,
        cwd=place.cwd,
        environment=env,
        sandbox=sandbox,
        model=model,
        servers=_servers(program, access),
        permissions=permissions,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HubAccess:
    """How a harness reaches the hub for its agent."""

    command: tuple[str, ...]
    """Our MCP server as a program."""
    variables: Mapping[str, str]
    """What that needs to know."""
    url: str = ""
    token: str = field(default="", repr=False)


def _servers(
    program: AcpProgram, access: HubAccess
) -> Callable[[Mapping[str, object]], Sequence[Mapping[str, object]]]:
    def servers(capabilities: Mapping[str, object]) -> Sequence[Mapping[str, object]]:
        """Over HTTP where the harness can: a program of ours takes a moment to start, which some do not wait for."""
        if program.config_variable:
            return ()
        if access.token and part(capabilities, "mcpCapabilities").get("http") is True:
            return [protocol.http_server(TALLY, f"{access.url}/mcp", access.token)]
        return () if program.http_mcp_only else [protocol.stdio_server(TALLY, access.command, access.variables)]

    return servers


@contextmanager
def hub_access(place: AgentPlace, *, data_dir: Path | str | None, hub: RemoteHub | None) -> Generator[HubAccess]:
    """The agent's own way to the hub, while it is attached: a token of its own, which is revoked in the end."""
    data = str(Path(data_dir or places.data_dir()).absolute())
    command = (sys.executable, "-P", "-m", "tallystick.surfaces.cli.main", "mcp")
    variables = {"TALLYSTICK_AGENT": place.agent, "TALLYSTICK_DATA_DIR": data}
    if hub:
        yield HubAccess(command=command, variables=variables, url=hub.url.rstrip("/"), token=hub.token)
        return
    made = _token_command(place, data, "issue", "--room", place.room_id, "--for", place.agent, "--label", "attached")
    token, token_id = protocol.text(made, "token"), protocol.text(made, "id")
    try:
        url = HubLocation(data_dir=data, over="tcp", token=token).find().url if token else ""
        yield HubAccess(command=command, variables=variables, url=url.rstrip("/"), token=token if url else "")
    finally:
        if token_id:
            _token_command(place, data, "revoke", token_id)


def _token_command(place: AgentPlace, data: str, *args: str) -> dict[str, object]:
    """`tally token`, which opens the store itself; without an answer the harness starts our server as a program."""
    env = {**place.environ, "TALLYSTICK_DATA_DIR": data}
    argv = [sys.executable, "-P", "-m", "tallystick.surfaces.cli.main", "--json", "token", *args]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return part(line_object(done.stdout), "data") if done.returncode == 0 else {}
