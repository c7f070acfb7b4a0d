"""Attached agents: what is said to them, and what they ask permission for."""

from __future__ import annotations

from tallystick.kernel.caller import Caller, SessionKind
from tests.ledger.shapes.writer import Writer
from tests.scene import Row


def permissions(w: Writer) -> None:
    ann, ben = w.room("permissions", "ann", "ben")
    eve = w.caller(ann.room_id, Caller(agent_id="human:eve:pts1", session=SessionKind.HUMAN_CLI))
    w.shape("permission.ask: as short as can be")
    asked = ann.here("permissions.ask", tool="Bash", title="make deploy")
    w.shape("permission.answer: allowed, without an option")
    eve.here("permissions.answer", permission=asked["permission"], decision="allow")
    w.shape("permission.ask: every field")
    options: list[Row] = [
        {"option_id": "once", "name": "Yes", "kind": "allow_once"},
        {"option_id": "never", "name": "No", "kind": "reject_once"},
    ]
    asked = ann.here(
        "permissions.ask",
        tool="Edit",
        title="Edit src/a.py",
        command="apply",
        paths=["src/a.py"],
        diff="-old\n+new",
        options=options,
        action_id="a1",
        request_id="r1",
    )
    w.shape("permission.answer: denied with words")
    eve.here("permissions.answer", permission=asked["permission"], decision="deny", message="not that file")
    w.shape("permission.withdraw")
    ann.here("permissions.ask", tool="Bash", title="make", request_id="r2")
    ann.here("permissions.withdraw", request_id="r2", reason="answered at the terminal")
    w.shape("permission.policy")
    eve.here("permissions.set_policy", default="deny", allow_commands=["pytest *"], answerers=["ben"])
    w.shape("permission.ask, permission.answer: settled by the policy")
    ann.here("permissions.ask", tool="Bash", title="test", command="pytest -q")
    ben.here("permissions.ask", tool="Bash", title="rm", command="rm -rf build", options=options)


def attached(w: Writer) -> None:
    ann, ben = w.room("attached agents", "ann", "ben")
    w.shape("action.attach")
    ben.here("actions.attach", program="claude")
    w.shape("chat.message, action.submit: a message that is a request")
    ann.here("messages.send", text="plan it", to=["ben"])
    w.shape("action.detach: with and without a reason")
    ben.here("actions.detach", reason="told to end")
    ben.here("actions.attach", program="codex")
    ben.here("actions.detach")
    w.shape("action.result, actor.remove: what waited for one who leaves")
    ben.here("rooms.leave")
