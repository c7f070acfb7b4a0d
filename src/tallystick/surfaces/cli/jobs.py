"""`tally radar`, `tally open`, and what `tally jobs` takes besides fields: delegated work, seen from a terminal."""

from __future__ import annotations

from typing import IO

import click

from tallystick.capabilities.jobs.views import JobWaited
from tallystick.commandline.command import Command
from tallystick.commandline.output import visible_json, visible_lines
from tallystick.kernel import ids
from tallystick.kernel.hints import said
from tallystick.kernel.operation import as_record
from tallystick.ledger.contract import Envelope
from tallystick.surfaces.cli import events, options, render, screen, short_ids
from tallystick.surfaces.cli.options import about_a_room, room_option
from tallystick.surfaces.cli.session import CallReply, Session, StopSignal, Usage

LOOK_MS = 2_000
"""Leases run out without an event, so a watch looks at least this often."""
AS_LINES = {"fmt": "lines", "moves": "step"}
WHOLE_JOB = {"include_prompt": True, "include_artifacts": True}


@click.command(cls=Command)
@about_a_room
@click.option("--watch", is_flag=True, help="Go on looking, until Ctrl-C.")
@click.option(
    "--status",
    type=click.Choice(["QUEUED", "RUNNING", "DONE", "FAILED", "CANCELED"], case_sensitive=False),
    help="Only these.",
)
@click.option("--task", metavar="TASK", help="Only jobs of this task.")
@click.option("--anchor", metavar="ANCHOR", help="Only jobs about this area.")
@click.option("--limit", type=click.IntRange(1, 200), default=25, show_default=True, help="At most this many jobs.")
@click.option("--reply", type=(str, str), metavar="JOB MESSAGE", help="Answer a job's question first.")
@click.pass_obj
def radar(
    session: Session,
    *,
    path: str | None,
    room_id: str | None,
    watch: bool,
    reply: tuple[str, str] | None,
    **given: object,
) -> None:
    """Show which jobs need you and who is working.

    `!` is an error or missing proof, `?` a question for you, `~` a claim that ran out. With --watch it goes on looking;
    with --json as well, each change is one line of JSON, without the envelope.
    """
    if watch and reply:
        raise Usage("Answer with --reply first, then look with --watch.")
    filters = {name: value for name, value in given.items() if value is not None}
    if "task" in filters:
        filters["task"] = short_ids.numbered("task", str(filters["task"]))
    how = {"fmt": "json"} if session.as_json else AS_LINES
    ask = {"room_id": session.room(path, room_id), **how, **filters}
    if watch:
        _watch(session, ask)
        return
    answer = {"reply_job": short_ids.numbered("job", reply[0]), "reply_message": reply[1]} if reply else {}
    found = session.call("jobs.radar", {**ask, **answer})
    if not session.finish(found.data):
        _show(session, found)


def _watch(session: Session, ask: dict[str, object]) -> None:
    shown, since = None, None
    with StopSignal() as stop:
        while not stop.stopped():
            more = {"since_seq": since, "max_wait_ms": LOOK_MS} if since is not None else {}
            found = session.call("jobs.radar", {**ask, **more}, stop)
            since = found.data["cursor"]
            now = {name: value for name, value in found.data.items() if name != "cursor"}
            if now != shown:
                shown = now
                _draw(session, found)


def _draw(session: Session, found: CallReply) -> None:
    if session.as_json:
        print(visible_json(found.data), flush=True)
        return
    screen.clear()
    _show(session, found)


def _show(session: Session, found: CallReply) -> None:
    print_lines(session, found.data["text"])


@click.command("open", cls=Command)
@click.argument("id", shell_complete=options.complete_jobs)
@room_option
@click.pass_obj
def open_(session: Session, *, id: str, room_id: str | None) -> None:
    """Open anything by its id or ref.

    Such as JOB-001, JOB-001@17, runner:r1, TASK-001, CARD-001, a:parser, notes@17, or an event's number or id.
    """
    room = session.room(None, room_id)
    # Only a bare number or the beginning of an id is an event's: notes@17 and JOB-001@17 are refs of their own.
    kind, plain = id.partition("-")[0].lower(), id.isdecimal() or ids.is_beginning(id)
    named = short_ids.event(session, room, id) if plain else short_ids.numbered(kind, id)
    reply = session.call("open.ref", {"room_id": room, "id": named})
    if session.finish(reply.data):
        return
    if reply.data["kind"] == "job":
        shown = session.call("jobs.open", {"room_id": room, "job": reply.data["ref"], **AS_LINES, **WHOLE_JOB})
        print_lines(session, shown.data["text"])
    elif reply.data["kind"] in {"event", "note"}:
        events.tell(as_record(Envelope, reply.data["value"]))
    else:
        screen.answer(reply.data["value"])


