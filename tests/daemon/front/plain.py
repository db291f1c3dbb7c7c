"""A client that is a socket: it sends the messages that drivers do not, and waits for their answers."""

from __future__ import annotations

import contextlib
import socket
from types import TracebackType

from ..raw import READY, SECONDS, TERMINATE, messages, query, sqlstates, startup, values
from .conftest import Front


class PlainClient:
    """Is welcomed, and sends one request after the other."""

    def __init__(self, front: Front, database: str = "", **parameters: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(SECONDS)
        self.socket.connect(str(front.socket))
        self.ask(startup(user="anyone", database=database or front.name, **parameters))

    def __enter__(self) -> PlainClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ask(self, request: bytes) -> bytes:
        """Sends messages, and returns what comes up to ReadyForQuery."""
        self.socket.sendall(request)
        received = b""
        while received[-len(READY) - 1 : -1] != READY:
            block = self.socket.recv(65536)
            assert block, received
            received += block
        return received

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
