"""How far a visitor of a served hub may reach: a surface found out who it is, what it may do is decided here.

A visitor over the Unix socket is trusted like anybody who can open the store. Everybody else is what its token says: it
cannot act under another name, does what its token's reach includes, and with a token for one room nothing outside it.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import Instant
from tallystick.kernel.errors import NotAllowed
from tallystick.kernel.operation import AnyOperation, Reach


class OtherRoom(NotAllowed):
    """This token is for one room only."""

    hint = "Pass the room_id that the message names, or ask for a token of the other room."


class ReachTooShort(NotAllowed):
    """This token does not allow that."""

    hint = "Ask whoever runs the hub for a token that does: `tally token issue --room ROOM --for NAME --reach REACH`."


class IdentityFixed(NotAllowed):
    """Over the network you act as the principal of your token and cannot choose another name."""

    hint = "Leave agent_id_override out; `tally token issue --room ROOM --for NAME` makes a token for another name."


class Visitor(msgspec.Struct, frozen=True, kw_only=True):
    caller: Caller
    room_id: str | None = None
    """The only room within reach; None for all."""
    reach: Reach = Reach.READ
    trusted: bool = False
    """Came over the Unix socket, so its name is a hint and no boundary."""
    token_id: str = ""
    expires_at: Instant | None = None

    def may_see(self, room_id: str) -> None:
        if self.room_id is not None and room_id != self.room_id:
            raise OtherRoom(f"This token is for room {self.room_id} only.", room_id=self.room_id)

    def may_see_all(self) -> None:
        if self.room_id is not None:
            raise OtherRoom(f"This token is for room {self.room_id} only.", room_id=self.room_id)

    def may_manage_all(self, what: str) -> None:
        """For what is no operation."""
        self.may_see_all()
        if not self.trusted and not self.reach.includes(Reach.MANAGE):
            told = f"{what} needs a token with the reach '{Reach.MANAGE}'; yours has '{self.reach}'."
            raise ReachTooShort(told, needs=Reach.MANAGE, reach=self.reach)


def permit(visitor: Visitor, operation: AnyOperation, given: Mapping[str, object]) -> None:
    """Refuse what lies beyond the visitor's reach, before anything is looked up for it."""
    if visitor.trusted:
        return
    if given.get("agent_id_override") is not None:
        raise IdentityFixed
    _check_reach(visitor, operation, given)
    if visitor.room_id is None or operation.noun == "hub":
        return
    others = (given.get(name) for name in operation.ask.rooms if name != "room_id")
    own = [] if operation.ask.own_rooms and "room_id" not in given else [given.get("room_id")]
    named = [*own, *(room for room in others if room is not None)]
    # A path is a place on the hub's machine, which a token for one room has no business to explore.
    if given.get("context_path") is not None or any(room != visitor.room_id for room in named):
        visitor.may_see_all()


def _check_reach(visitor: Visitor, operation: AnyOperation, given: Mapping[str, object]) -> None:
    if not visitor.reach.includes(operation.reach):
        what = f"{operation.name} needs a token with the reach '{operation.reach}'"
        raise ReachTooShort(f"{what}; yours has '{visitor.reach}'.", needs=operation.reach, reach=visitor.reach)
    for name, needed in operation.ask.reaches.items():
        if given.get(name) is not None and not visitor.reach.includes(needed):
            what = f"{operation.name} with {name} needs a token with the reach '{needed}'"
            raise ReachTooShort(f"{what}; yours has '{visitor.reach}'.", needs=needed, reach=visitor.reach)
