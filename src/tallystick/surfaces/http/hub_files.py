"""What a running hub leaves in its data directory, so that others find it: a lock, `hub.json`, sockets and `token`.

Whether a hub runs is decided by the lock alone, which the system takes back however the process ends. The lock file
names the exact process that holds it.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from tallystick.harnesses import processes
from tallystick.kernel.caller import Process
from tallystick.kernel.errors import Conflict, InvalidInput, Unavailable

LONGEST_SOCKET = 100


class HubRunning(Conflict):
    """A hub runs in this data directory already."""

    hint = "Use that one, stop it with `tally down`, or set TALLYSTICK_DATA_DIR for a second one."


class PathTooLong(InvalidInput):
    """The data directory's path is too long for a socket in it."""

    hint = "Choose a data directory with a shorter path (TALLYSTICK_DATA_DIR)."


class BadAddress(InvalidInput):
    """There is no such address on this machine."""

    hint = "Give --host an address of this machine, such as 127.0.0.1, ::1 or 0.0.0.0 for all."


class PortTaken(Unavailable):
    """Another program listens on that port."""

    hint = "Choose another port with --port, or --port 0 for any that is free."


class HubFiles:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock, self.card = folder / "hub.lock", folder / "hub.json"
        self.socket, self.token, self.log = folder / "hub.sock", folder / "token", folder / "hub.log"
        self.mcp_socket, self.bus_socket = folder / "mcp.sock", folder / "bus.sock"

    @contextmanager
    def claimed(self) -> Generator[None]:
        """Be the only hub of this data directory."""
        descriptor = os.open(self.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            if not _locked(descriptor):
                raise HubRunning
            me = processes.facts(os.getpid())
            os.ftruncate(descriptor, 0)
            if me:
                os.pwrite(descriptor, f"{me.host_id} {me.pid} {me.started_at}\n".encode(), 0)
            yield
        finally:
            os.close(descriptor)

    def holder(self) -> Process | None:
        """The process that holds the lock; None when no hub runs here."""
        try:
            descriptor = os.open(self.lock, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            host, _, rest = os.pread(descriptor, 200, 0).decode().strip().partition(" ")
            pid, _, mark = rest.partition(" ")
            return Process(host_id=host, pid=int(pid or 0), started_at=mark)
        finally:
            os.close(descriptor)
        return None

    def wait_until_free(self, seconds: float) -> bool:
        """Whether the hub that held the lock ended within this time."""
        until = time.monotonic() + seconds
        while self.holder() is not None:
            if time.monotonic() > until:
                return False
            time.sleep(0.05)
        return True

    def facts(self) -> dict[str, object] | None:
        """What `hub.json` says; None while there is none."""
        try:
            found: dict[str, object] = json.loads(self.card.read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        return found

    @contextmanager
    def shown(self, facts: Mapping[str, object]) -> Generator[None]:
        """Tell others where the hub is for as long as it runs."""
        write_private(self.card, json.dumps(facts, indent=1).encode() + b"\n")
        try:
            yield
        finally:
            self.card.unlink(missing_ok=True)

    @contextmanager
    def listening(self) -> Generator[socket.socket]:
        """The Unix socket, while we hold the lock."""
        from tallystick.hub.local_sockets import bound

        path = str(self.socket.absolute())
        if len(os.fsencode(path)) > LONGEST_SOCKET:
            raise PathTooLong(f"{path} has more than {LONGEST_SOCKET} bytes.")
        sock = bound(self.socket.absolute())
        try:
            yield sock
        finally:
            sock.close()
            self.socket.unlink(missing_ok=True)


def tcp(host: str, port: int) -> socket.socket:
    """A bound TCP socket."""
    try:
        family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        sock = socket.socket(family)
    except OSError as wrong:
        raise BadAddress(f"Cannot listen on '{host}': {wrong.strerror}.", host=host) from wrong
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind(where)
    except OSError as wrong:
        sock.close()
        raise PortTaken(f"Cannot listen on {host} port {port}: {wrong.strerror}.", port=port) from wrong
    return sock


def _locked(descriptor: int) -> bool:
    """Take the lock, unless somebody keeps it for longer than it takes to look at it."""
    for _ in range(20):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.01)
        else:
            return True
    return False


def write_private(path: Path, content: bytes) -> None:
    """Put a whole file in place at once, readable by nobody else at any moment."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    with suppress(FileNotFoundError):
        part.unlink()
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, content)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    part.replace(path)
