"""`tally up`: run the hub in the foreground."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tallystick.server.run import Running

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def main(argv: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(argv)
    if (asked.tls_cert is None) != (asked.tls_key is None):
        return _refuse("give --tls-cert and --tls-key together")
    if asked.host not in LOOPBACK and not asked.insecure and asked.tls_cert is None:
        return _refuse(
            f"{asked.host} can be reached from other machines, and tokens would travel in the clear;"
            " give --tls-cert and --tls-key, or --insecure if something else encrypts the way"
        )
    # Late, so that --help costs nothing.
    from tallystick.hub import autostart
    from tallystick.hub.settings import Settings
    from tallystick.kernel.errors import TallyError
    from tallystick.server import run as server
    from tallystick.surfaces.http import control
    from tallystick.surfaces.http.limits import Limits
    from tallystick.surfaces.http.place import HubRunning

    settings = Settings.of()
    tls = (Path(asked.tls_cert), Path(asked.tls_key)) if asked.tls_cert else None
    options = server.Options(
        host=asked.host, port=asked.port, tls=tls, runner_autostart=autostart.wanted(asked.runner_autostart)
    )
    try:
        server.run(settings, options, Limits.of(), lambda running: _greet(running, browse=asked.open))
    except HubRunning:
        return control.already_running(settings.data_dir)
    except TallyError as refusal:
        return _refuse(f"{refusal.message}\nhint: {refusal.advice}")
    except OSError as wrong:
        return _refuse(f"{wrong.strerror}: {wrong.filename or settings.data_dir}")
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tally up", description="Run the hub: one record for all agents, over HTTP, MCP and a Unix socket."
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=_port, default=7433, help="port to listen on; 0 takes any (default: 7433)")
    parser.add_argument("--tls-cert", metavar="FILE", help="certificate chain in PEM format, for other machines")
    parser.add_argument("--tls-key", metavar="FILE", help="its private key")
    parser.add_argument("--insecure", action="store_true", help="serve other machines without TLS")
    parser.add_argument(
        "--runner-autostart",
        action=argparse.BooleanOptionalAction,
        help="start `tally runner` for a room where jobs wait and no runner is there (default: no, or"
        " $TALLYSTICK_RUNNER_AUTOSTART)",
    )
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    return parser


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"'{text}' is no port from 0 to 65535")
    return int(text)


def _greet(running: Running, *, browse: bool) -> None:
    print(f"Tallystick runs at {running.url}")
    print(f"  page     {running.link}")
    print("           (opens once, within 10 minutes; `tally status` gives a new link)")
    print(f"  token    {running.place.token}")
    print(f"  socket   {running.place.socket}")
    print(f"  log      {running.place.log}")
    print("Agents on this machine need nothing more. For others: tally token issue --room ROOM --as NAME")
    print("Ctrl-C or `tally down` stops it.", flush=True)
    if browse:
        import webbrowser

        webbrowser.open(running.link)


def _refuse(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return 1
