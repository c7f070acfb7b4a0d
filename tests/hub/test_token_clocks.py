"""Tokens and a clock that was set: none lasts longer than it was issued for."""

from __future__ import annotations

import pytest

from tallystick.hub import tokens
from tests.scene import Scene

HOUR = 3_600_000


@pytest.mark.parametrize(("offset_h", "valid"), [(0, True), (-24, False), (24, False)])
def test_a_token_counts_only_in_the_time_it_was_issued_for(scene: Scene, offset_h: int, valid: bool) -> None:
    issued = tokens.issue(scene.hub, principal="ada", lasts_ms=HOUR)
    scene.clock.forward(ms=offset_h * HOUR)
    assert (tokens.find(scene.hub, issued.secret) is not None) is valid


def test_a_token_without_an_end_outlives_any_clock(scene: Scene) -> None:
    issued = tokens.issue(scene.hub, principal="ada", lasts_ms=None)
    scene.clock.forward(ms=-24 * HOUR)
    assert tokens.find(scene.hub, issued.secret) is not None
