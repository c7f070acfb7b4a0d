"""A hub that waits for nobody and allows little: what takes minutes elsewhere takes moments here."""

from __future__ import annotations

import sys

from tallystick.hub.settings import Settings
from tallystick.server import run as server
from tallystick.server.run import RunningHub, ServeOptions
from tallystick.surfaces.http.middleware import Limits

LIMITS = Limits(rate=20, streams=3, head_seconds=0.3, body_seconds=0.3, body_rate=1_000_000, unwanted_seconds=0.3)


def greet(running: RunningHub) -> None:
    sys.stdout.write(f"at {running.url}\nCtrl-C stops it.\n")
    sys.stdout.flush()


server.run(Settings.of(), ServeOptions(host="127.0.0.1", port=int(sys.argv[2])), LIMITS, greet)
