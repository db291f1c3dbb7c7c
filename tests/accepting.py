"""What listens on a loopback port for a test: it accepts in a thread, serves in threads, and ends whole."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

Self = TypeVar("Self", bound="Accepting")
LIMIT = 20.0
"""Seconds that the threads may take to end, once their sockets are shut down."""


class Accepting(ABC):
    """Serves each connection in a thread of its own, from when :meth:`listen` is called.

    At its end no thread accepts or serves, and every socket is closed: one that was left would be found by the garbage
    collector, in the middle of another test. An OSError ends a thread in silence, as the other side may go at any time;
    whatever else one raises, :meth:`close` raises.
    """

    def __init__(self, port: int = 0) -> None:
        self.listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self.port: int = self.listener.getsockname()[1]
        self.ended = threading.Event()
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._errors: list[BaseException] = []

    @abstractmethod
    def serve(self, client: socket.socket) -> None:
        """Serves a connection, which is closed at the end of all."""

    def listen(self) -> None:
        """Begins to accept."""
        self.start(self._accept)

    def _accept(self) -> None:
        while True:
            # Fails when the listener is shut down.
            client, _ = self.listener.accept()
            self.start(self._serve, self.keep(client))

    def _serve(self, client: socket.socket) -> None:
        try:
            self.serve(client)
        except BaseException:
            # The client receives the error: the server may have ended.
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
            raise

    def start(self, work: Callable[..., None], *args: object) -> None:
        """Runs something in a thread that ends with this."""

        def run() -> None:
            try:
                work(*args)
            except OSError:
                pass
            except BaseException as error:
                self._errors.append(error)

        thread = threading.Thread(target=run, daemon=True)
        self._threads.append(thread)
        thread.start()

    def keep(self, one: socket.socket) -> socket.socket:
        """Has a socket closed at the end, or at once where that has come."""
        with self._lock:
            if not self.ended.is_set():
                self._sockets.append(one)
                return one
        one.close()
        raise OSError("the test is over")

    def connected(self, port: int, host: str = "127.0.0.1") -> socket.socket:
        """A connection to a server."""
        return self.keep(socket.create_connection((host, port)))

    def refuse(self) -> None:
        """Takes no new connections."""
        with contextlib.suppress(OSError):
            # Closing alone does not wake the thread that accepts, nor free the port.
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def close(self) -> None:
        """Ends everything."""
        self.refuse()
        with self._lock:
            self.ended.set()
        for one in self._sockets:
            with contextlib.suppress(OSError):
                # Wakes the thread that reads from it: a socket that is read from cannot be closed under it.
                one.shutdown(socket.SHUT_RDWR)
        deadline = time.monotonic() + LIMIT
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        for one in self._sockets:
            one.close()
        assert not any(thread.is_alive() for thread in self._threads), "a thread goes on that serves a connection"
        if self._errors:
            raise self._errors[0]

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
