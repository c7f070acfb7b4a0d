"""Who is at the other end of a Unix socket, as the kernel says, and what that process was started with."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

_CREDENTIALS = struct.Struct("3i")


def credentials(sock: socket.socket) -> tuple[int, int] | None:
    """The process and its user; None where the system does not say, and the socket's mode is the only check."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    pid, uid, _ = _CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return pid, uid


def environment(pid: int) -> dict[str, str]:
    """The environment that a process was started with; empty where it cannot be read."""
    try:
        text = Path(f"/proc/{pid}/environ").read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return {}
    return dict(line.split("=", 1) for line in text.split("\0") if "=" in line)
