"""Where Tallystick keeps its data, found with `os` and nothing else: a hook asks before every edit."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping

VARIABLE = "TALLYSTICK_DATA_DIR"


def data_dir(environ: Mapping[str, str] = os.environ, *, platform: str = sys.platform) -> str:
    """`$TALLYSTICK_DATA_DIR`, else the platform's place for a user's data; Linux and macOS share one."""
    if explicit := environ.get(VARIABLE):
        return os.path.expanduser(explicit)  # noqa: PTH111 - pathlib is slow to import
    home = os.path.expanduser(environ.get("HOME") or environ.get("USERPROFILE") or "~")  # noqa: PTH111
    if platform == "win32":
        return os.path.join(environ.get("APPDATA") or f"{home}/AppData/Roaming", "tallystick")  # noqa: PTH118
    # The XDG rules say that a relative path counts as unset.
    xdg = environ.get("XDG_DATA_HOME", "")
    return os.path.join(xdg if os.path.isabs(xdg) else f"{home}/.local/share", "tallystick")  # noqa: PTH117, PTH118


def is_ours(hub: socket.socket) -> bool:
    """Whether our own user listens at a Unix socket that we found; its mode has to do where the kernel does not say."""
    import socket

    if not hasattr(socket, "SO_PEERCRED"):
        return True
    said = hub.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(said[4:8], sys.byteorder) == os.geteuid()


def database_mark(url: str | None) -> str | None:
    """What a hub says openly of its database: enough to compare two, and nothing of a password."""
    if not url:
        return None
    from hashlib import sha256

    return sha256(url.encode()).hexdigest()[:16]