def print_lines(session: Session, text: str) -> None:
    """Lines that the hub wrote, with their moves as commands."""
    print(*visible_lines(said(text, session.spelling)), sep="\n", flush=True)


def as_lines(command: click.Command) -> None:
    """`tally jobs open JOB-001`, `tally jobs radar`: a page of lines; `--json` has the fields."""
    run = command.callback
    command.params = [option for option in command.params if option.name not in AS_LINES]

    def extended(**given: object) -> object:
        how = {} if _session().as_json else AS_LINES
        return run(**how, **given) if run else None

    command.callback = extended


def in_lines(command: click.Command) -> None:
    """`tally jobs list --fmt lines`: lines whose moves can be typed."""
    run = command.callback
    command.params = [option for option in command.params if option.name != "moves"]

    def extended(**given: object) -> object:
        how = AS_LINES if given.get("fmt") == "lines" and not _session().as_json else {}
        return run(**{**given, **how}) if run else None

    command.callback = extended


def opened(reply: CallReply) -> None:
    print_lines(_session(), reply.data["text"])


def _session() -> Session:
    return click.get_current_context().ensure_object(Session)


def with_prompt_file(command: click.Command) -> None:
    """`tally jobs create "title" --prompt-file F`: the title as the first word, the prompt from a file or stdin."""
    run = command.callback
    for option in command.params:
        if option.name in {"title", "prompt"}:
            option.required = False
    command.params += [
        click.Argument(["name"], required=False, metavar="[TITLE]"),
        click.Option(
            ["--prompt-file"], type=click.File(encoding="utf-8"), help="The prompt is in this file; - is stdin."
        ),
    ]

    def extended(*, name: str | None, prompt_file: IO[str] | None, **given: object) -> object:
        title, prompt = given.pop("title", None), given.pop("prompt", None)
        hint = 'Type `tally jobs create "title" --prompt-file FILE`.'
        if (title and name) or (prompt and prompt_file):
            raise Usage("Give the title once, and the prompt either as a text or in a file.", hint=hint)
        title, prompt = title or name, prompt or (prompt_file.read() if prompt_file else None)
        if not title or not prompt:
            raise Usage("Missing a title or a prompt: a job needs both.", hint=hint)
        return run(title=title, prompt=prompt, **given) if run else None

    command.callback = extended


def with_exit_codes(command: click.Command) -> None:
    """`tally jobs wait` in a script: how the job ended is its exit code."""
    command.epilog = "Exits 0 when the job is DONE, 3 when it FAILED, 4 when it was CANCELED, 5 when time was up."


def with_follow(command: click.Command) -> None:
    """`tally jobs tail --follow`: its events as they come, until it has ended."""
    run = command.callback
    command.params.append(click.Option(["--follow"], is_flag=True, help="Go on until it has ended, or Ctrl-C."))

    def extended(*, follow: bool, **given: object) -> object:
        if not follow:
            return run(**given) if run else None
        return _follow(_session(), given)

    command.callback = extended


def _follow(session: Session, given: dict[str, object]) -> None:
    named = given.get("room_id")
    ask = {
        "room_id": session.room(None, named if isinstance(named, str) else None),
        "job": short_ids.numbered("job", str(given["job"])),
        "until": "event",
        "max_wait_ms": LOOK_MS,
        "max_events": 200,
    }
    after = given.get("after_seq") or 0
    with StopSignal() as stop:
        while not stop.stopped():
            found = session.call("jobs.wait", {**ask, "after_seq": after}, stop).read(JobWaited)
            after = found.next_after_seq
            if session.as_json:
                print(*(visible_json(event.to_data()) + "\n" for event in found.events), sep="", end="", flush=True)
            else:
                render.job_events(found.events)
            if found.done and not found.events:
                return
