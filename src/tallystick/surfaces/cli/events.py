"""`tally log`, which is `tally events` for short, and `tally verify`: the ledger, told, followed and proven.

Lists whose rows are sentences are told alike: turns, notes, protocol events, what waits for a person. Each is a
renderer of `render.RENDERERS`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack

import click

from tallystick.commandline import output
from tallystick.commandline.command import Command
from tallystick.commandline.output import counted, visible_json
from tallystick.ledger.contract import Envelope, Events, RoomVerdict, Verified
from tallystick.surfaces.cli import screen, short_ids
from tallystick.surfaces.cli.failures import FAULT
from tallystick.surfaces.cli.options import about_a_room
from tallystick.surfaces.cli.session import CallReply, FileUnusable, Session, StopSignal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

PAGE = 1_000
WAIT_MS = 30_000
F = TypeVar("F", bound=Callable[..., object])
_OPTIONS = (
    click.option("--follow", is_flag=True, help="Go on with what happens, until Ctrl-C."),
    click.option("--since", metavar="EVENT", help="Events after this one, by seq or id; 0 is the start."),
    click.option("--kinds", multiple=True, metavar="KIND[,KIND]", help="Only these kinds. Repeatable."),
    click.option("--by", metavar="AGENT", help="Only what this one did."),
    click.option("--limit", type=click.IntRange(1, PAGE), default=50, show_default=True, help="At most this many."),
    click.option("--raw", is_flag=True, help="Each event as it is stored, one line of JSON."),
)


class Wanted(TypedDict):
    """What the options bring."""

    path: str | None
    room_id: str | None
    follow: bool
    since: str | None
    kinds: tuple[str, ...]
    by: str | None
    limit: int
    raw: bool


def reading(command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return about_a_room(command)


@click.command(cls=Command)
@reading
@click.pass_obj
def events(session: Session, **asked: Unpack[Wanted]) -> None:
    """Read or follow what happened in the room.

    One sentence for each event, with its number. Without --since you get the latest events, with it the first ones
    after it. With --raw, and with --follow and --json, each event is one line of JSON, without the envelope.
    """
    _read(session, asked)


@click.command(cls=Command)
@reading
@click.pass_obj
def log(session: Session, **asked: Unpack[Wanted]) -> None:
    """Tell what happened in the room, latest last.

    One sentence for each event, with the number by which other commands know it: `tally reply 10 "…"`, `tally open 10`.
    """
    _read(session, asked)


def _read(session: Session, asked: Wanted) -> None:
    room, raw = session.room(asked["path"], asked["room_id"]), asked["raw"]
    kinds = [kind for each in asked["kinds"] for kind in each.split(",") if kind]
    ask: dict[str, object] = {"room_id": room, "kinds": kinds, **_author(session, room, asked["by"])}
    reply = session.call("events.list", {**ask, "limit": asked["limit"], **_start(session, room, asked["since"])})
    if asked["follow"]:
        _follow(session, reply, {**ask, "max_wait_ms": WAIT_MS, "limit": PAGE}, raw=raw)
    elif raw or not session.finish(reply.data):
        _show(reply, raw=raw)
        if not raw and not reply.data["events"]:
            screen.say("Nothing yet.")


def _author(session: Session, room: str, by: str | None) -> dict[str, object]:
    return {"by": short_ids.agents(session, room, [by])[0]} if by else {}


def _start(session: Session, room: str, since: str | None) -> dict[str, object]:
    if since is None:
        return {"newest": True}
    if since.isdecimal():
        return {"since_seq": int(since)}
    return {"since_event_id": short_ids.event(session, room, since)}


def _follow(session: Session, reply: CallReply, ask: dict[str, object], *, raw: bool) -> None:
    with StopSignal() as stop:
        while True:
            _show(reply, raw=raw or session.as_json)
            sys.stdout.flush()
            if stop.stopped():
                return
            reply = session.call("events.follow", {**ask, "since_seq": reply.data["cursor"]}, stop)


def _show(reply: CallReply, *, raw: bool) -> None:
    if raw:
        for event in reply.data["events"]:
            print(visible_json(event))
        return
    for event in reply.read(Events).events:
        tell(event)


def tell(event: Envelope) -> None:
    from tallystick.hub import event_text

    found, sentence = event_text.of(event), event_text.sentence(event)
    # Times in somebody's own words stay as they wrote them.
    screen.event(event.seq, event.ts, sentence if found.speech or found.handoff else output.times_told(sentence))


def _expected(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    pairs = [each.rpartition("=") for each in given]
    for room_id, _, seal in pairs:
        if not room_id or not re.fullmatch("[0-9a-f]{64}", seal):
            raise click.BadParameter("give ROOM=HASH, as `tally verify` printed them.")
    return {room_id: seal for room_id, _, seal in pairs}


@click.command(cls=Command)
@click.option("--room", "room_id", metavar="ID", help="One room; all rooms when left out.")
@click.option(
    "--expect",
    multiple=True,
    callback=_expected,
    metavar="ROOM=HASH",
    help="That room must hold an event with this hash, which you kept. Repeatable.",
)
@click.option("--checkpoint", metavar="FILE", help="Also check a checkpoint that was kept elsewhere.")
@click.option("--key", "keys", multiple=True, metavar="HEX", help="A public key whose checkpoints count. Repeatable.")
@click.pass_obj
def verify(
    session: Session, *, room_id: str | None, expect: dict[str, str], checkpoint: str | None, keys: tuple[str, ...]
) -> int:
    """Check the hash chain and the signed checkpoints of every room.

    Shows any event that was changed, removed or reordered; against somebody who computed the whole chain anew, only
    what was signed, or what you kept elsewhere, is proof. Prints each room's head. Exits 4 when something does not fit.
    """
    room = session.room(None, room_id) if room_id else None
    with output.progress("Checking every event"):
        reply = session.call("events.verify", {"room_id": room, "expect": expect})
    verdict = reply.read(Verified)
    strangers = _strangers(session, verdict, keys)
    wrong = [*strangers, *(_kept(session, checkpoint, keys) if checkpoint else ())]
    archived = _archived(session, checkpoint) if checkpoint else {}
    ok = verdict.ok and not wrong
    if not session.finish({**reply.data, "ok": ok, "problems": wrong, "archived": archived}):
        for room in verdict.rooms:
            screen.say(f"{room.room_id}={room.hash}" if room.ok else f"{room.room_id}: {_problem(room)}.")
        for each in (*filter(None, [verdict.checkpoints.problem]), *wrong):
            screen.say(each)
        for archived_room, file_hash in archived.items():
            screen.say(f"{archived_room}: not checked, since it was archived to the file with the SHA-256 {file_hash}.")
        if checkpoint and not wrong:
            screen.say(f"{checkpoint}: all that it names of what is here is as it was, or has grown.")
        signed = verdict.checkpoints
        if signed.count and not signed.problem and not strangers:
            screen.say(
                f"{counted(signed.count, 'signed checkpoint')}, the newest of {output.local_time(signed.newest_at)}."
            )
        end = "All is as it was written." if ok else "The ledger is damaged."
        if verdict.ok and wrong and wrong == strangers:
            end = "They fit each other; whether they are what was signed here cannot be told."
        screen.say(f"{counted(verdict.events, 'event')} in {counted(len(verdict.rooms), 'room')}. {end}")
    return 0 if ok else FAULT


def _problem(room: RoomVerdict) -> str:
    return room.problem if room.bad_seq is None else f"event {room.bad_seq}: {room.problem}"


def _strangers(session: Session, verdict: Verified, keys: tuple[str, ...]) -> list[str]:
    """Checkpoints of somebody else's key prove nothing; whose is known by the key here, or because it was named."""
    if not verdict.checkpoints.keys:
        return []
    from tallystick.hub.signing import SigningKey

    own = SigningKey.known(session.settings)
    known = {*keys, *([own.public] if own else [])}
    return [f"Checkpoints are signed by {key}, which is not known here; if it is yours, give it with --key."
            for key in verdict.checkpoints.keys if key not in known]  # fmt: skip


