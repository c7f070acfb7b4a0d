"""A fault of ours is told once in a session and then kept quiet: an agent's every edit would repeat it otherwise.

That it was told is noted in the data directory, or where that takes no file in the folder for temporary ones.
"""

from __future__ import annotations

import os
from binascii import crc32
from time import time

AGAIN_SECONDS = 3600


def is_first(folder: str, session: str) -> bool:
    """Whether this session hears of a fault for the first time in an hour; so it is where nothing can be noted."""
    name = f"{crc32(f'{folder} {session}'.encode('utf-8', 'surrogatepass')):08x}.fault"
    temporary = os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 - only whether the file is there counts
    if os.path.isdir(folder) and not os.path.isdir(f"{folder}/hooks"):  # noqa: PTH112
        _make_folder(folder)
    for path in (f"{folder}/hooks/{name}", f"{temporary}/tally-{os.geteuid()}-{name}"):
        told = _noted(path)
        if told is not None:
            return not told
    return True


def _make_folder(folder: str) -> None:
    try:
        os.mkdir(f"{folder}/hooks", mode=0o700)  # noqa: PTH102
    except OSError:
        return  # Another hook was faster, or nothing can be written here.


def _noted(path: str) -> bool | None:
    """Whether it was noted there lately; None where it cannot be."""
    try:
        if time() - os.lstat(path).st_mtime < AGAIN_SECONDS:
            return True
        os.unlink(path)  # noqa: PTH108
    except OSError:
        pass  # Nothing was noted, or not by us: then the next line says no.
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
    except OSError:
        return None
    return False
