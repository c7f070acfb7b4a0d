from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.install.machine import Machine
from tests.install.stranger import Stranger, newcomer
from tests.surfaces.cli.place import Place


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    place = Place(root=tmp_path)
    (place.workspace / ".git").mkdir()
    return Machine(place)


@pytest.fixture
def stranger() -> Generator[Stranger]:
    with newcomer() as person:
        yield person
