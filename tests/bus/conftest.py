"""Hubs with a bus: one per module, and every test over both transports."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.bus.talking import WAYS, House
from tests.http import conftest as http
from tests.http.running import RunningHub

hub = http.hub
process_hub = http.process_hub
no_stream_stays_open = http.no_stream_stays_open


@pytest.fixture(params=list(WAYS))
def house(request: pytest.FixtureRequest, hub: RunningHub) -> Generator[House]:
    """A session reached over each transport."""
    found = House(hub, WAYS[request.param])
    yield found
    found.close()
