"""The benches by name. Adding one is one module with `measure` and one line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from tallystick.bench.figures import Figure
from tallystick.bench.setting import Setting


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
    "handover": Bench(module="tallystick.bench.handover", about="the stick from one process to another", engines=_BOTH),
    "append": Bench(module="tallystick.bench.append", about="one ledger append after the other", engines=_BOTH),
    "contend": Bench(module="tallystick.bench.contend", about="eight processes appending at once", engines=_BOTH),
    "size": Bench(module="tallystick.bench.size", about="reads at a thousand and at a million events"),
    "sends": Bench(module="tallystick.bench.sends", about="messages over HTTP and over the socket", engines=_BOTH),
    "cccc": Bench(module="tallystick.bench.cccc", about="messages over the bus beside CCCC's daemon"),
    "followers": Bench(module="tallystick.bench.followers", about="one and a thousand live streams", engines=_BOTH),
    "bus": Bench(
        module="tallystick.bench.bus", about="envelopes, actions and idle connections on the bus", engines=_BOTH
    ),
    "kills": Bench(module="tallystick.bench.kills", about="the hub's longest pause when those who wait are killed"),
    "waits": Bench(module="tallystick.bench.waits", about="five hundred waits over `/mcp` at once"),
    "reservations": Bench(
        module="tallystick.bench.reservations", about="paths in a room of ten thousand reservations", engines=_BOTH
    ),
    "page": Bench(module="tallystick.bench.page", about="first paint, event to pixel and weight of the page"),
    "hook": Bench(module="tallystick.bench.hook", about="what an edit waits for"),
    "jobs": Bench(module="tallystick.bench.jobs", about="jobs from creation to completion", engines=_BOTH),
    "startup": Bench(module="tallystick.bench.startup", about="commands and `tally mcp` from nothing"),
}
