"""Every kind of event that we write has words of its own: on the page, in `tally log` and in `tally events`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from tallystick.hub import event_text, registry
from tallystick.ledger.contract import Envelope
from tests.ledger.shapes.everything import BODIES, FOREIGN

LINE = re.compile(r"^([a-z_.]+\.[a-z_.]+) (\S+) (\S+) (\{.*\})$", re.MULTILINE)


def written() -> Iterator[Envelope]:
    """An event of each shape that is ever written."""
    assert registry.CAPABILITIES  # Which loads the struct of every kind.
    for kind, by, scope, data in LINE.findall(BODIES.read_text("utf-8")):
        yield Envelope(
            v=1,
            id="e",
            ts="2026-01-31T12:00:00.000Z",
            seq=1,
            kind=kind,
            group_id="r",
            scope_key=scope,
            by=by,
            data=json.loads(data),
        )


def test_every_kind_is_told_in_a_sentence_of_its_own() -> None:
    told = {event.kind: event_text.sentence(event) for event in written() if event.kind not in FOREIGN}

    assert len(told) >= 50
    assert {kind for kind, text in told.items() if f"wrote {kind}" in text or "x.tally." in text} == set()


def test_a_kind_of_somebody_else_is_called_by_its_name() -> None:
    told = [event_text.sentence(event) for event in written() if event.kind in FOREIGN]

    assert told
    assert all(re.match(r"\S+ wrote (x|vendor)\.acme\.", text) for text in told)


def test_the_reader_says_how_it_calls_people() -> None:
    event = next(each for each in written() if each.kind == "chat.message")

    assert event_text.sentence(event, lambda name: f"<{name}>").startswith(f"<{event.by}> ")
