"""Calling a running hub from Python: `Client` and `AsyncClient`, one behaviour in two manners.

`calling` and `following` decide what to send, when to try again and what an answer means; they do no I/O. `client` and
`asynchronous` only carry that out. `Nearest` goes through the hub while one runs and does without when none does.
`place` finds the hub, `refusals` turns an error payload back into the error.
"""

from tallystick.client.asynchronous import AsyncClient
from tallystick.client.client import Client
from tallystick.client.nearest import Nearest
from tallystick.client.place import HubNotRunning

__all__ = ["AsyncClient", "Client", "HubNotRunning", "Nearest"]