def _archived(session: Session, file: str) -> dict[str, str]:
    """The rooms of a kept checkpoint that are in files by now, with the hash of each file."""
    from pathlib import Path

    from tallystick.hub import signing

    return dict(signing.archived_since(session.existing_hub, Path(file).read_bytes()))


def _kept(session: Session, file: str, keys: tuple[str, ...]) -> list[str]:
    from pathlib import Path

    from tallystick.hub import signing

    try:
        text = Path(file).read_bytes()
    except OSError as wrong:
        raise FileUnusable(f"{file} cannot be read: {wrong.strerror}.") from wrong
    own, by = signing.SigningKey.known(session.settings), signing.read(text).public_key
    known = {*keys, *([own.public] if own else [])}
    stranger = [f"{file} is signed by {by}, which is not known here."] if known and by not in known else []
    found = signing.check_kept(session.existing_hub, text)
    return [*stranger, *(f"{room_id}: {problem} ({file})." for room_id, problem in found.items())]


def listed_events(reply: CallReply) -> None:
    """`events.list` and `events.follow`."""
    found = reply.read(Events).events
    for each in found:
        tell(each)
    if not found:
        screen.say("Nothing more yet.")


def notes(reply: CallReply) -> None:
    """`notes.list`."""
    for each in reply.data["notes"]:
        screen.event(each["seq"], each["ts"], f"{each['by']}: {each['body']}")
    if not reply.data["notes"]:
        screen.say("There are no notes.")


