"""The rooms that the demo of the first start played in, and their removal from the store, by command or by click."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path

import msgspec

from tallystick.harnesses import identity
from tallystick.hub import maintenance
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.hub.signing import SigningKey
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.errors import Refused
from tallystick.ledger.errors import RoomClosed


def keeper() -> Caller:
    """The person at the keyboard, as the demo knows them."""
    return Caller(agent_id=f"human:{identity.user(os.environ, os.getuid())}:demo", session=SessionKind.HUMAN_CLI)


class DemoRooms(msgspec.Struct, frozen=True, kw_only=True):
    settings: Settings

    @property
    def folder(self) -> Path:
        """Holds the demo's repository; that it is there says that the demo was played, and it stays, empty."""
        return self.settings.data_dir / "demo"

    @property
    def played(self) -> bool:
        return self.folder.exists()

    @property
    def there(self) -> bool:
        """Whether something of it is left to remove."""
        with suppress(FileNotFoundError):
            return any(self.folder.iterdir())
        return False

    @property
    def _rooms(self) -> Path:
        return self.folder / "rooms.json"

    def keep(self, *room_ids: str) -> None:
        """Remember which rooms to remove."""
        self._rooms.write_text(json.dumps(room_ids))

    def remove(self, hub: Hub) -> None:
        """Delete the rooms from the store, and the repository."""
        with suppress(FileNotFoundError):
            room_ids = json.loads(self._rooms.read_text())
            while room_ids:
                self._delete(hub, room_ids.pop(0))
                self.keep(*room_ids)  # Whoever was interrupted goes on with the rest.
        shutil.rmtree(self.folder)
        self.folder.mkdir()

    def _delete(self, hub: Hub, room_id: str) -> None:
        why = {"room_id": room_id, "reason": "the demo is over"}
        turn = hub.call("turns.state", {"room_id": room_id}, keeper()).to_data()["turn_id"]
        with suppress(Refused):  # A person ends turns only where they are a member.
            hub.call("rooms.join", {"room_id": room_id}, keeper())
        for end in ("turns.revoke", "turns.takeover"):  # One is for a holder who lives, one for a holder who is gone.
            with suppress(Refused):
                hub.call(end, {**why, "expected_turn_id": turn}, keeper())
        with suppress(RoomClosed):
            hub.call("rooms.close", why, keeper())
        file = self.folder / f"{room_id}.jsonl"
        with file.open("wb") as target:
            for line in maintenance.archive_lines(hub, SigningKey.of(self.settings), room_id):
                target.write(line)
        maintenance.prune_archived(hub, file)
