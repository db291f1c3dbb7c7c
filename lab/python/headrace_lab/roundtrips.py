"""Counts the round trips of a contestant: a relay between it and the server sees how often it speaks after it was
spoken to.

That is no more than what a network's latency is paid for, and sometimes less is: what is sent while a reply is still
coming, as a fetch that is asked for ahead, counts here and need not be waited for. TCP's own handshake is not counted.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from urllib.parse import urlsplit, urlunsplit

from . import workloads as w
from .processes import Worker

REPEATS = 10
"""How often a one-query workload is done, so that what one query leaves to the next is counted too."""


class CountingRelay:
    """Passes bytes between clients and a server from a port of its own."""

    def __init__(self, host: str, port: int) -> None:
        self.trips = 0
        self._target = (host, port)
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
                for one in (client, server):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self._sockets.append(one)
                spoken_to = threading.Event()
                spoken_to.set()
                threading.Thread(target=self._to_server, args=(client, server, spoken_to), daemon=True).start()
                threading.Thread(target=self._to_client, args=(server, client, spoken_to), daemon=True).start()

    def _to_server(self, client: socket.socket, server: socket.socket, spoken_to: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while block := client.recv(1 << 16):
                if spoken_to.is_set():
                    spoken_to.clear()
                    with self._lock:
                        self.trips += 1
                server.sendall(block)
            server.shutdown(socket.SHUT_WR)

    def _to_client(self, server: socket.socket, client: socket.socket, spoken_to: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while block := server.recv(1 << 16):
                # Before the client can have it, and so before it can answer.
                spoken_to.set()
                client.sendall(block)
            client.shutdown(socket.SHUT_WR)

    def __enter__(self) -> CountingRelay:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        for one in (self._listener, *self._sockets):
            one.close()


def through(url: str, port: int) -> str:
    """A URL with the address of a relay."""
    parts = urlsplit(url)
    login, at, _ = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{login}{at}127.0.0.1:{port}"))


def relay_to(url: str, sql: w.Sql) -> CountingRelay:
    """A relay to the server of a URL."""
    parts = urlsplit(url)
    return CountingRelay(parts.hostname or "localhost", parts.port or sql.port)


def round_trips(
    contestant: str, url: str, sql: w.Sql, which: tuple[str, int], empty: Callable[[], None] | None = None
) -> float | None:
    """The round trips of one operation, connected and prepared before; None where it fails. ``empty`` empties the table
    that it fills."""
    with relay_to(url, sql) as relay:
        worker = Worker(contestant, through(url, relay.port), sql.schema, database=sql.database)
        try:
            return counted(worker, relay, which, empty)
        finally:
            worker.stop()


def counted(
    worker: Worker, relay: CountingRelay, which: tuple[str, int], empty: Callable[[], None] | None
) -> float | None:
    """The same of a process whose way to the server is the relay."""
    name, size = which
    repeats = w.TASKS if name == "concurrent" else REPEATS if w.WORKLOADS[name].one_query or name == "connect" else 1
    if "error" in worker.info:
        return None
    for _ in range(2):
        if empty is not None:
            empty()
        before = relay.trips
        if "error" in worker.run(name, size, repeats, False):
            return None
    return (relay.trips - before) / repeats
