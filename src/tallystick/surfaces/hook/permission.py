"""What a session that a person started may not do unasked: put to the room, beside the harness's own dialog.

Claude Code shows its dialog while the hook waits, and the first answer wins; Codex shows its own only once the hook has
ended, so there it waits a short time. Whoever answers at the terminal tells nobody: the harness says that the tool has
run, and that hook takes this one's mark away.
"""

from __future__ import annotations

import json
import os
from contextlib import closing, suppress
from pathlib import Path

from tallystick.harnesses import hook_protocol
from tallystick.harnesses.hook_protocol import quoted
from tallystick.hub import reservation_check
from tallystick.kernel import places
from tallystick.kernel.errors import TallyError
from tallystick.kernel.ids import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tallystick.client.calls import Answered
    from tallystick.harnesses.hook_protocol import HookReply
    from tallystick.surfaces.hook.main import Payload

LOOK_MS = 2_000
CODEX_LOOKS = 10
"""So many looks Codex is kept from showing its own dialog."""
LONGEST = 2_000
LONGEST_COMMAND = 16_000


def at_permission(payload: Payload, paths: Sequence[str]) -> HookReply:
    """Put what a person is asked at the terminal to the room as well."""
    from tallystick.surfaces.hook.replies import line_of

    with closing(line_of(payload)) as line:
        return _said(line.ask, payload, paths)


def _said(ask: Callable[[str, Mapping[str, object]], Answered], payload: Payload, paths: Sequence[str]) -> HookReply:
    """What somebody in the room, or its policy, says; nothing where nobody did, so that the dialog decides."""
    rooms = reservation_check.rooms(ask, payload.folder)
    if not rooms:
        return hook_protocol.ALLOW
    mark = _mark(payload)
    mark.parent.mkdir(mode=0o700, exist_ok=True)
    mark.touch(mode=0o600)
    try:
        found = ask("permissions.ask", {"room_id": rooms[0], "request_id": mark.name, **_wanted(payload, paths)}).data
        found = _settled(ask, payload, found, mark)
    except TallyError:
        return hook_protocol.ALLOW
    finally:
        mark.unlink(missing_ok=True)
    if found["state"] not in {"allowed", "denied"}:
        return hook_protocol.ALLOW
    said = f": {quoted(found['message'], LONGEST)}" if found["message"] else ""
    why = found["policy"] or f"{found['settled_by']} {found['state']} it{said}"
    return hook_protocol.decide(payload.event, allowed=found["state"] == "allowed", why=str(why))


def _settled(
    ask: Callable[[str, Mapping[str, object]], Answered], payload: Payload, found: Mapping[str, object], mark: Path
) -> Mapping[str, object]:
    """The request once it is answered; withdrawn when it was answered elsewhere, or there is nobody to tell."""
    parent, looks, why = os.getppid(), 0, ""
    here = {"room_id": found["room_id"], "permission": found["permission"]}
    while found["state"] == "open" and not why:
        found = ask("permissions.show", {**here, "max_wait_ms": LOOK_MS}).data
        looks += 1
        if os.getppid() != parent:
            why = "its session has ended"
        elif not mark.exists():
            why = "it was answered at the terminal"
        elif payload.harness == "codex" and looks >= CODEX_LOOKS:
            why = "it is asked at the terminal now"
    if found["state"] == "open":
        with suppress(TallyError):
            return ask("permissions.withdraw", {**here, "reason": why}).data
    return found


def close(payload: Payload) -> None:
    """A tool has run, or the session is at its end: what was asked about that needs no answer any more."""
    folder = _folder()
    if not folder.is_dir():
        return
    if "tool_name" in payload.fields:
        _mark(payload).unlink(missing_ok=True)
        return
    for mark in folder.glob(f"{_session(payload)}-*"):
        mark.unlink(missing_ok=True)


def _folder() -> Path:
    return Path(places.data_dir()) / "asking"


def _mark(payload: Payload) -> Path:
    """One tool call of a session: the harness gives it no id, so it is known by what it would do."""
    call = json.dumps([payload.fields.get("tool_name"), payload.fields.get("tool_input")], sort_keys=True)
    return _folder() / f"{_session(payload)}-{digest(call, length=24)}"


def _session(payload: Payload) -> str:
    return digest(payload.harness, payload.session, length=16)


def _wanted(payload: Payload, paths: Sequence[str]) -> dict[str, object]:
    tool, given = str(payload.fields.get("tool_name") or "a tool"), payload.fields.get("tool_input")
    fields: dict[str, object] = dict(given) if isinstance(given, dict) else {}  # pyright: ignore[reportUnknownArgumentType] - JSON
    command = fields.get("command")
    about = fields.get("description") or command or ", ".join(paths) or json.dumps(given)
    wanted: dict[str, object] = {"tool": tool[:200], "title": " ".join(str(about).split())[:LONGEST] or tool}
    if isinstance(command, str) and tool == "Bash":
        wanted["command"] = command[:LONGEST_COMMAND]
    return {**wanted, "paths": [*paths][:100]}
