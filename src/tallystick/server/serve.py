"""`tally up`: run the hub in the foreground, or start one that goes on after this command (`--detach`)."""

from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.commandline import output
from tallystick.commandline.command import Invocation, Number, Program
from tallystick.kernel.json_values import object_of

if TYPE_CHECKING:
    from tallystick.server.run import RunningHub

STARTING = "Starting the hub"
UP = (sys.executable, "-P", "-m", "tallystick.surfaces.cli.main", "--json", "up")


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundStart:
    """What the hub said when it had started, or why it did not."""

    code: int
    line: str
    """Its envelope, as it was printed."""
    data: dict[str, object]
    error: dict[str, object]


def start(options: Sequence[str], log: Path) -> BackgroundStart:
    """Start a hub in a session of its own and wait until it takes connections; what it complains of goes to its log."""
    with open(log, "ab", opener=_own_file) as complaints:
        process = subprocess.Popen(
            [*UP, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            start_new_session=True,
            text=True,
        )
    said = process.stdout.readline().rstrip("\n") if process.stdout else ""
    envelope = object_of(json.loads(said)) if said else {}
    code = 0 if envelope.get("ok") else process.wait()
    error = object_of(envelope.get("error")) or {"message": "The hub ended at once.", "hint": f"Read {log}."}
    return BackgroundStart(code=code, line=said, data=object_of(envelope.get("data")), error=error)


def _own_file(path: str, flags: int) -> int:
    """A log that only we read, and never the file that a link in its place leads to."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.fchmod(descriptor, 0o600)
    return descriptor


LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@click.command(cls=Program)
@click.option("--host", default="127.0.0.1", metavar="ADDRESS", show_default=True, help="Where to listen.")
@click.option(
    "--port",
    type=Number(0, 65_535),
    default=7433,
    envvar="TALLYSTICK_PORT",
    metavar="N",
    help="The port; 0 takes any. [default: 7433, or $TALLYSTICK_PORT]",
)
@click.option("--tls-cert", metavar="FILE", help="Certificate chain in PEM format, for other machines.")
@click.option("--tls-key", metavar="FILE", help="Its private key.")
@click.option("--insecure", is_flag=True, help="Serve other machines without TLS.")
@click.option(
    "--database-wait",
    type=Number(0, 3600),
    default=60,
    metavar="SECONDS",
    show_default=True,
    help="How long to wait for a PostgreSQL server that is not there yet.",
)
@click.option(
    "--runner-autostart/--no-runner-autostart",
    default=None,
    help="Start `tally runner` for a room where jobs wait and no runner is there."
    " [default: no, or $TALLYSTICK_RUNNER_AUTOSTART]",
)
@click.option("--detach", is_flag=True, help="Go on in the background; `tally down` stops it.")
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
    database_wait: int,
    runner_autostart: bool | None,
    detach: bool,
    browse: bool,
) -> int:
    """Run the hub, with a page that shows everything.

    It serves agents over HTTP, MCP and the bus, in the foreground until Ctrl-C or `tally down`, or with --detach in the
    background. With --json it says where it is in one envelope.
    """
    tls = _tls(tls_cert, tls_key)
    if host not in LOOPBACK and not insecure and tls is None:
        raise click.UsageError(
            f"{host} can be reached from other machines, and tokens would travel in the clear;"
            " give --tls-cert and --tls-key, or --insecure if something else encrypts the way."
        )
    if detach:
        given = {"--host": host, "--port": port, "--tls-cert": tls_cert, "--tls-key": tls_key}
        options = [f"{flag}={value}" for flag, value in given.items() if value is not None]
        options += ["--insecure"] * insecure + [f"--database-wait={database_wait}"]
        if runner_autostart is not None:
            options.append("--runner-autostart" if runner_autostart else "--no-runner-autostart")
        return in_background(invocation, options, browse=browse)
    # Late, so that --help costs nothing.
    from tallystick.hub.settings import Settings
    from tallystick.server import run as server
    from tallystick.storage.errors import DiskFull
    from tallystick.surfaces.http import commands
    from tallystick.surfaces.http.errors import DataDirUnusable
    from tallystick.surfaces.http.hub_files import HubRunning
    from tallystick.surfaces.http.middleware import Limits

    settings = Settings.of()
    options = server.ServeOptions(
        host=host,
        port=port,
        tls=tls,
        database_wait=database_wait,
        runner_autostart=server.autostart_wanted(runner_autostart),
        tells=sys.stdout.isatty() and not invocation.as_json,
    )
    try:
        with ExitStack() as starting:
            starting.enter_context(output.progress(STARTING))

            def greet(running: RunningHub) -> None:
                starting.close()
                _greet(invocation, running, browse=browse)

            server.run(settings, options, Limits.of(), greet)
    except HubRunning:
        raise commands.already_running(settings.data_dir) from None
    except OSError as wrong:
        if wrong.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise DiskFull(f"The disk that holds {settings.data_dir} is full; no hub was started.") from wrong
        raise DataDirUnusable(f"{wrong.strerror}: {wrong.filename or settings.data_dir}.") from wrong
    if not invocation.as_json:
        print("The hub has stopped.", flush=True)
    return 0


def in_background(invocation: Invocation, options: Sequence[str] = (), *, browse: bool = False) -> int:
    """Start a hub that outlives this command; say where it is, or why there is none."""
    from tallystick.hub.settings import Settings
    from tallystick.surfaces.http.hub_files import HubFiles

    settings = Settings.of()
    settings.make_data_dir()
    with output.progress(STARTING):
        started = start(options, HubFiles(settings.data_dir).log)
    if invocation.as_json:
        print(started.line, flush=True)
    elif started.code:
        output.remark(f"error: {started.error['message']}")
        output.remark(f"hint: {started.error['hint']}")
    else:
        _show(started.data, "`tally down` stops it.")
    if browse and not started.code:
        _browse(str(started.data["page"]))
    return started.code


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
        _show(facts, "Ctrl-C or `tally down` stops it.")
    if browse:
        _browse(running.link)


def _show(facts: Mapping[str, object], end: str) -> None:
    """The link that signs a browser in comes first, and no other address beside it: that one is clicked."""
    print(f"Tallystick runs. Open its page: {facts['page']}")
    print("  The link lets one browser in, within 10 minutes; `tally status` gives a new one.")
    for name in ("token", "socket", "log"):
        print(f"  {name:<8} {facts[name]}")
    if line := path_line():
        print(f"To have `tally` in other terminals, type there: {line}")
    print("Agents on this machine need nothing more. For one elsewhere: tally token issue --room ROOM --for NAME")
    print(end, flush=True)


def path_line() -> str | None:
    """What puts this program on the PATH of a shell, where another terminal would not find it."""
    program = Path(sys.argv[0]).absolute()
    if program.name != "tally" or shutil.which("tally"):
        return None
    return f"export PATH={shlex.quote(str(program.parent))}:$PATH"


def _browse(link: str) -> None:
    import webbrowser

    webbrowser.open(link)
