"""The hooks' work that needs the hub: refuse an edit, greet an agent at the start, remind it before it stops."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from getpass import getuser
from typing import TYPE_CHECKING

from tallystick.harnesses import hooks, identity, processes
from tallystick.harnesses.hooks import Reply
from tallystick.hub import trespass
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.kernel.caller import Caller
from tallystick.surfaces.hook import stamp, wording

if TYPE_CHECKING:
    from tallystick.surfaces.hook.main import Payload


def before_edit(payload: Payload, paths: list[str]) -> Reply:
    """Deny what somebody else has reserved."""
    with _opened() as hub:
        caller = who()
        found = trespass.found(hub, caller, paths, folders=[payload.folder])
    _remember(payload, caller)
    return hooks.deny(payload.harness, payload.event, wording.denial(found)) if found else hooks.ALLOW


def at_start(payload: Payload) -> Reply:
    """Join the room of the folder that the session works in, and say in a few lines what is going on there."""
    with _opened() as hub:
        caller = who()
        joined = hub.call("rooms.join", {"context_path": payload.folder}, caller)
        text = wording.greeting(hub, caller, joined.model_dump(mode="json"))
    stamp.sweep(stamp.data_dir())
    _remember(payload, caller)
    return hooks.tell(payload.event, text)


def at_stop(payload: Payload) -> Reply:
    """Remind a holder of the stick to hand it over: once as a task, then only as a remark, so that it can stop."""
    with _opened() as hub:
        caller = who()
        held = wording.held(hub, caller, trespass.rooms(hub, caller, payload.folder))
    if not held:
        return hooks.ALLOW
    if payload.again:
        return hooks.remark(wording.still_holding(held))
    return hooks.go_on(payload.harness, wording.reminder(held))


def who() -> Caller:
    pid = os.getpid()
    try:
        user = getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return identity.resolve(os.environ, pid=pid, user=user, tty=processes.terminal(pid), surface="cli")


@contextmanager
def _opened() -> Generator[Hub]:
    hub = Hub.open(Settings.of())
    try:
        yield hub
    finally:
        hub.close()


def _remember(payload: Payload, caller: Caller) -> None:
    if caller.process and payload.session:
        process = caller.process
        stamp.leave(stamp.data_dir(), payload.session, caller.agent_id, process.pid, process.started_at)
