"""What both clients know of their hub, and how `client.turns.state()` becomes `client.call("turns.state")`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import httpx2

from tallystick.client.calling import Lost, Patience
from tallystick.client.place import Address, Over, Place
from tallystick.hub.settings import Settings

T = TypeVar("T")

TIMEOUT = httpx2.Timeout(None, connect=5.0)
"""A wait may last as long as it was asked to."""


def folder_of(data_dir: Path | str | None) -> Path:
    """The data directory that is meant; by default, the one commands use."""
    return Path(data_dir) if data_dir else Settings.of(os.environ).data_dir


class Name(Generic[T]):
    """A noun, or an operation when it is called."""

    def __init__(self, call: Callable[..., T], name: str) -> None:
        self._call, self._name = call, name

    def __getattr__(self, verb: str) -> Name[T]:
        if verb.startswith("_"):
            raise AttributeError(verb)
        return Name(self._call, f"{self._name}.{verb}")

    def __call__(self, **given: object) -> T:
        return self._call(self._name, **given)


class Link:
    def __init__(
        self,
        *,
        data_dir: Path | str | None = None,
        over: Over = "socket",
        url: str | None = None,
        token: str | None = None,
        agent: str | None = None,
        patience: float = 30.0,
    ) -> None:
        """Find the hub of a data directory (by default, the one commands use), or take it from `url` and `token`.

        `agent` is the name to act under on this machine's socket; a token has its own. `patience` is how many seconds
        to wait for a hub that was there and is away, or cannot answer right now.
        """
        self._place = Place(data_dir=folder_of(data_dir), over=over, url=url, token=token)
        self._agent, self._seconds = agent, patience
        self._at: Address | None = None
        """Where the connections lead."""
        self._moved = True
        """Whether that may have changed."""
        self._met = False

    def _patience(self) -> Patience:
        return Patience(self._seconds)

    def _headers(self, address: Address) -> dict[str, str]:
        headers = {"tally-agent": self._agent} if self._agent and address.socket else {}
        return {**headers, "authorization": f"Bearer {address.token}"} if address.token else headers

    def _lost(self, error: httpx2.TransportError) -> Lost:
        self._moved = True
        never = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
        return Lost(connected=not never, why=f"The hub does not answer: {error or type(error).__name__}.")
