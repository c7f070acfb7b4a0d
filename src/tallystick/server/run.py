"""Running the hub: what it needs is opened in order, used while it serves, and closed in the reverse order.

A hub in a terminal says there what happens in the rooms: who comes and goes, and where the stick is.
Where that was asked for, it starts a runner where jobs wait and nobody runs them: the one program a hub may start.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from socket import socket
from time import monotonic, sleep

import uvloop

from tallystick import __version__
from tallystick.capabilities.agents.events import MemberAdded, MemberRemoved
from tallystick.capabilities.jobs import queries as jobs
from tallystick.capabilities.jobs.events import JobCompleted, JobCreated
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.rooms.events import RoomCreated, StickClosed
from tallystick.capabilities.turns.events import StickClaimed, StickPassed, StickReleased, StickRevoked, StickTakenOver
from tallystick.commandline import output
from tallystick.commandline.output import visible
from tallystick.hub import event_text, feed, signing, tokens
from tallystick.hub.hub import Hub
from tallystick.hub.maintenance import DemoRooms
from tallystick.hub.serving import Serving
from tallystick.hub.settings import Settings
from tallystick.kernel import places
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.clock import to_wire
from tallystick.kernel.operation import Reach, as_record
from tallystick.ledger import reading
from tallystick.ledger.contract import Envelope, Heads
from tallystick.server import asgi
from tallystick.storage.errors import StoreUnreachable
from tallystick.surfaces import bus as bus_socket
from tallystick.surfaces.http import connections, hub_files
from tallystick.surfaces.http.browser_sessions import HubAddress, label_of
from tallystick.surfaces.http.connections import HttpServer
from tallystick.surfaces.http.hub_files import HubFiles
from tallystick.surfaces.http.logs import Handler, Log
from tallystick.surfaces.http.middleware import Limits
from tallystick.surfaces.mcp import hub_socket as mcp_socket

AGAIN_S = 0.5
"""How often to try a database that is not there yet."""
LOOK_S = 2.0
"""How often to look for jobs that nobody runs."""
FILES = 65_536
"""Open files a hub may have: every follower takes one."""

_STICK = (StickClaimed, StickReleased, StickPassed, StickTakenOver, StickRevoked, StickClosed)
_KINDS = [each.kind for each in (RoomCreated, MemberAdded, MemberRemoved, *_STICK, JobCreated, JobCompleted)]
"""What is told; the page and `tally log` have the rest."""
_SPACED_S = 0.25
"""However busy the rooms are, nobody reads faster."""
_MOST = 20
"""Of a room at once: of more, these are the first."""
_ROOMS = 10_000
_READER = Caller(agent_id="user", session=SessionKind.HUMAN_GUARDIAN)

AUTOSTART_VARIABLE = "TALLYSTICK_RUNNER_AUTOSTART"
BACKOFF_S = 30.0
"""A room whose runner ended gets no other for so long; one that cannot start is not started all the time."""
LEAVE_S = 10.0
RUNNER = (sys.executable, "-m", "tallystick.surfaces.cli.main", "runner")

runner_log = logging.getLogger("tallystick.autostart")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    host: str
    port: int
    tls: tuple[Path, Path] | None = None
    """Certificate and key."""
    database_wait: float = 0.0
    """So many seconds a database server that is not there yet is waited for."""
    runner_autostart: bool = False
    """Start a runner where jobs wait and none is there."""
    tells: bool = False
    """Print what happens: somebody sits at the terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningHub:
    """What to tell whoever started the hub."""

    url: str
    place: HubFiles
    link: str


def run(settings: Settings, options: ServeOptions, limits: Limits, started: Callable[[RunningHub], None]) -> None:
    """Serve until a signal comes."""
    settings.make_data_dir()
    where = HubFiles(settings.data_dir)
    with ExitStack() as stack:
        stack.enter_context(where.claimed())
        tcp = stack.enter_context(hub_files.tcp(options.host, options.port))
        sockets = [tcp, stack.enter_context(where.listening())]
        hub = _open(settings, options)
        stack.callback(hub.close)
        log = stack.enter_context(_logging(where.log))
        _allow_many_files()
        hub.blobs.sweep()
        _first_token(hub, where)
        # Exclude start-up objects from garbage collection, which took about 5 % of the CPU.
        gc.freeze()
        opened = _Opened(
            settings=settings, hub=hub, place=where, options=options, limits=limits, log=log, sockets=sockets
        )
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(opened, started))


