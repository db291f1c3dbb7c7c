"""A relay to a server, which may use TLS with the client."""

from __future__ import annotations

import contextlib
import socket
import ssl

from accepting import Accepting


class Relay(Accepting):
    """Passes bytes to ``host:port`` and back, from a loopback port of its own, in threads that end with it."""

    def __init__(self, host: str, port: int, *, tls: ssl.SSLContext | None = None, listen: int = 0) -> None:
        super().__init__(listen)
        self._target = (host, port)
        self._tls = tls
        self.listen()

    def serve(self, client: socket.socket) -> None:
        if self._tls is not None:
            client = self.keep(self._tls.wrap_socket(client, server_side=True))
        host, port = self._target
        server = self.connected(port, host)
        self.start(self._pass, client, server)
        self._pass(server, client)

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
