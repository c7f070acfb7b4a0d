"""Calling a running hub from Python: `Client` and `AsyncClient`, and on the bus `BusClient` and `AsyncBusClient`.

`calling`, `following` and `bus_talk` decide what to send, when to try again and what an answer means; they do no I/O.
`client`, `asynchronous`, `bus` and `bus_asynchronous` only carry that out. `Nearest` goes through the hub while one
runs and does without when none does. `place` finds the hub, `refusals` turns an error payload back into the error.
"""

from tallystick.client.asynchronous import AsyncClient
from tallystick.client.bus import BusClient
from tallystick.client.bus_asynchronous import AsyncBusClient
from tallystick.client.client import Client
from tallystick.client.nearest import Nearest
from tallystick.client.place import HubNotRunning

__all__ = ["AsyncBusClient", "AsyncClient", "BusClient", "Client", "HubNotRunning", "Nearest"]
