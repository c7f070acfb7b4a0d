"""`tally status|down`: what runs here, and its end; `tally token issue|list|revoke`: bearer tokens for the network."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.commandline import output
from tallystick.commandline.command import Group, Invocation, Program
from tallystick.commandline.output import counted
from tallystick.kernel import ids
from tallystick.kernel.json_values import objects_of

if TYPE_CHECKING:
    from tallystick.hub.hub import Hub
    from tallystick.hub.tokens import Token
    from tallystick.kernel.caller import Process
    from tallystick.surfaces.http.hub_files import HubFiles, HubRunning

DOWN_SECONDS = 30.0
STATUS_SECONDS = 5.0

_UNITS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
REACHES = ("read", "speak", "work", "manage")
"""The values of `kernel.operation.Reach`, which help does not load."""
_LASTS = re.compile(r"([1-9]\d{0,5})([mhdw])")


@click.command(cls=Program)
@click.pass_obj
def status(invocation: Invocation) -> None:
    """Say whether a hub runs here, and where.

    Shows what it does at the moment, and a link that opens its page.
    """
    facts = _status(_place())
    if invocation.finish(facts):
        return
    if not facts["running"]:
        print("No hub is running; commands work without one.")
    else:
        _show(facts)


@click.command(cls=Program)
@click.pass_obj
def down(invocation: Invocation) -> None:
    """Stop the hub that runs here.

    Requests are finished, streams are told, and nothing acknowledged is lost.
    """
    with output.progress("Stopping the hub"):
        holder = stop_hub(_place())
    if not invocation.finish({"stopped": holder is not None, "pid": holder.pid if holder else None}):
        print("The hub has stopped." if holder else "No hub is running.")


def stop_hub(place: HubFiles) -> Process | None:
    """End the hub of this data directory, if one runs; which process it was."""
    from tallystick.harnesses import processes
    from tallystick.kernel.caller import ProcessState
    from tallystick.surfaces.http.errors import HubOutOfReach, HubStillStopping

    holder = place.holder()
    if holder is None:
        return None
    if processes.state(holder) is not ProcessState.ALIVE:
        raise HubOutOfReach(f"Process {holder.pid}, which runs the hub, cannot be reached from here.")
    os.kill(holder.pid, signal.SIGTERM)
    if not place.wait_until_free(DOWN_SECONDS):
        raise HubStillStopping(f"Process {holder.pid} got the signal and is still finishing.")
    return holder


def already_running(folder: Path) -> HubRunning:
    """The refusal that says where the hub is that holds this data directory."""
    from tallystick.surfaces.http.hub_files import HubFiles, HubRunning

    facts = _status(HubFiles(folder))
    url, page = facts.get("url", "an address it is still choosing"), facts.get("login")
    link = f"Open its page with {page} (once, within 10 minutes). " if page else ""
    return HubRunning(f"A hub runs here already, at {url}.", hint=link + HubRunning.hint, url=url, page=page)


def _place() -> HubFiles:
    from tallystick.hub.settings import Settings
    from tallystick.surfaces.http.hub_files import HubFiles

    return HubFiles(Settings.of().data_dir)


def _status(place: HubFiles) -> dict[str, object]:
    holder = place.holder()
    if holder is None:
        return {"running": False}
    # The card is there as soon as the hub takes connections, and gone as soon as it stops doing so.
    live = _live(place)
    return {"running": True, "pid": holder.pid, "answers": bool(live), **(place.facts() or {}), **live}


def _live(place: HubFiles) -> dict[str, object]:
    """What the hub says of itself; nothing when it does not answer."""
    from tallystick.client import Client, HubNotRunning

    with Client(data_dir=place.folder) as client:
        try:
            return json.loads(client.get("/v1/status", seconds=STATUS_SECONDS).body)
        except (HubNotRunning, ValueError):
            return {}


def _show(facts: Mapping[str, object]) -> None:
    if not facts["answers"]:
        print(f"A hub runs as process {facts['pid']} and does not answer.")
        return
    print(f"Tallystick {facts['version']} runs. Open its page: {facts['login']}")
    print("  The link lets one browser in, within 10 minutes.")
    since = str(facts["started_at"])
    print(f"  since      {output.local_time(since)} ({output.relative_time(since)}), process {facts['pid']}")
    print(f"  rooms      {facts['rooms']}")
    open_now = [counted(int(str(facts[f"{each}s"])), each) for each in ("connection", "follower", "wait")]
    print(f"  open now   {open_now[0]}, {facts['bus_connections']} on the bus, {', '.join(open_now[1:])}")
    print(f"  socket     {facts['http_socket']}")
    print(f"  API        {facts['url']}/v1, with a token")


def _lasts(text: str) -> int | None:
    if text == "never":
        return None
    found = _LASTS.fullmatch(text)
    if not found:
        raise click.BadParameter(f"'{text}' is no duration such as 30m, 12h, 7d or 4w, nor never.")
    return int(found[1]) * _UNITS[found[2]]


@click.group(cls=Group, subcommand_metavar="issue|list|revoke [ARGS]...")
def token() -> None:
    """Issue, list and revoke tokens for the hub.

    Agents and services need one to reach the hub over the network; on its own machine they need none.
    """


@token.command(cls=Program)
@click.option("--room", metavar="ID", help="The one room it reaches.")
@click.option("--any-room", is_flag=True, help="Let it reach every room.")
@click.option("--for", "principal", metavar="NAME", help="Whose it is: an agent, svc:NAME, or user. --as says it too.")
@click.option("--label", default="", metavar="TEXT", help="What it is for.")
@click.option(
    "--reach",
    type=click.Choice(REACHES),
    default="work",
    show_default=True,
    help="What it may do: read; speak, which is to join and write messages; work; or manage, which is everything.",
)
@click.option(
    "--expires",
    type=_lasts,
    default="30d",
    show_default=True,
    metavar="7d",
    help="When it ends: 30m, 12h, 7d, 4w, never.",
)
@click.pass_obj
def issue(
    invocation: Invocation,
    *,
    room: str | None,
    any_room: bool,
    principal: str | None,
    label: str,
    reach: str,
    expires: int | None,
) -> None:
    """Make a token and print it, this once."""
    if room is None and not any_room:
        raise click.UsageError("Missing option '--room' or '--any-room'.")
    if room is not None and any_room:
        raise click.UsageError("Give --room or --any-room, not both.")
    # A token is always somebody's own, so speaking for an agent here can only mean its token.
    name = principal or invocation.agent
    if name is None:
        raise click.UsageError("Missing option '--for'.")
    from tallystick.hub import tokens
    from tallystick.kernel.operation import Reach

    with _hub() as hub:
        room = room and _whole(hub, room)
        made = tokens.issue(hub, principal=name, room_id=room, reach=Reach(reach), label=label, lasts_ms=expires)
    if not invocation.finish({**_facts(made.token), "token": made.secret}):
        print(made.secret)
        output.remark(_remark(made.token))


@token.command(cls=Program, name="list")
@click.pass_obj
def list_(invocation: Invocation) -> None:
    """Show all tokens, without their secrets."""
    from tallystick.hub import tokens

    with _hub() as hub:
        found = [_facts(token) for token in tokens.every_token(hub)]
    if not invocation.finish({"tokens": found}):
        for each in found:
            print(_row(each))


@token.command(cls=Program)
@click.argument("token_id", metavar="ID")
@click.pass_obj
def revoke(invocation: Invocation, *, token_id: str) -> None:
    """End a token at once.

    ID is the one that `tally token list` shows, or the beginning of it.
    """
    from tallystick.hub import tokens

    with _hub() as hub:
        ended = tokens.revoke(hub, ids.meant(token_id, [each.id for each in tokens.every_token(hub)]))
    if not invocation.finish(_facts(ended)):
        print(f"token {ended.id} of {ended.principal} is revoked")


@contextmanager
def _hub() -> Generator[Hub]:
    from tallystick.hub.hub import Hub
    from tallystick.hub.settings import Settings

    hub = Hub.open(Settings.of())
    try:
        yield hub
    finally:
        hub.close()


def _whole(hub: Hub, given: str) -> str:
    """A room's id from its beginning."""
    from tallystick.kernel.caller import Caller, SessionKind

    me = Caller(agent_id="user", session=SessionKind.HUMAN_CLI)
    rows = hub.call("rooms.list", {"limit": 1000}, me).to_data()["rooms"]
    return ids.meant(given, [str(each["room_id"]) for each in objects_of(rows)])


def _facts(token: Token) -> dict[str, object]:
    from tallystick.kernel.clock import to_wire

    def shown(instant: int | None) -> str | None:
        return None if instant is None else to_wire(instant)

    return {
        "id": token.id,
        "principal": token.principal,
        "room_id": token.room_id,
        "reach": token.reach,
        "label": token.label,
        "created_at": shown(token.created_at),
        "expires_at": shown(token.expires_at),
        "revoked_at": shown(token.revoked_at),
        "last_used_at": shown(token.last_used_at),
    }


def _remark(token: Token) -> str:
    from tallystick.kernel.clock import to_wire

    until = "It does not end by itself" if token.expires_at is None else f"It ends on {to_wire(token.expires_at)[:10]}"
    return (
        f"This is {token.principal}'s token {token.id}, with the reach '{token.reach}'. {until} and is not shown again."
    )


def _row(token: Mapping[str, object]) -> str:
    state = (
        "revoked"
        if token["revoked_at"]
        else f"until {output.local_time(str(token['expires_at']))}"
        if token["expires_at"]
        else "valid"
    )
    where = token["room_id"] or "every room"
    return f"{token['id']}\t{token['principal']}\t{token['reach']}\t{where}\t{state}\t{ascii(token['label'])[1:-1]}"
