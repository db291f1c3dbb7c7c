"""A relay in front of a server: it may speak TLS to the client."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from typing import TypeVar

Self = TypeVar("Self", bound="Relay")


class Relay:
    """Passes bytes to ``host:port`` and back, from a loopback port of its own, in threads that end with it."""

    def __init__(self, host: str, port: int, *, tls: ssl.SSLContext | None = None, listen: int = 0) -> None:
        self._target = (host, port)
        self._tls = tls
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", listen))
        self._listener.settimeout(0.05)
        self.port: int = self._listener.getsockname()[1]
        self._ended = False
        self._start(self._accept)

    def _start(self, work: object, *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._ended:
            try:
                client, _ = self._listener.accept()
            except OSError:
                continue
            client.settimeout(None)
            self._sockets.append(client)
            self._start(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        if self._tls is not None:
            try:
                secured = self._tls.wrap_socket(client, server_side=True)
            except OSError:
                client.close()
                return
            self._sockets.append(secured)
            client = secured
        behind = socket.create_connection(self._target)
        self._sockets.append(behind)
        self._start(self._pass, client, behind)
        self._pass(behind, client)

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError):
            while block := source.recv(65536):
                self._note(source, block)
                sink.sendall(block)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _note(self, source: socket.socket, block: bytes) -> None:
        """What passes, for those who want to know."""

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True
        for one in list(self._sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        deadline = time.monotonic() + 5
        for thread in list(self._threads):
            thread.join(max(0.0, deadline - time.monotonic()))
        for one in [self._listener, *self._sockets]:
            with contextlib.suppress(OSError):
                one.close()


class Recorder(Relay):
    """A relay that keeps what clients say."""

    def __init__(self, host: str, port: int) -> None:
        self._said = bytearray()
        super().__init__(host, port)

    def _note(self, source: socket.socket, block: bytes) -> None:
        if source.getpeername()[1] != self._target[1]:
            self._said += block

    @property
    def sent(self) -> bytes:
        """What clients said since the last :meth:`clear`."""
        return bytes(self._said)

    def clear(self) -> None:
        """Forgets it."""
        self._said.clear()
