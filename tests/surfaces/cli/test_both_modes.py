"""Every command gives the same with a hub and without one; a hub that dies loses no call and repeats none."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import cast

import click
import pytest

from tallystick.client import Client, Nearest
from tallystick.client.nearest import WAITING
from tallystick.hub import registry
from tallystick.kernel.operation import AnyOperation
from tallystick.surfaces.cli.tree import tree
from tests.surfaces.cli.forking import forking
from tests.surfaces.cli.place import TALLY, Done, Place
from tests.surfaces.hubs import hub
from tests.waiting import until

HANDOFF = ("--status", "half done", "--next-action", "the rest")

FIRST = (
    ("rooms",),
    ("join",),
    ("join", "--as", "ann"),
    ("rooms",),
    ("rooms", "--all"),
    ("state",),
    ("wait", "--as", "ann", "--timeout", "0"),
    ("wait", "--as", "bob", "--timeout", "0"),
    ("state", "--as", "ann"),
    ("state", "--json"),
    ("note", "a note", "--as", "ann"),
    ("events",),
    ("release", "--as", "ann", *HANDOFF),
    ("release", "--as", "ann", *HANDOFF),
    ("pass", "bob", "--as", "ann", *HANDOFF),
    ("takeover", "--as", "ann", "--reason", "why not"),
    ("radar",),
    ("open", "notes@1"),
    ("open", "JOB-999"),
    ("whoami", "--as", "ann"),
    ("who",),
    ("who", "--all", "--json"),
    ("heartbeat", "--as", "ann"),
    ("send", "ann", "hello"),
    ("send", "ann,bob", "look at this", "--attention", "--as", "ann"),
    ("send", "an", "the beginning of a name is enough"),
    ("send", "nobody", "hello"),
    ("ask", "ann", "are you there?", "--timeout", "0"),
    ("interrupt", "nobody"),
    ("inbox",),
    ("inbox", "--as", "ann"),
    ("inbox", "--as", "ann", "--all", "--mark-read"),
    ("ack", "10", "--as", "bob"),
    ("ack", "999", "--as", "bob"),
    ("reply", "9", "yes", "--as", "ann"),
    ("reserve", "src/x.py", "--as", "ann"),
    ("reserve", "src", "--as", "bob"),
    ("release", "src/x.py", "--as", "ann"),
    ("release", "src/x.py", "--as", "ann"),
    ("job", "count the sheep", "--priority", "HIGH"),
    ("log",),
    ("log", "--since", "3", "--limit", "2"),
    ("log", "--raw", "--by", "ann"),
    ("help", "send"),
    ("agent", "register", "--name", "amber-otter"),
    ("agent", "list"),
    ("agent", "show", "--agent", "ann"),
    ("agent", "heartbeat"),
    ("agent", "send", "--from", "ann", "--to", "broadcast", "--category", "INFO", "--subject", "s", "--body", "b"),
    ("agent", "inbox"),
    ("agent", "read", "--message", "nothing"),
    ("agent", "ack", "--message", "nothing"),
    ("agent", "reserve", "--scope", "src"),
    ("agent", "status"),
    ("agent", "release", "--scope", "src"),
    ("call", "turns.state", "--input", "{}"),
    ("call", "no.such"),
    ("call", "--list"),
    ("init", "--non-interactive", "--register", "brave-owl", "--as", "cid"),
    ("guard", "check"),
    ("completion", "bash"),
)
LAST = (
    ("rebuild", "--dry-run"),
    ("rebuild",),
    ("verify",),
    ("export", "out.jsonl"),
    ("backup", "copy.sqlite"),
    ("import", "out.jsonl"),
    ("leave", "--as", "ann"),
    ("close", "--yes", "--as", "ann"),
    ("note", "too late", "--as", "ann"),
)
STARTED_TOO = (("state",), ("state", "--json"), ("notes", "list"), ("call", "no.such"), ("note",))
"""Run a second time as processes that begin with the script, to show that it makes no difference."""
NOT_COMPARED = {
    "up": "is the hub",
    "down": "ends the hub",
    "status": "says whether there is a hub",
    "doctor": "says whether there is a hub",
    "token": "is about reaching a hub",
    "hold": "holds on until a signal; compared below",
    "mcp": "has the scenario that runs over every way of calling",
    "hook": "has tests of its own in both modes",
    "runner": "is a client that stays, with tests of its own",
    "attach": "works on the bus, which only a hub has",
    "relay": "works on the bus, which only a hub has",
    "demo": "brings its own hub",
    "bench": "measures",
    "archive": "is about the store itself and asks no hub",
    "checkpoint": "is about the store itself and asks no hub",
    "install": "writes files and calls nothing",
    "setup": "writes files, and starts a hub",
    "uninstall": "writes files and calls nothing",
    "service": "writes files, and starts a hub",
    "allow": "answers from a person's terminal only",
    "deny": "answers from a person's terminal only",
}
ENDING = ("rooms.leave", "rooms.close")


def leaves(group: click.Group, ctx: click.Context, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command that does something by itself."""
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        if isinstance(command, click.Group):
            yield from leaves(command, ctx, (*above, name))
        else:
            yield (*above, name)


