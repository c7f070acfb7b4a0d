"""The browser of this machine, if it has one."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)


@cache
def obtainable() -> bool:
    """Whether it is here, or this user can install it as `.ci/run` does."""
    if CHROMIUM or os.geteuid() or shutil.which("apt-cache") is None:
        return bool(CHROMIUM)
    return subprocess.run(["apt-cache", "show", "chromium"], capture_output=True, check=False).returncode == 0
