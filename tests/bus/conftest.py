"""Hubs with a bus: one per module, and every test over both transports."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.bus.talking import WAYS, BusSession
from tests.http import conftest as http
from tests.http.running import RunningHub

hub = http.hub
process_hub = http.process_hub
no_stream_stays_open = http.no_stream_stays_open


@pytest.fixture(params=list(WAYS))
def bus_session(request: pytest.FixtureRequest, hub: RunningHub) -> Generator[BusSession]:
    """A session reached over each transport."""
    found = BusSession(hub, WAYS[request.param])
    yield found
    found.close()