def every_command() -> set[tuple[str, ...]]:
    root = tree()
    ctx = click.Context(root)
    operations = {tuple(name.split(".")) for name in registry.OPERATIONS}
    return {*leaves(root, ctx), *operations}


def derived() -> list[tuple[str, ...]]:
    """Each operation as a command of its noun, with the input of its first example."""
    ordered = sorted(registry.OPERATIONS.values(), key=lambda each: (each.name in ENDING, each.name))
    return [(*each.name.split("."), *_flags(each)) for each in ordered]


def _flags(operation: AnyOperation) -> Iterator[str]:
    given = dict(operation.examples[0]) if operation.examples else {}
    if operation.name in WAITING:
        given["max_wait_ms"] = 0
    given.pop("room_id", None)
    for name, value in given.items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            yield flag if value else flag.replace("--", "--no-", 1)
        elif isinstance(value, list) and all(isinstance(each, str) for each in cast("list[object]", value)):
            for each in cast("list[str]", value):
                yield from (flag, each)
        else:
            yield from (flag, value if isinstance(value, str) else json.dumps(value))


class Normal:
    """Texts without what differs between two stores: ids by the order in which they come, times, places."""

    _WORDS = re.compile(
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|\d{4}-\d\d-\d\dT[\d:.]+Z"
        r"|(?<![0-9a-z])(?:s_)?[0-9a-f]{12,64}\b"
        r"|just now|(?:\bin )?(?:\b\d+ (?:s|min|h|d)\b ?)+(?:left|ago)?|\b\d\d:\d\d\b"
    )

    def __init__(self, place: Place) -> None:
        self._place = place
        self._ids: dict[str, str] = {}

    def __call__(self, done: Done) -> tuple[int, str, str]:
        return done.code, self._text(done.out), self._text(done.err)

    def _text(self, text: str) -> str:
        text = text.replace(str(self._place.root), "ROOT").replace(self._place.root.name, "FOLDER")
        # A name that is free, chosen by chance.
        text = re.sub(r"(?m)^  name: +[a-z]+-[a-z]+$", "  name: FREE", text)
        text = re.sub(r'("last_seen_at|"pid|"process_started_at)": [^,}]*', r"\1", text)
        return self._WORDS.sub(self._word, text)

    def _word(self, found: re.Match[str]) -> str:
        word = found[0]
        if not re.fullmatch(r"[-0-9a-fs_]+", word):
            return "TIME"
        return self._ids.setdefault(word, f"ID{len(self._ids)}")


def made(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """In a folder whose name leaves room for a socket's."""
    root = tmp_path_factory.mktemp("both")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return Place(root=root)


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return made(tmp_path_factory)


@pytest.fixture
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, Place]:
    return made(tmp_path_factory), made(tmp_path_factory)


def test_every_command_is_compared_or_says_why_not() -> None:
    run = {words[: len(each)] for words in (*FIRST, *LAST, *derived()) for each in every_command()}
    left_out = {tuple(name.split()) for name in NOT_COMPARED}

    assert {each for each in every_command() - run if each[:1] not in left_out} == set()


@pytest.mark.timeout(900)
@pytest.mark.slow
def test_every_command_gives_the_same_with_a_hub_and_without_one(places: tuple[Place, Place]) -> None:
    compared = [Normal(place) for place in places]
    differing = dict[str, object]()
    with hub(places[1].env), forking(places[0]) as first, forking(places[1]) as second, ThreadPoolExecutor(2) as both:
        for words in (*FIRST, *derived(), *LAST):
            running = [both.submit(run, *words) for run in (first, second)]
            alone, through = (normal(done.result()) for normal, done in zip(compared, running, strict=True))
            if alone != through:
                differing[" ".join(words)] = {"without": alone, "with": through}
        forked = [compared[0](first(*words)) for words in STARTED_TOO]

    assert differing == {}
    assert forked == [compared[0](places[0].run(*words)) for words in STARTED_TOO]


def test_the_operations_that_may_be_left_in_the_middle_are_those_that_wait() -> None:
    waiting = {name: each.ask.__struct_fields__ for name, each in registry.OPERATIONS.items() if each.waits}

    assert waiting.keys() == WAITING
    assert all("max_wait_ms" in fields for fields in waiting.values())


