"""Loads all that commands load, then forks for each one: it runs the installed script with its own words and streams.

forking.py SOCKET SCRIPT
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import runpy
import socket
import sys

PACKAGES = ("capabilities", "client", "commandline", "hub", "ledger", "surfaces.cli")


def main(channel: socket.socket, script: str) -> None:
    for package in PACKAGES:
        loaded = importlib.import_module(f"tallystick.{package}")
        for module in pkgutil.walk_packages(loaded.__path__, f"{loaded.__name__}."):
            importlib.import_module(module.name)
    gc.freeze()
    while True:
        words, streams, _, _ = socket.recv_fds(channel, 65536, 3)
        if not words:
            return
        command = os.fork()
        if not command:
            channel.close()
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            run([script, *json.loads(words)])
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(command, 0)
        channel.send(b"%d" % os.waitstatus_to_exitcode(status))


def run(argv: list[str]) -> None:
    sys.argv = argv
    try:
        runpy.run_path(argv[0], run_name="__main__")
    except SystemExit as ended:
        # Taking down what it shares with all the others would copy it first.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended.code if isinstance(ended.code, int) else bool(ended.code))


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
