"""What stands in the place of a transaction's statements once they may no longer run.

A transaction calls through one attribute, so refusing costs nothing while all is well: the attribute is exchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from tallystick.storage.errors import ForkedTransaction, TransactionFailed, TransactionOver


def refuse_if_ended(execute: Callable[..., object]) -> None:
    """For what does not begin with a statement."""
    if execute in (over, failed, forked):
        execute("")


def over(_statement: object, _values: object = None) -> NoReturn:
    raise TransactionOver


def failed(_statement: object, _values: object = None) -> NoReturn:
    raise TransactionFailed


def forked(_statement: object, _values: object = None) -> NoReturn:
    raise ForkedTransaction
