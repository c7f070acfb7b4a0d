from __future__ import annotations

import pytest

from tests.jobs.shop import Shop
from tests.scene import Scene


@pytest.fixture
def shop(scene: Scene) -> Shop:
    """An open room with a manager in it, on each engine in turn."""
    return Shop.opened(scene)
