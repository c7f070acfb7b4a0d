"""Tasks as agents and messages ask about them: whose work one is, and whether a reference names one of the room."""

from __future__ import annotations

from collections.abc import Sequence

from tallystick.capabilities.agents.model import OwnedTask, Ownership
from tallystick.capabilities.rooms.model import TaskBook
from tallystick.capabilities.tasks import queries
from tallystick.ledger.tx import Tx


class TaskOwnership:
    def in_progress(self, tx: Tx, room_id: str, agent_id: str) -> Sequence[OwnedTask]:
        return [
            OwnedTask(task_id=task.task_id, paths=tuple(task.details.paths))
            for task in queries.in_progress(tx, room_id, agent_id)
        ]


class RoomTasks:
    def check_ref(self, tx: Tx, room_id: str, task_id: str) -> None:
        if task_id.startswith("TASK-"):
            queries.task(tx, room_id, task_id)


OFFERS: dict[type, object] = {Ownership: TaskOwnership(), TaskBook: RoomTasks()}
