"""Starting a relay, from Python or the command line: the owner on the bus, its deliveries taken beside its thinking."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tallystick.harnesses.headless.protocol import Sandbox
from tallystick.kernel.errors import TallyError
from tallystick.runtime.agent import Gone, MailBox
from tallystick.runtime.attaching import Elsewhere, folder_at, on_the_bus
from tallystick.runtime.engine import Engine
from tallystick.runtime.model import Errand, Replaced
from tallystick.runtime.relay import Ended, Relay
from tallystick.runtime.telling import Tell, teller

MAX_TURNS = 20


def relaying(
    task: str,
    command: Sequence[str],
    *,
    name: str,
    room: str | None = None,
    cwd: Path | str = ".",
    harness: str | None = None,
    sandbox: Sandbox = Sandbox.WORKSPACE_WRITE,
    model_name: str | None = None,
    max_turns: int = MAX_TURNS,
    data_dir: Path | str | None = None,
    hub: Elsewhere | None = None,
    environ: Mapping[str, str] = os.environ,
    tell: Tell | None = None,
    prepared: Callable[[Callable[[], None]], None] | None = None,
) -> Ended:
    """Have the agent `name`, run by this program, carry out a task through the other agents of a room.

    `prepared` is called with a function that ends the relay, before it begins.
    """
    engine = Engine.of(command, path=environ.get("PATH"), harness=harness, sandbox=sandbox, model=model_name)
    folder, say = folder_at(cwd), tell or teller(name)
    mail: MailBox = queue.SimpleQueue()
    with on_the_bus(name, room, folder, mail, data_dir=data_dir, hub=hub, tell=say) as (line, journal):
        relay = Relay(
            line=line,
            engine=engine,
            cwd=folder,
            scratch=journal.scratch,
            environ=environ,
            tell=say,
            max_turns=max_turns,
        )
        if prepared:
            prepared(lambda: relay.stop("its user"))
        threading.Thread(target=_deliver, args=(mail, relay), daemon=True).start()
        say(f"relays in room {line.room_id} with {engine.slug}: {' '.join(engine.binary)}")
        return relay.run(task)


def _deliver(mail: MailBox, relay: Relay) -> None:
    while not isinstance(found := mail.get(), Gone):
        try:
            if isinstance(found, Errand):
                relay.brought(found)
            elif isinstance(found, Replaced):
                relay.stop("another connection of the same name")
        except TallyError:
            return  # The line is closed; whoever waits for the relay hears of it there.
