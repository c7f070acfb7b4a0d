"""The browser of this machine, if it has one."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)

# The last list of features counts, so Playwright's own is in it. The last three would have a page of their own, in
# a process of its own, beside every window: more than half of what a window costs, for an address bar nobody sees.
FEATURES = (
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades", "LensOverlay"),
    *("HttpsFirstBalancedModeAutoEnable", "MediaRouter", "PaintHolding", "ThirdPartyStoragePartitioning"),
    *("AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints", "NetworkTimeServiceQuerying", "AimEnabled"),
    *("PreconnectToSearch", "WebUIOmniboxPopup", "WebUIOmniboxFullPopup", "WebUIOmniboxAimPopup"),
)
ARGUMENTS = ("--no-sandbox", f"--disable-features={','.join(FEATURES)}")


@cache
def obtainable() -> bool:
    """Whether it is here, or this user can install it as `.ci/run` does."""
    if CHROMIUM or os.geteuid() or shutil.which("apt-cache") is None:
        return bool(CHROMIUM)
    return subprocess.run(["apt-cache", "show", "chromium"], capture_output=True, check=False).returncode == 0
