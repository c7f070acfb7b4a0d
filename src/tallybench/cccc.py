"""`messages.send` over the bus socket beside CCCC's daemon over its own, from one client and from eight processes.

Both get the same text for one stopped recipient, from as many senders as there are clients, and from the same client,
which reads every answer. They take turns, a second each, and afterwards every message that either acknowledged must be
on its ledger. CCCC syncs each append; ours does with TALLYSTICK_SYNC=full. CCCC's wheel has no client library, its
daemon keeps a connection as ours does; the last rows connect for every message, on both sides.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import cast

import msgspec
from msgspec import structs

from tallybench import message_sender, rooms, servers
from tallybench.engines import Setting
from tallybench.message_sender import Sender, Sent
from tallybench.report import Budget, Detail, Figure, median
from tallybench.sends import TEXT
from tallystick.hub.settings import Settings
from tallystick.kernel.caller import Caller, SessionKind

DISTRIBUTION, VERSION = "cccc-pair", "0.4.45"
"""The version that the budgets were set beside; another one is not measured under its name."""


class PeerRefused(RuntimeError):
    """CCCC did not do what it was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CcccGroup:
    """A group of CCCC, its members stopped: a message is appended for them and nothing is started."""

    socket: Path
    group_id: str
    ledger: Path

    def message_ids(self) -> set[str]:
        """Of every message on the ledger."""
        with self.ledger.open("rb") as lines:
            events = map(json.loads, lines)
            return {str(event["id"]) for event in events if event["kind"] == "chat.message"}


def installed() -> Path | None:
    """The installed program of that version."""
    try:
        found = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None
    script = next((file for file in found.files or () if file.name == "cccc"), None)
    return Path(str(script.locate())).resolve() if script and found.version == VERSION else None


@contextmanager
def running_group(cccc: Path, home: Path, members: Sequence[str]) -> Generator[CcccGroup]:
    """A group with these members, for as long as its daemon runs."""
    home.mkdir()
    path = home / "daemon" / "ccccd.sock"
    # Nothing of the user's: neither an account nor a home of theirs is found.
    env = {"PATH": os.environ.get("PATH", ""), "HOME": str(home), "CCCC_HOME": str(home)}
    with servers.process([str(cccc), "daemon", "run"], lambda: _listens(path), env):
        made = _ask(path, "group_create", title="bench", topic="", by="user")
        group_id = str(made["group_id"])
        for member in members:
            _ask(path, "actor_add", group_id=group_id, actor_id=member, runtime="custom", command=["true"], by="user")
        yield CcccGroup(socket=path, group_id=group_id, ledger=home / "groups" / group_id / "ledger.jsonl")


def _ask(path: Path, op: str, **args: object) -> dict[str, object]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        connection.sendall(json.dumps({"v": 1, "op": op, "args": args}).encode() + b"\n")
        reply = cast("dict[str, object]", json.loads(connection.makefile("rb").readline()))
    if not reply["ok"]:
        raise PeerRefused(f"{op}: {reply['error']}")
    return cast("dict[str, object]", reply["result"])


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


RECEIVER = "receiver"
CLIENTS = (1, 8)
PAGE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How messages are sent, and what part of CCCC's rate is asked for with one client and with eight."""

    what: str
    full_sync: bool = False
    keeps: bool = True
    budgets: tuple[float | None, float | None] = (None, None)


WAYS = (
    Way(what="messages.send over the bus", budgets=(1.2, 1.5)),
    Way(what="the same with TALLYSTICK_SYNC=full", full_sync=True, budgets=(0.9, 1.3)),
    Way(what="the same, connecting for every message", keeps=False),
)


class MessageLost(RuntimeError):
    """A message was acknowledged and is not on the ledger."""


class _Message(msgspec.Struct):
    id: str


class _Page(msgspec.Struct):
    events: list[_Message]
    cursor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerTurn:
    """What the clients did at either daemon, one after the other."""

    ours: Sequence[Sent]
    theirs: Sequence[Sent]

    @property
    def rates(self) -> tuple[float, float]:
        return _rate(self.ours), _rate(self.theirs)


