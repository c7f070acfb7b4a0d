"""The benches by name. Adding one is one module with `measure` and one line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from tallybench.engines import Setting
from tallybench.report import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    module: str
    about: str
    engines: tuple[str, ...] = ("sqlite",)

    def measure(self, setting: Setting) -> Iterator[Figure]:
        # Late, so that `tally bench --help` loads no store.
        found = cast("Callable[[Setting], Iterator[Figure]]", import_module(self.module).measure)
        return found(setting)


_BOTH = ("sqlite", "postgres")

BENCHES: Mapping[str, Bench] = {
    "handover": Bench(module="tallybench.handover", about="the stick from one process to another", engines=_BOTH),
    "append": Bench(module="tallybench.append", about="one ledger append after the other", engines=_BOTH),
    "contend": Bench(module="tallybench.contend", about="eight processes appending at once", engines=_BOTH),
    "size": Bench(module="tallybench.size", about="reads at a thousand and at a million events"),
    "sends": Bench(module="tallybench.sends", about="messages over HTTP and over the socket", engines=_BOTH),
    "cccc": Bench(module="tallybench.cccc", about="messages over the bus beside CCCC's daemon"),
    "followers": Bench(module="tallybench.followers", about="one and a thousand live streams", engines=_BOTH),
    "bus": Bench(module="tallybench.bus", about="envelopes, actions and idle connections on the bus", engines=_BOTH),
    "kills": Bench(module="tallybench.kills", about="the hub's longest pause when those who wait are killed"),
    "waits": Bench(module="tallybench.waits", about="five hundred waits over `/mcp` at once"),
    "reservations": Bench(
        module="tallybench.reservations", about="paths in a room of ten thousand reservations", engines=_BOTH
    ),
    "page": Bench(module="tallybench.page", about="first paint, event to pixel and weight of the page"),
    "hook": Bench(module="tallybench.hook", about="what an edit waits for"),
    "jobs": Bench(module="tallybench.jobs", about="jobs from creation to completion", engines=_BOTH),
    "startup": Bench(module="tallybench.startup", about="commands and `tally mcp` from nothing"),
}
