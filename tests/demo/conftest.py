"""Fixtures of the demo's tests."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.demo.theatre import Opening, Show, open_show


@pytest.fixture
def show(tmp_path: Path) -> Generator[Opening]:
    with ExitStack() as stack:

        def opening(*arguments: str, below: tuple[str, ...] = ()) -> Show:
            return stack.enter_context(closing(open_show(*arguments, folder=tmp_path, below=below)))

        yield opening
