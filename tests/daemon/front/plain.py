"""A client that is a socket: it sends the messages that drivers do not, and waits for their answers."""

from __future__ import annotations

import contextlib
import socket

from ..raw import TERMINATE, Client, messages, query, sqlstates, values
from .conftest import Front


class PlainClient(Client):
    """Is welcomed, and sends one request after the other."""

    def __init__(self, front: Front, database: str = "", **parameters: str) -> None:
        connected = socket.socket(socket.AF_UNIX)
        connected.connect(str(front.socket))
        super().__init__(connected, user="anyone", database=database or front.name, **parameters)

    def query(self, sql: str) -> list[str]:
        """The first value of each row, or the SQLSTATE of the error."""
        received = self.ask(query(sql))
        return sqlstates(received) or values(received)

    def tags(self, request: bytes) -> str:
        """The types of the messages that answer."""
        return b"".join(tag for tag, _ in messages(self.ask(request))).decode()

    def end(self) -> bytes:
        """What comes until the daemon closes."""
        received = b""
        with contextlib.suppress(ConnectionResetError):
            while block := self.socket.recv(65536):
                received += block
        return received

    def close(self) -> None:
        """Leaves, once the daemon has taken notice."""
        with self.socket, contextlib.suppress(ConnectionError):
            self.socket.sendall(TERMINATE)
            self.end()
