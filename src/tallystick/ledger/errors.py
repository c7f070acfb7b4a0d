"""Refusals about rooms' ledgers and their events."""

from __future__ import annotations

from tallystick.kernel.errors import Conflict, Fault, InvalidInput, NotFound
from tallystick.kernel.hints import step


class RoomNotFound(NotFound):
    """There is no room with that id."""

    hint = f"{step('rooms.list')} lists those that you can reach; {step('rooms.join')} opens one for a path."


class RoomClosed(Conflict):
    """This room is closed: no further turns or changes are accepted. Its history stays readable."""

    hint = f"{step('rooms.join')} opens a new room for the path; {step('events.list')} reads what happened in this one."


class EventNotFound(NotFound):
    """There is no event with that id in this room."""

    hint = f"{step('events.list')} shows the room's events, each with its number."


class ReservedKind(InvalidInput):
    """Only extension kinds, `x.<vendor>.*` and `vendor.<name>.*`, may be appended by hand."""

    hint = "Choose a kind such as x.acme.build_finished; the standard kinds are written by their own operations."


class AmbiguousCursor(InvalidInput):
    """Give one cursor: since_seq, since_event_id or since_ts."""

    hint = "Keep since_seq and drop the others."


class LedgerDamaged(Fault):
    """The ledger does not verify: an event was changed, removed or reordered outside Tallystick."""

    hint = "Run `tally verify` for the first bad event, then restore a backup taken before it."


class NotEmpty(Conflict):
    """Import needs an empty store, and this one already has rooms."""

    hint = "Point TALLYSTICK_DATA_DIR (or TALLYSTICK_DATABASE_URL) at a new, empty store and import there."


class BadImport(InvalidInput):
    """The file to import is not a whole Tallystick export."""

    hint = "Export again with `tally export`; nothing was imported."


class BadCheckpoint(Fault):
    """A signed checkpoint does not fit: it, or what it speaks of, was changed outside Tallystick."""

    hint = "Run `tally verify` for the first room that differs, then restore a backup taken before it."


class BadSigningKey(InvalidInput):
    """The key for checkpoints cannot be used."""

    hint = "Make another with `openssl genpkey -algorithm ed25519 -out FILE` and name it in TALLYSTICK_CHECKPOINT_KEY."


class CursorGone(NotFound):
    """This room was archived: its events are in a file, and no longer here."""

    hint = "Bring it back with `tally archive --restore FILE`; `sha256sum FILE` tells whether it is that file."


class RoomStillOpen(Conflict):
    """Only a closed room can be archived."""

    hint = "Close it first: `tally close --yes`."


class NotArchived(NotFound):
    """The store has no room that was archived to this file."""

    hint = "A stub names its file by SHA-256: `sha256sum FILE` and the refusal of a read in that room must agree."


class BadArchive(InvalidInput):
    """The file is not a whole archive of a room."""

    hint = "Take another copy of the file; nothing was changed."
