"""A line to a hub on another machine: envelopes go out by `POST /v1/bus`, and what comes is on one stream of events."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from typing import cast

import httpx2

from tallystick.client.place import HubNotRunning
from tallystick.client.refusals import of as refusal_of
from tallystick.kernel.errors import Unavailable

TIMEOUT = httpx2.Timeout(None, connect=5.0)


class HttpWire:
    def __init__(self, url: str, token: str) -> None:
        """Opens the stream; raises the hub's refusal, or that there is none."""
        headers = {"authorization": f"Bearer {token}"}
        self._http = httpx2.Client(base_url=url.rstrip("/"), headers=headers, timeout=TIMEOUT)
        self._came: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._welcomed: queue.SimpleQueue[str | Exception] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()
        welcome = self._welcomed.get()
        if isinstance(welcome, Exception):
            raise welcome
        self._name = welcome

    def send(self, line: bytes) -> None:
        threading.Thread(target=self._post, args=(line,), daemon=True).start()

    def lines(self) -> Iterator[bytes]:
        while (line := self._came.get()) is not None:
            yield line
        self._http.close()

    def cut(self) -> None:
        self._came.put(None)

    def _post(self, line: bytes) -> None:
        headers = {"content-type": "application/json", "tally-bus": self._name}
        try:
            reply = self._http.post("/v1/bus", content=line, headers=headers)
            found = cast("dict[str, object]", json.loads(reply.content))
        except (httpx2.HTTPError, ValueError, RuntimeError):
            # Lost on the way, or closed meanwhile: whoever waits sends it again on the next connection.
            self._came.put(None)
            return
        if "corr" in found:
            self._came.put(reply.content)
            return
        error = cast("dict[str, object]", found.get("error") or {})
        if error.get("code") == "unknown_connection":
            self._came.put(None)
            return
        # The door refused it before the bus saw it.
        envelope = {"corr": json.loads(line)["id"], "status": "error", "error": error}
        self._came.put(json.dumps(envelope).encode())

    def _listen(self) -> None:
        try:
            with self._http.stream("GET", "/v1/bus/stream") as stream:
                if stream.status_code != 200:
                    self._refused(stream.status_code, stream.read())
                    return
                for line in stream.iter_lines():
                    if line.startswith("data:"):
                        self._take(line.removeprefix("data:").strip())
        except (httpx2.HTTPError, RuntimeError) as lost:
            self._welcomed.put(HubNotRunning(f"The hub does not answer: {lost or type(lost).__name__}."))
        finally:
            self._came.put(None)

    def _take(self, data: str) -> None:
        found = cast("dict[str, object]", json.loads(data))
        if found.get("type") == "bus.welcome":
            payload = cast("dict[str, str]", found["payload"])
            self._welcomed.put(payload["connection"])
        else:
            self._came.put(data.encode())

    def _refused(self, status: int, content: bytes) -> None:
        try:
            error = cast("dict[str, object]", json.loads(content)["error"])
        except (ValueError, KeyError, TypeError):
            self._welcomed.put(HubNotRunning(f"What answers with status {status} is no hub."))
            return
        refusal = refusal_of(status, error)
        self._welcomed.put(HubNotRunning(refusal.message) if isinstance(refusal, Unavailable) else refusal)