def measure(setting: Setting) -> Iterator[Figure]:
    program = installed()
    if program is None:
        setting.tell(
            f"cccc: left out, since {DISTRIBUTION} {VERSION} is not installed; "
            "`make bench` brings it, or `pip install --group bench` in a checkout"
        )
        return
    for way in WAYS:
        for clients, limit in zip(CLIENTS, way.budgets, strict=True):
            yield _figure(setting, way, clients, limit, _turns(setting, program, way, clients))


def _figure(setting: Setting, way: Way, clients: int, limit: float | None, turns: Sequence[PeerTurn]) -> Figure:
    # The first turn only fills caches, for both alike.
    rates = [turn.rates for turn in turns[1:]]
    checked = sum(len(sent.ids) for turn in turns for sent in (*turn.ours, *turn.theirs))
    return Figure(
        bench="cccc",
        what=f"{way.what}, {'1 client' if clients == 1 else f'{clients} client processes'}",
        engine=setting.engine.name,
        unit="per s",
        ours=median([ours for ours, _ in rates]),
        baseline=median([theirs for _, theirs in rates]),
        against=f"CCCC {VERSION}'s daemon",
        ratio=median([ours / theirs for ours, theirs in rates]),
        budgets=(Budget(of="ratio", bound="at least", limit=limit),) if limit else (),
        details=(Detail(name="found on the ledgers", value=checked),),
    )


def _turns(setting: Setting, program: Path, way: Way, clients: int) -> list[PeerTurn]:
    settings = structs.replace(setting.engine.fresh(), full_sync=way.full_sync)
    names = [f"sender-{number}" for number in range(clients)]
    room_id = _room(settings, [RECEIVER, *names])
    home = settings.data_dir.with_name(f"{settings.data_dir.name}.cccc")
    rounds, seconds = setting.pick(7, 1), setting.pick(100, 10) / 100

    def senders(path: Path, room: str, *, ours: bool) -> list[Sender]:
        return [
            Sender(
                socket=str(path),
                ours=ours,
                room=room,
                name=name,
                text=TEXT,
                to=RECEIVER,
                keeps=way.keeps,
                seconds=seconds,
            )
            for name in names
        ]

    with servers.hub(settings), running_group(program, home, [RECEIVER, *names]) as group:
        ours = senders(settings.data_dir / "bus.sock", room_id, ours=True)
        theirs = senders(group.socket, group.group_id, ours=False)
        turns = list[PeerTurn]()
        for number in range(rounds + 1):
            setting.tell(f"cccc: {way.what}, {clients} at once, round {number} of {rounds}")
            found = rooms.gather(message_sender.send, theirs)
            turns.append(PeerTurn(theirs=found, ours=rooms.gather(message_sender.send, ours)))
    # Both have stopped: what is found now was on the disk.
    _check("CCCC", [turn.theirs for turn in turns], group.message_ids())
    _check("the hub", [turn.ours for turn in turns], _message_ids(settings, room_id))
    return turns


def _rate(sent: Sequence[Sent]) -> float:
    return sum(len(each.ids) / each.took for each in sent)


def _room(settings: Settings, members: Sequence[str]) -> str:
    room_id = rooms.make_room(settings, "messages")
    with rooms.opened(settings) as hub:
        for member in members:
            rooms.enter(hub, room_id, member)
    return room_id


def _check(who: str, rounds: Sequence[Sequence[Sent]], kept: set[str]) -> None:
    acknowledged = [message for sent in rounds for each in sent for message in each.ids]
    lost = set(acknowledged) - kept
    if lost or len(set(acknowledged)) != len(acknowledged):
        raise MessageLost(f"{who} acknowledged {len(acknowledged)} messages; {len(lost)} are not on its ledger.")


def _message_ids(settings: Settings, room_id: str) -> set[str]:
    found, cursor = set[str](), 0
    with rooms.opened(settings) as hub:
        me = Caller(agent_id="bench", session=SessionKind.NAMED)
        while True:
            ask = {"room_id": room_id, "since_seq": cursor, "kinds": ["chat.message"], "limit": PAGE}
            page = msgspec.convert(hub.call("events.list", ask, me).to_data(), type=_Page)
            if not page.events:
                return found
            found.update(event.id for event in page.events)
            cursor = page.cursor
