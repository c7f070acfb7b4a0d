"""What the ledger says of the person's list: which items were put aside, and until when."""

from __future__ import annotations

from tallystick.kernel.envelope import Body
from tallystick.kernel.operation import Moment


class ItemSetAside(Body, kind="x.tally.attention.set_aside"):
    """The person does not want to see an item of the list, for a while or for good."""

    item: str
    until: Moment | None
    """Null stands for good."""


class ItemRestored(Body, kind="x.tally.attention.restore"):
    """The person took that back."""

    item: str
