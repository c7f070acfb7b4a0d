"""`tally up`: run the hub in the foreground."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.commandline.command import Number, Program
from tallystick.commandline.invocation import Invocation

if TYPE_CHECKING:
    from tallystick.server.run import RunningHub

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@click.command(cls=Program)
@click.option("--host", default="127.0.0.1", metavar="ADDRESS", show_default=True, help="Where to listen.")
@click.option(
    "--port", type=Number(0, 65_535), default=7433, metavar="N", show_default=True, help="The port; 0 takes any."
)
@click.option("--tls-cert", metavar="FILE", help="Certificate chain in PEM format, for other machines.")
@click.option("--tls-key", metavar="FILE", help="Its private key.")
@click.option("--insecure", is_flag=True, help="Serve other machines without TLS.")
@click.option(
    "--runner-autostart/--no-runner-autostart",
    default=None,
    help="Start `tally runner` for a room where jobs wait and no runner is there."
    " [default: no, or $TALLYSTICK_RUNNER_AUTOSTART]",
)
@click.option("--open", "browse", is_flag=True, help="Open the page in a browser.")
@click.pass_obj
def up(
    invocation: Invocation,
    *,
    host: str,
    port: int,
    tls_cert: str | None,
    tls_key: str | None,
    insecure: bool,
    runner_autostart: bool | None,
    browse: bool,
) -> None:
    """Run the hub: HTTP with live streams, and MCP.

    It is one record for all agents and serves them in the foreground until Ctrl-C or `tally down`. With --json it says
    where it is in one envelope.
    """
    tls = _tls(tls_cert, tls_key)
    if host not in LOOPBACK and not insecure and tls is None:
        raise click.UsageError(
            f"{host} can be reached from other machines, and tokens would travel in the clear;"
            " give --tls-cert and --tls-key, or --insecure if something else encrypts the way."
        )
    # Late, so that --help costs nothing.
    from tallystick.hub import autostart
    from tallystick.hub.settings import Settings
    from tallystick.server import run as server
    from tallystick.surfaces.http import control
    from tallystick.surfaces.http.errors import DataDirUnusable
    from tallystick.surfaces.http.hub_files import HubRunning
    from tallystick.surfaces.http.middleware import Limits

    settings = Settings.of()
    options = server.ServeOptions(host=host, port=port, tls=tls, runner_autostart=autostart.wanted(runner_autostart))
    try:
        server.run(settings, options, Limits.of(), lambda running: _greet(invocation, running, browse=browse))
    except HubRunning:
        raise control.already_running(settings.data_dir) from None
    except OSError as wrong:
        raise DataDirUnusable(f"{wrong.strerror}: {wrong.filename or settings.data_dir}.") from wrong


def _tls(cert: str | None, key: str | None) -> tuple[Path, Path] | None:
    if cert and key:
        return Path(cert), Path(key)
    if cert or key:
        raise click.UsageError("Give --tls-cert and --tls-key together.")
    return None


def _greet(invocation: Invocation, running: RunningHub, *, browse: bool) -> None:
    place = running.place
    facts = {"url": running.url, "page": running.link, "token": place.token, "socket": place.socket, "log": place.log}
    if not invocation.finish({name: str(value) for name, value in facts.items()}):
        print(f"Tallystick runs at {running.url}")
        print(f"  page     {running.link}")
        print("           (opens once, within 10 minutes; `tally status` gives a new link)")
        print(f"  token    {place.token}")
        print(f"  socket   {place.socket}")
        print(f"  log      {place.log}")
        print("Agents on this machine need nothing more. For others: tally token issue --room ROOM --for NAME")
        print("Ctrl-C or `tally down` stops it.", flush=True)
    if browse:
        import webbrowser

        webbrowser.open(running.link)