def _started(place: Place, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [TALLY, *words],
        env=place.env,
        cwd=place.workspace,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _held_by_ann(place: Place) -> None:
    for words in (("ann", "join"), ("bob", "join"), ("ann", "wait", "--timeout", "0")):
        assert place.as_(*words).code == 0


def _until_somebody_waits(place: Place) -> None:
    with Client(data_dir=place.data_dir) as client:
        until(lambda: json.loads(client.get("/v1/status").body).get("waits") == 1)


def test_ctrl_c_ends_a_wait_in_the_hub_at_once_and_says_what_it_came_to(place: Place) -> None:
    _held_by_ann(place)
    with hub(place.env), _started(place, "wait", "--as", "bob", "--timeout", "10m") as waiting:
        _until_somebody_waits(place)
        waiting.send_signal(signal.SIGINT)
        out, err = waiting.communicate()

    assert (waiting.returncode, out, err) == (
        130,
        "Not yet: ann has the stick. Next: `tally --as bob wait` again.\n",
        "",
    )


@pytest.mark.parametrize("through", ["the hub", "the store"])
def test_ctrl_c_ends_following_at_once_and_without_a_word(place: Place, through: str) -> None:
    place.as_("ann", "join")
    words = ("events", "--follow", "--json", "--kinds", "x.tally.note.add")
    with hub(place.env) if through == "the hub" else nullcontext(), _started(place, *words) as following:
        place.as_("ann", "note", "hello")
        assert following.stdout
        line = following.stdout.readline()
        if through == "the hub":
            _until_somebody_waits(place)
        following.send_signal(signal.SIGINT)
        rest, err = following.communicate()

    assert (json.loads(line)["data"]["body"], following.returncode, rest, err) == ("hello", 0, "", "")


def test_a_wait_goes_on_without_its_hub(place: Place) -> None:
    _held_by_ann(place)
    with hub(place.env) as running, _started(place, "wait", "--as", "bob", "--timeout", "10m") as waiting:
        _until_somebody_waits(place)
        running.stop()
        place.as_("ann", "release", *HANDOFF)
        out, _ = waiting.communicate()

    assert (waiting.returncode, out.partition(":")[0]) == (0, "It is your turn")


def test_what_is_held_through_a_hub_is_held_by_the_very_command(place: Place) -> None:
    with hub(place.env), _started(place, "hold", "--as", "ada", *HANDOFF) as held:
        assert held.stderr
        while "It is your turn" not in held.stderr.readline():
            pass
        (member,) = place.as_("ada", "state").rows("members")
        held.send_signal(signal.SIGINT)
        held.communicate()

    assert (member["session_kind"], member["pid"], held.returncode) == ("human_guardian", held.pid, 0)


def test_a_hub_of_another_database_is_not_asked(place: Place) -> None:
    place.as_("ann", "join")
    card = place.data_dir / "hub.json"
    with hub(place.env):
        said = cast("dict[str, object]", json.loads(card.read_bytes()))
        card.write_text(json.dumps({**said, "database": "another"}), "utf-8")
        place.as_("ann", "note", "without it")
        with Client(data_dir=place.data_dir) as client:
            connections = json.loads(client.get("/v1/status").body)["connections"]

    assert (said["database"], connections) == (None, 1)


def test_hubs_that_are_killed_lose_no_note_and_repeat_none(place: Place) -> None:
    room_id = place.as_("ann", "join").data["room_id"]
    said = [f"note {number}" for number in range(9)]
    for at in range(0, len(said), 3):
        with hub(place.env) as running:
            notes = [_started(place, "note", text, "--as", "ann") for text in said[at : at + 3]]
            notes[0].wait()
            running.kill()
            codes = [(each.communicate(), each.returncode)[1] for each in notes]
        assert codes == [0, 0, 0]

    line = Nearest(data_dir=place.data_dir, agent="ann")
    kept = cast("list[Mapping[str, object]]", line.call("notes.list", room_id=room_id)["notes"])
    line.close()
    assert sorted(str(each["body"]) for each in kept) == said


def test_an_edit_is_denied_alike_and_asking_the_hub_loads_little(place: Place) -> None:
    place.as_("ann", "join")
    file = str(place.workspace / "taken.py")
    place.as_("ann", "reservations", "reserve", "--path", file)
    tool = {"tool_name": "Write", "tool_input": {"file_path": file, "content": ""}}
    event = json.dumps({"session_id": "s", "cwd": str(place.workspace), **tool})
    words = ("hook", "claude", "PreToolUse", "--as", "bob")

    alone = place.run(*words, stdin=event)
    with hub(place.env):
        through = place.run(*words, stdin=event)
        traced = place.run(*words, stdin=event, env={"PYTHONPROFILEIMPORTTIME": "1"})

    loaded = {line.rpartition("|")[2].strip() for line in traced.err.splitlines()}
    assert "reserved by ann" in alone.out + alone.err
    assert through == alone
    heavy = {"pydantic", "msgspec", "dataclasses", "pathlib", "tallystick.hub.hub", "tallystick.harnesses.identity"}
    assert heavy & loaded == set()