def protocol(reply: CallReply) -> None:
    """`protocol.list`."""
    for each in reply.data["events"]:
        screen.event(each["seq"], each["event"]["created_at"], "\n".join(_envelope(each["event"], each["ack"])))
    if not reply.data["events"]:
        screen.say("No work was handed over or blocked, and nobody came into another's way.")


def _envelope(event: Mapping[str, Any], ack: Mapping[str, Any]) -> Iterator[str]:
    to = f" to {event['to_agent']}" if event["to_agent"] else ""
    about = ", ".join(each for each in (event["bead_id"], event["scope"]) if each)
    yield f"{event['event_type']} from {event['from_agent'] or 'nobody'}{to}{f', about {about}' if about else ''}"
    for name, value in event["payload"].items():
        if isinstance(value, str):
            yield f"{name.replace('_', ' ')}: {output.times_told(value)}"
    if ack["required"]:
        yield f"accepted {output.relative_time(ack['acked_at'])}" if ack["acked_at"] else "to be accepted"


_STICK = {
    "claim": "{to} has the stick: turn {turn}",
    "release": "{by} released the stick",
    "pass": "{by} passed the stick to {to}",
    "takeover": "{to} took the stick over from {by}: {why}",
    "revoke": "{by} lost the stick: {why}",
    "close": "The room was closed: {why}",
}


def history(reply: CallReply) -> None:
    """`turns.history`."""
    for each in reply.data["events"]:
        known = {"by": each["from_agent_id"] or "nobody", "to": each["to_agent_id"], "turn": each["turn_id"]}
        said = [_STICK[each["event_type"]].format_map({**known, "why": each["reason"] or "no reason was given"})]
        if handoff := each["handoff"]:
            said += [handoff["status"], f"Next: {handoff['next_action']}"]
        screen.event(each["event_seq"], each["created_at"], "\n".join(said))
    if not reply.data["events"]:
        screen.say("Nobody has had the stick yet.")


def attention(reply: CallReply) -> None:
    """`attention.list`."""
    found = reply.data["items"]
    if not found:
        screen.say("Nothing waits for you.")
        return
    fields = ("sign", "item", "who", "reason", "said")
    screen.table(
        ["", *fields[1:], "since"],
        [[*(each[name] for name in fields), output.relative_time(each["since"])] for each in found],
    )


def focus(reply: CallReply) -> None:
    """`tasks.focus`."""
    task = reply.data["task"]
    screen.say(f"You are at {task['task_id']}: {task['title']}" if task else "You are at no task.")


def fanned_out(reply: CallReply) -> None:
    """`tasks.macro.fanout_jobs`."""
    for each in reply.data["jobs"]:
        screen.say(f"{each['job_id']} is queued: {each['anchor']}")
