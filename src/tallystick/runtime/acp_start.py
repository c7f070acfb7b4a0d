"""How a harness is started so that it speaks ACP: which program, its environment, and our MCP server in it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tallystick.client.connection import HubLocation
from tallystick.harnesses.acp import programs, protocol
from tallystick.harnesses.acp.programs import ACP_PROGRAMS, ANY, TALLY, AcpProgram
from tallystick.harnesses.headless.protocol import Sandbox, line_object, part
from tallystick.kernel import places
from tallystick.kernel.errors import InvalidField
from tallystick.runtime.acp import AcpEngine
from tallystick.runtime.program import AgentPlace, NoProgram, standing_environment
from tallystick.runtime.room_connection import PermissionRequests, RemoteHub


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
        env.setdefault(name, value)
    variable, within = program.engine
    # The adapter brings a program of its own, most often newer; people expect theirs, with their settings.
    if variable and variable not in env and (own := shutil.which(within, path=env.get("PATH"))):
        env[variable] = own
    if program.config_variable:
        given = env.get(program.config_variable, "")
        env[program.config_variable] = programs.merged_config(given, access.command, access.variables)
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
