"""The hooks' work that needs the hub: refuse an edit, greet an agent at the start, remind it before it stops.

It asks a running hub over its socket, and the store itself where none runs.
"""

from __future__ import annotations

from contextlib import closing

from tallystick.client.nearest import Nearest
from tallystick.harnesses import hooks
from tallystick.hub import trespass
from tallystick.kernel import places
from tallystick.surfaces.hook import stamp, wording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tallystick.harnesses.hooks import Reply
    from tallystick.surfaces.hook.main import Payload

ANSWER_SECONDS = 5.0
"""An edit waits no longer than this for a hub that does not answer; the store is then asked without it."""


def before_edit(payload: Payload, paths: list[str]) -> Reply:
    """Deny what somebody else has reserved."""
    with closing(_line()) as line:
        found = trespass.found(line.ask, paths, folders=[payload.folder])
    if found:
        return hooks.deny(payload.harness, payload.event, wording.denial(found))
    _remember(payload)
    return hooks.ALLOW


def at_start(payload: Payload) -> Reply:
    """Join the room of the folder that the session works in, and say in a few lines what is going on there."""
    with closing(_line()) as line:
        joined = line.call("rooms.join", context_path=payload.folder)
        text = wording.greeting(line.ask, joined)
    stamp.sweep(places.data_dir())
    _remember(payload)
    return hooks.tell(payload.event, text)


def at_stop(payload: Payload) -> Reply:
    """Remind a holder of the stick to hand it over: once as a task, then only as a remark, so that it can stop."""
    with closing(_line()) as line:
        held = wording.held(line.ask, trespass.rooms(line.ask, payload.folder))
    if not held:
        return hooks.ALLOW
    if payload.again:
        return hooks.remark(wording.still_holding(held))
    return hooks.go_on(payload.harness, wording.reminder(held))


def _line() -> Nearest:
    return Nearest(patience=0, seconds=ANSWER_SECONDS)


def _remember(payload: Payload) -> None:
    """Leave a stamp, so that the next hooks of this session need not ask."""
    if not payload.session:
        return
    from tallystick.harnesses import identity

    caller = identity.of_this_process()
    if process := caller.process:
        stamp.leave(places.data_dir(), payload.session, caller.agent_id, process.pid, process.started_at)
