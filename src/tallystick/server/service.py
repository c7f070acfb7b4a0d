"""`tally service install|remove`: the hub as a service of the person who is logged in, there at every login.

It is a systemd user unit, or a launchd agent on macOS.
"""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import click

from tallystick.commandline import output
from tallystick.commandline.command import Group, Invocation, Program
from tallystick.kernel.errors import Unavailable

if TYPE_CHECKING:
    from tallystick.surfaces.http.hub_files import HubFiles

UNIT = "tallystick.service"
LABEL = "dev.tallystick.hub"
KEPT = ("TALLYSTICK_DATA_DIR", "TALLYSTICK_DATABASE_URL", "TALLYSTICK_PORT", "TALLYSTICK_RUNNER_AUTOSTART", "PATH")
"""Settings of the shell that installs the service: at login there is no shell that has them."""

PATIENCE_S = 30.0


class NoServiceManager(Unavailable):
    """Neither systemd nor launchd runs services for you on this machine."""

    hint = "`tally up --detach` runs a hub in the background until the machine stops."


@dataclass(frozen=True, slots=True, kw_only=True)
class HubService:
    """What is run, with which settings, and where its complaints go."""

    argv: Sequence[str]
    environ: Mapping[str, str]
    log: Path

    @classmethod
    def of(cls, program: str, environ: Mapping[str, str], log: Path) -> HubService:
        kept = {name: environ[name] for name in KEPT if environ.get(name)}
        return cls(argv=(program, "up"), environ=kept, log=log)


class ServiceManager(Protocol):
    """What starts services at login. Its file is private: a database's address in it may hold a password."""

    @property
    def file(self) -> Path: ...

    def text(self, service: HubService) -> bytes: ...

    def reach(self) -> None:
        """Refuse where it runs no services for this user."""
        ...

    def start(self) -> None:
        """Run what the file says, now and at each login."""
        ...

    def stop(self) -> None: ...


def manager() -> ServiceManager:
    if shutil.which("launchctl"):
        return Launchd()
    if shutil.which("systemctl"):
        return Systemd()
    raise NoServiceManager


