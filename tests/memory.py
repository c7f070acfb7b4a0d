"""Temporary files in memory and a garbage collector that does not look at what stays: both only save time."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")
ENOUGH = 4 * 1024**3
"""Bytes that must be free there; in many containers it is much smaller, and then the disk has to do."""
DISK = "TALLYSTICK_TEST_DISK"
"""The variable that tells our workers where temporary files would lie otherwise."""
FOLDER = pytest.StashKey[str]()


def kept_folder() -> Path:
    """Where temporary files lie that later runs use again, which are too large for memory."""
    return Path(os.environ.get(DISK) or tempfile.gettempdir())


def use_for_temporary_files(config: pytest.Config) -> None:
    """For us, our workers and the programs we start, unless somebody has said where temporary files belong."""
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK) or shutil.disk_usage(MEMORY).free < ENOUGH:
        return
    os.environ[DISK] = tempfile.gettempdir()
    # Short names: sockets lie below, and the system bounds the length of their paths.
    folder = tempfile.mkdtemp(prefix="t", dir=MEMORY)
    # As the folder for temporary files that it stands for: some tests go in as another user.
    Path(folder).chmod(0o1777)
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    config.option.basetemp = config.option.basetemp or f"{folder}/p"
    config.stash[FOLDER] = folder


def give_back(config: pytest.Config, status: int) -> None:
    """Delete it, unless a test failed and somebody may want to see what it left."""
    if status == pytest.ExitCode.OK and (folder := config.stash.get(FOLDER, None)):
        shutil.rmtree(folder, ignore_errors=True)


def leave_what_is_loaded_alone() -> None:
    """Each full collection would look at thousands of tests and all modules, which stay until the end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
