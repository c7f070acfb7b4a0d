"""A network between us and PostgreSQL that breaks when told to."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from psycopg.conninfo import conninfo_to_dict, make_conninfo


class FlakyNetwork:
    """Forwards connections; cuts each one whose client sends `word`, either before or after the server has seen it."""

    def __init__(self, url: str) -> None:
        parts = conninfo_to_dict(url)
        self._server = f"{parts['host']}/.s.PGSQL.{parts.get('port') or 5432}"
        self._door = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = []
        self._unheard: set[socket.socket] = set()
        self._flows = threading.Event()
        self._flows.set()
        self.before = self.after = self.stalled_by = b""
        """The words that break a connection, and those that freeze them all."""
        self.url = make_conninfo(url, host="127.0.0.1", port=self._door.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Break every connection there is; new ones work."""
        # Taken all at once: the first to notice may connect anew while the others are still being cut.
        ends, self._ends = self._ends, []
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def freeze(self) -> None:
        """Let nothing through in either direction, on any connection, without ending one."""
        self._flows.clear()

    def thaw(self) -> None:
        self._flows.set()

    def close(self) -> None:
        self.thaw()
        self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._door.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                self._ends += [client, server]
                threading.Thread(target=self._upwards, args=(client, server), daemon=True).start()
                threading.Thread(target=self._downwards, args=(server, client), daemon=True).start()

    def _upwards(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                if self.stalled_by and self.stalled_by in data:
                    self.freeze()
                self._flows.wait()
                if self.before and self.before in data:
                    self.cut()
                    return
                if self.after and self.after in data:
                    self._unheard.add(server)
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)

    def _downwards(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            # An unheard server has done what it was asked, and its answer goes nowhere.
            while (data := server.recv(65536)) and server not in self._unheard:
                self._flows.wait()
                client.sendall(data)
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