def install_unit(service: HubService, make_way: Callable[[], object]) -> Path:
    """Write the file and start the service; what makes way for it goes on where it cannot be started."""
    found = manager()
    found.reach()
    make_way()
    found.file.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(found.file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as target:
        target.write(found.text(service))
    try:
        found.start()
    except NoServiceManager:
        found.file.unlink()
        raise
    return found.file


def remove_unit() -> Path | None:
    """Stop the service and delete its file; None where there is none."""
    if installed() is None:
        return None
    found = manager()
    found.stop()
    found.file.unlink()
    return found.file


def installed() -> Path | None:
    """The service's file, if there is one."""
    return next((each.file for each in (Systemd(), Launchd()) if each.file.exists()), None)


class Systemd:
    @property
    def file(self) -> Path:
        config = os.environ.get("XDG_CONFIG_HOME")
        return (Path(config) if config else Path.home() / ".config") / "systemd" / "user" / UNIT

    def text(self, service: HubService) -> bytes:
        lines = (
            "[Unit]",
            "Description=Tallystick hub",
            "",
            "[Service]",
            # Elsewhere in the file a dollar is only a dollar.
            f"ExecStart={' '.join(_quoted(word).replace('$', '$$') for word in service.argv)}",
            *(f"Environment={_quoted(f'{name}={value}')}" for name, value in service.environ.items()),
            # What the hub has to say is in its own log; the greeting holds a link that signs in.
            "StandardOutput=null",
            f"StandardError=append:{_specifiers(str(service.log))}",
            "Restart=on-failure",
            "RestartSec=2",
            "",
            "[Install]",
            "WantedBy=default.target",
        )
        return "".join(f"{line}\n" for line in lines).encode()

    def reach(self) -> None:
        _told("systemctl", "--user", "daemon-reload")

    def start(self) -> None:
        _told("systemctl", "--user", "daemon-reload")
        _told("systemctl", "--user", "enable", "--quiet", UNIT)
        _told("systemctl", "--user", "restart", UNIT)

    def stop(self) -> None:
        _told("systemctl", "--user", "disable", "--quiet", "--now", UNIT)


class Launchd:
    @property
    def file(self) -> Path:
        return Path.home() / "Library" / "LaunchAgents" / f"{LABEL}.plist"

    def text(self, service: HubService) -> bytes:
        return plistlib.dumps(
            {
                "Label": LABEL,
                "ProgramArguments": list(service.argv),
                "EnvironmentVariables": dict(service.environ),
                "StandardOutPath": os.devnull,
                "StandardErrorPath": str(service.log),
                "RunAtLoad": True,
                "KeepAlive": {"SuccessfulExit": False},
            }
        )

    def reach(self) -> None:
        _told("launchctl", "print", _domain())

    def start(self) -> None:
        # One that is loaded already would go on with what its file said before.
        subprocess.run(["launchctl", "bootout", f"{_domain()}/{LABEL}"], capture_output=True, check=False)
        _told("launchctl", "bootstrap", _domain(), str(self.file))

    def stop(self) -> None:
        _told("launchctl", "bootout", f"{_domain()}/{LABEL}")


def _domain() -> str:
    return f"gui/{os.getuid()}"


def _told(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise NoServiceManager(f"{command[0]} does not run services for you: {said[0] if said else 'it said nothing'}")


def _quoted(word: str) -> str:
    """A word of a unit file: in quotes, with nothing that systemd would replace."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{_specifiers(escaped)}"'


def _specifiers(text: str) -> str:
    return text.replace("%", "%%")


@click.group(cls=Group, subcommand_metavar="install|remove [ARGS]...")
def service() -> None:
    """Run the hub at every login: a systemd user unit, or a launchd agent on macOS."""


@service.command(cls=Program)
@click.option("--print", "look", is_flag=True, help="Show the file that would be written, and do nothing.")
@click.pass_obj
def install(invocation: Invocation, *, look: bool) -> None:
    """Run the hub now and at every login.

    It has this shell's TALLYSTICK_ settings for the store and the port, and takes the place of a hub that runs already.
    """
    from tallystick.hub.settings import Settings
    from tallystick.surfaces.cli.install import this_program
    from tallystick.surfaces.http.commands import stop_hub

    place = _place()
    wanted = HubService.of(this_program(), os.environ, place.log)
    if look:
        text = manager().text(wanted).decode()
        if not invocation.finish({"file": str(manager().file), "text": text}):
            print(text, end="")
        return
    Settings.of().make_data_dir()
    with output.progress("Starting the hub"):
        # There is one hub for a store: one that was started by hand makes way.
        file = install_unit(wanted, lambda: stop_hub(place))
        running = _started(place)
    if not invocation.finish({"file": str(file), "running": running}):
        print(f"The hub runs now and at every login: {file}")
        print("`tally status` gives the link to its page; `tally service remove` ends it.")
        if manager().file.suffix == ".service":
            print("It ends when you log out; `loginctl enable-linger` keeps it.")


@service.command(cls=Program)
@click.pass_obj
def remove(invocation: Invocation) -> None:
    """Stop the service and delete its file; the store stays."""

    with output.progress("Stopping the hub"):
        file = remove_unit()
    if not invocation.finish({"removed": str(file) if file else None}):
        print(f"The service is removed: {file}" if file else "There is no service.")


def _place() -> HubFiles:
    from tallystick.hub.settings import Settings
    from tallystick.surfaces.http.hub_files import HubFiles

    return HubFiles(Settings.of().data_dir)


def _started(place: HubFiles) -> bool:
    """Whether the hub took its first connections in time: the service manager does not wait for that."""
    from tallystick.surfaces.http.errors import HubNotStarted

    until = time.monotonic() + PATIENCE_S
    while place.facts() is None:
        if time.monotonic() > until:
            raise HubNotStarted(f"The service is installed, but no hub has come up. Its log is {place.log}.")
        time.sleep(0.1)
    return True