def _open(settings: Settings, options: ServeOptions) -> Hub:
    """The hub, once its database can be reached: services are started in no particular order."""
    seconds, told = options.database_wait, False
    deadline = monotonic() + seconds
    while True:
        try:
            return Hub.open(settings, grouped=True, starts_runners=options.runner_autostart)
        except StoreUnreachable as wrong:
            if settings.database_url is None or monotonic() > deadline:
                raise
            if not told:
                print(f"{wrong.message} Waiting for it, up to {seconds:g} s.", file=sys.stderr, flush=True)
            told = True
            sleep(AGAIN_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    settings: Settings
    hub: Hub
    place: HubFiles
    options: ServeOptions
    limits: Limits
    log: Log
    sockets: Sequence[socket]


async def _serve(opened: _Opened, started: Callable[[RunningHub], None]) -> None:
    options, limits = opened.options, opened.limits
    secure = connections.tls(*options.tls) if options.tls else None
    label = label_of(opened.place.token.read_text("utf-8").strip())
    port: int = opened.sockets[0].getsockname()[1]
    address = HubAddress(host=options.host, port=port, tls=secure is not None, label=label)
    async with AsyncExitStack() as stack:
        built = await stack.enter_async_context(
            asgi.opened(
                opened.hub,
                log=opened.log,
                address=address,
                limits=limits,
                connections=lambda: len(server.server_state.connections),
                demo=DemoRooms(settings=opened.settings),
            )
        )
        server = HttpServer(built.asgi, limits, secure, dismiss=built.dismiss)
        await stack.enter_async_context(asgi.beside(signing.keep_signing(built.service_pages.serving, opened.settings)))
        if options.runner_autostart:
            runners = Autostart(opened.hub, opened.place.folder)
            stack.callback(runners.close)
            await stack.enter_async_context(asgi.beside(_keep_starting(runners)))
        await stack.enter_async_context(mcp_socket.opened(built.service_pages.serving, opened.place.folder))
        await stack.enter_async_context(bus_socket.opened(built.bus, opened.place.bus_socket))

        def ready() -> None:
            facts = {
                "url": address.url,
                "bus_socket": str(opened.place.bus_socket),
                "http_socket": str(opened.place.socket),
                "mcp_socket": str(opened.place.mcp_socket),
                "pid": os.getpid(),
                "started_at": to_wire(built.service_pages.started_at),
                "version": __version__,
                "database": places.database_mark(Settings.of().database_url),
            }
            stack.enter_context(opened.place.shown(facts))
            started(RunningHub(url=address.url, place=opened.place, link=built.service_pages.link()))

        if options.tells:
            await stack.enter_async_context(asgi.beside(_told(built.service_pages.serving)))
        await server.run_on(opened.sockets, ready)


async def _keep_starting(runners: Autostart) -> None:
    while True:
        await asyncio.to_thread(runners.look)
        await asyncio.sleep(LOOK_S)


def _first_token(hub: Hub, where: HubFiles) -> None:
    """See to it that the file `token` holds a valid token of the user."""
    with suppress(FileNotFoundError):
        if tokens.find(hub, where.token.read_text("utf-8").strip()):
            return
    issued = tokens.issue(hub, principal="user", reach=Reach.MANAGE, label="made by tally up", lasts_ms=None)
    hub_files.write_private(where.token, issued.secret.encode() + b"\n")


def _allow_many_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@contextmanager
def _logging(path: Path) -> Generator[Log]:
    """The hub's log, with the warnings of every library in it."""
    log = Log(path)
    handler = Handler(log)
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield log
    finally:
        root.removeHandler(handler)
        log.close()


async def _told(serving: Serving) -> None:
    """Print what happens from now on, until cancelled. In a thread: a terminal may be stopped and take nothing."""
    seen = await serving.read(partial(_heads, serving.hub))
    with serving.feeds.listen(feed.EVERY_ROOM) as wake:
        while True:
            if await wake.wait(feed.QUIET_SECONDS):
                seen = await serving.read(partial(_say, serving.hub, seen))
                await asyncio.sleep(_SPACED_S)


def _heads(hub: Hub) -> dict[str, int]:
    found = as_record(Heads, hub.call("events.heads", {"limit": _ROOMS}, _READER).to_data())
    return {each.room_id: each.seq for each in found.heads}


def _say(hub: Hub, before: Mapping[str, int]) -> dict[str, int]:
    now = _heads(hub)
    for room_id, seq in now.items():
        if seq <= before.get(room_id, 0):
            continue
        with hub.reading() as tx:
            found = reading.since(tx, room_id, before.get(room_id, 0), limit=_MOST, kinds=_KINDS)
            title = reading.event_at(tx, room_id, 1).data.get("title") or room_id
        for event in map(Envelope.of, found):
            sentence = event_text.sentence(event).partition("\n")[0]
            print(visible(f"{output.local_time(event.ts)}  {title}: {sentence}"), flush=True)
    return now


class Autostart:
    def __init__(self, hub: Hub, data_dir: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._hub, self._data_dir, self._clock = hub, data_dir, clock
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._tried: dict[str, float] = {}

    def look(self) -> None:
        """Start a runner for every room that needs one."""
        for room_id, root in self._unattended():
            process, tried = self._running.get(room_id), self._tried.get(room_id)
            if process and process.poll() is None:
                continue
            if tried is None or self._clock() - tried >= BACKOFF_S:
                self._tried[room_id] = self._clock()
                self._running[room_id] = self._start(room_id, root)

    def close(self) -> None:
        """What the hub started ends with it, and hands its jobs back."""
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            try:
                process.wait(LEAVE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _unattended(self) -> Sequence[tuple[str, str]]:
        """Rooms with jobs and without a runner, each with its folder on this machine."""
        with self._hub.reading() as tx:
            found = [
                (room_id, scope.root)
                for room_id in jobs.unattended(tx)
                for scope in rooms.scopes(tx, room_id)[:1]
                if scope.machine_id == tx.world.machine_id
            ]
        return [(room_id, root) for room_id, root in found if Path(root).is_dir()]

    def _start(self, room_id: str, root: str) -> subprocess.Popen[bytes]:
        runner_log.info("starting a runner for room %s in %s", room_id, root)
        with (self._data_dir / "runner.log").open("ab") as said:
            return subprocess.Popen(
                [*RUNNER, "--room", room_id, "--cwd", root],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                cwd=root,
                env={**os.environ, "TALLYSTICK_DATA_DIR": str(self._data_dir)},
                start_new_session=True,
            )


def autostart_wanted(flag: bool | None) -> bool:
    """Whether to start runners: the flag says, else the variable; unasked, nothing is started."""
    return flag if flag is not None else os.environ.get(AUTOSTART_VARIABLE, "") not in {"", "0"}
