"""A service speaks from any shell under its own name: it is written to and has an inbox, and is never a member."""

from __future__ import annotations

import pytest

from tallystick.kernel.json_values import object_of
from tests.surfaces.cli.place import Place

CI = ("--as", "svc:ci")


@pytest.fixture
def room(place: Place) -> Place:
    place.as_("ann", "join")
    place.as_("ben", "join")
    return place


def test_a_service_writes_is_written_to_and_reads_its_inbox(room: Place) -> None:
    sent = room.as_("svc:ci", "send", "ann", "main is green")
    room.as_("ann", "reply", "5", "thanks")

    (letter,) = room.as_("svc:ci", "inbox").rows("messages")
    shown = room.run(*CI, "inbox").out.splitlines()

    assert (object_of(sent.data["event"])["by"], sent.data["recipients"]) == ("svc:ci", ["ann"])
    assert object_of(letter["event"])["by"] == "ann"
    assert shown[1:3] == ["    thanks", "1 unread, 0 to accept."]
    assert room.as_("svc:ci", "whoami").data["agent_id"] == "svc:ci"


def test_a_service_is_no_peer_and_never_in_the_turn_order(room: Place) -> None:
    room.as_("svc:ci", "send", "@all", "main is green")

    refused = [room.as_("svc:ci", *words).error["code"] for words in (["join"], ["agents", "register"], ["wait"])]

    assert refused == ["service_not_member", "service_not_member", "unknown_member"]
    assert room.as_("ann", "send", "@peers", "who is there?").data["recipients"] == ["ben"]
    assert [each["agent_id"] for each in room.as_("ann", "who").rows("agents")] == ["ann", "ben"]


@pytest.mark.parametrize(
    ("name", "code"),
    [("svc:tally.page", "reserved_name"), ("svc:cccc.x", "reserved_name"), ("svc:A B", "invalid_input")],
)
def test_our_own_services_and_names_that_are_none_are_refused(room: Place, name: str, code: str) -> None:
    assert room.as_(name, "send", "ann", "main is green").error["code"] == code
