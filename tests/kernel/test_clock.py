"""Time on the wire: ISO-8601 in UTC with milliseconds, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.kernel.clock import from_wire, system_clock, to_wire
from tests.scene import START, refused

END_OF_9999 = 253_402_300_799_999


def test_a_time_on_the_wire_is_utc_with_milliseconds() -> None:
    assert to_wire(START + 7) == "2026-09-21T14:13:20.007Z"


@pytest.mark.parametrize(
    "text",
    [
        "2026-09-21T14:13:20.007Z",
        " 2026-09-21T14:13:20.007Z\n",
        "2026-09-21T14:13:20.007",
        "2026-09-21T14:13:20.007000Z",
        "2026-09-21T14:13:20.0070000009Z",
        "2026-09-21T16:13:20.007+02:00",
        "2026-09-21 14:13:20.007",
    ],
)
def test_one_moment_may_be_spelled_in_many_ways(text: str) -> None:
    assert from_wire(text) == START + 7


def test_a_time_without_a_fraction_is_a_whole_second() -> None:
    assert from_wire("2026-09-21T14:13:20Z") == START


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01T00:00:00Z", "1790000000000"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with refused("invalid_input") as caught:
        from_wire(text)
    assert caught.value.message == f"'{text}' is not an ISO-8601 time such as 2026-01-31T12:00:00.000Z."


@given(st.integers(0, END_OF_9999))
def test_every_moment_that_a_clock_can_show_survives_the_wire(instant: int) -> None:
    assert from_wire(to_wire(instant)) == instant


def test_the_system_clock_counts_milliseconds_of_this_century() -> None:
    assert START // 2 < system_clock() < START * 2
