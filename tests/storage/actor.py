"""A process of its own that does one thing with a store, step by step as the test says.

Run as a program it takes a behaviour's name and a place. It prints a line at each step and goes on when it reads one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from tallystick.kernel.errors import TallyError
from tallystick.storage.port import Store
from tests.places import Place
from tests.storage.items import ADD, RAISE, TOTAL, Item

ROOT = Path(__file__).parents[2]


class Actor:
    def __init__(self, behaviour: str, place: Place) -> None:
        pipe = subprocess.PIPE
        command = [
            sys.executable,
            "-m",
            "tests.storage.actor",
            behaviour,
            place.database_url or "",
            str(place.data_dir),
        ]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
        self.pid = self._process.pid

    def hear(self) -> str:
        """The next line it prints; empty when it has ended."""
        assert self._process.stdout
        return self._process.stdout.readline().strip()

    def tell(self, word: str = "go") -> None:
        assert self._process.stdin
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def ended(self) -> int:
        """Its exit code, once it has ended by itself."""
        return self._process.wait()

    def close(self) -> None:
        self.kill()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(BrokenPipeError):
                if stream:
                    stream.close()


@contextmanager
def acting(place: Place, *behaviours: str) -> Generator[list[Actor]]:
    """Start actors and end them with the block."""
    actors = [Actor(each, place) for each in behaviours]
    try:
        yield actors
    finally:
        for actor in actors:
            actor.close()


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def listen() -> str:
    return sys.stdin.readline().strip()


def total(store: Store) -> int:
    with store.read() as rows:
        item = rows.one(TOTAL, Item)
    assert item
    return item.count


def attempt(what: Callable[[], object]) -> str:
    """What came of it: `ok`, or the code of the refusal."""
    try:
        what()
    except TallyError as refused:
        return refused.code
    return "ok"


def raise_by(store: Store, by: int) -> None:
    with store.write() as rows:
        rows.run(RAISE, by=by)


def climb(store: Store) -> None:
    """Raise by one, fifty times."""
    say("ready")
    listen()
    outcomes = {attempt(lambda: raise_by(store, 1)) for _ in range(50)}
    say(*sorted(outcomes))


def hold(store: Store) -> None:
    """Write, and commit when told to."""
    with store.write() as rows:
        rows.run(RAISE, by=1)
        rows.one(TOTAL, Item)
        say("holding")
        listen()
    say("committed")


def commit_and_stay(store: Store) -> None:
    raise_by(store, 1)
    say("committed")
    listen()


def fork(store: Store) -> None:
    """Use the store, fork, and try to use it in the child, also opened anew; then in the parent."""
    raise_by(store, 1)
    _, url, data_dir = sys.argv[1:]
    place = Place(data_dir=Path(data_dir), database_url=url or None)
    pid = os.fork()
    if pid == 0:
        say("child", attempt(lambda: raise_by(store, 10)), attempt(lambda: total(place.open())))
        os._exit(0)
    os.waitpid(pid, 0)
    say("parent", attempt(lambda: raise_by(store, 100)), total(store))


def add_many(store: Store) -> None:
    """Write more and more until killed."""
    say("ready")
    number = 0
    while True:
        with store.write() as rows:
            rows.run(ADD, id=f"{os.getpid()}-{number}", count=0)
        number += 1
        say(number)


BEHAVIOURS = [climb, hold, commit_and_stay, fork, add_many]


def main(name: str, url: str, data_dir: str) -> None:
    store = Place(data_dir=Path(data_dir), database_url=url or None).open()
    next(each for each in BEHAVIOURS if each.__name__ == name)(store)
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
