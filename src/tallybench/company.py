"""Several processes doing the same thing at the same time."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.synchronize import Barrier
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_PATIENCE_S = 120.0


class _Gate:
    """The barrier of this worker process. It can be inherited, but not be sent along with a task."""

    barrier: Barrier


def _enter(barrier: Barrier) -> None:
    _Gate.barrier = barrier


def together() -> None:
    """Wait in a worker until all of its company are ready."""
    _Gate.barrier.wait(_PATIENCE_S)


def gather(work: Callable[[T], R], tasks: Sequence[T]) -> list[R]:
    """One process per task; `work` must call `together` once, which also keeps two tasks out of one process."""
    context = multiprocessing.get_context("forkserver")
    # Whoever is forked has everything loaded: starting Python anew would take longer than most of what is measured.
    context.set_forkserver_preload([work.__module__])
    gate = context.Barrier(len(tasks))
    with ProcessPoolExecutor(len(tasks), mp_context=context, initializer=_enter, initargs=(gate,)) as pool:
        return list(pool.map(work, tasks))
