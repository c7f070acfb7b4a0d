"""An envelope as its readers get it."""

from __future__ import annotations

from tallystick.capabilities.rooms.events import NoteAdded
from tallystick.ledger.contract import Envelope


def note(data: dict[str, object], kind: str = NoteAdded.kind) -> Envelope:
    return Envelope(
        v=1,
        id="e1",
        ts="2026-09-21T14:13:20.000Z",
        seq=1,
        kind=kind,
        group_id="r1",
        scope_key="",
        by="ada",
        data=data,
    )


def test_an_envelope_reads_its_body_as_the_struct_of_its_kind() -> None:
    assert note({"body": "CI is red", "turn_id": 3}).content == NoteAdded(body="CI is red", turn_id=3)


def test_a_body_that_does_not_fit_its_kind_is_shown_as_it_is_instead_of_failing_the_reader() -> None:
    assert note({"body": 5}).content is None


def test_a_kind_that_is_not_ours_has_no_struct() -> None:
    assert note({"body": "x"}, kind="x.acme.build").content is None
