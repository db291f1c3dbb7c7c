"""Asks headraced a question with Python's standard library alone: no driver, no package.

    python examples/daemon_socket.py FOLDER DATABASE "select name from people where id = $1" 7

FOLDER has the daemon's socket, DATABASE is a name in its configuration. Whatever the database is, the daemon speaks
PostgreSQL's protocol, of which this page has what a program needs: log in, send a statement with its parameters, and
read rows. Every value is text here, and None is NULL.
"""

from __future__ import annotations

import socket
import struct
import sys
from collections.abc import Iterator


class Refused(Exception):
    """The server, or the daemon, has refused a statement: SQLSTATE and message."""


class Connection:
    """A session. One statement at a time, in one thread."""

    def __init__(self, folder: str, database: str, user: str = "anyone", port: int = 5432) -> None:
        """Connects and logs in."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(f"{folder}/.s.PGSQL.{port}")
        self._stream = self._socket.makefile("rb")
        settings = f"user\0{user}\0database\0{database}\0\0".encode()
        self._socket.sendall(struct.pack("!ii", len(settings) + 8, 3 << 16) + settings)
        self._until_ready()

    def execute(self, sql: str, *parameters: str | None) -> list[tuple[str | None, ...]]:
        """Executes a statement, whose parameters are $1, $2 and so on; returns its rows.

        Raises:
            Refused: it has failed. The session can be used again.
        """
        values = b"".join(
            struct.pack("!i", -1) if value is None else struct.pack("!i", len(value.encode())) + value.encode()
            for value in parameters
        )
        parse = b"\0" + sql.encode() + b"\0" + struct.pack("!h", 0)
        bind = b"\0\0" + struct.pack("!hh", 0, len(parameters)) + values + struct.pack("!h", 0)
        execute = b"\0" + struct.pack("!i", 0)
        messages = [(b"P", parse), (b"B", bind), (b"E", execute), (b"S", b"")]
        self._socket.sendall(b"".join(tag + struct.pack("!i", len(body) + 4) + body for tag, body in messages))
        return [_row(body) for tag, body in self._until_ready() if tag == b"D"]

    def close(self) -> None:
        """Says goodbye."""
        self._socket.sendall(b"X" + struct.pack("!i", 4))
        self._stream.close()
        self._socket.close()

    def _until_ready(self) -> list[tuple[bytes, bytes]]:
        """The messages up to ReadyForQuery."""
        messages: list[tuple[bytes, bytes]] = []
        error = None
        for tag, body in self._messages():
            if tag == b"E":
                fields = {field[:1]: field[1:].decode() for field in body.split(b"\0") if field}
                error = Refused(f"{fields[b'C']}: {fields[b'M']}")
                if fields[b"S"] == "FATAL":
                    raise error
            if tag == b"Z":
                break
            messages.append((tag, body))
        if error is not None:
            raise error
        return messages

    def _messages(self) -> Iterator[tuple[bytes, bytes]]:
        while header := self._stream.read(5):
            yield header[:1], self._stream.read(int.from_bytes(header[1:], "big") - 4)
        raise ConnectionError("the daemon has closed the connection")


def _row(body: bytes) -> tuple[str | None, ...]:
    values: list[str | None] = []
    at = 2
    for _ in range(int.from_bytes(body[:2], "big")):
        length = int.from_bytes(body[at : at + 4], "big", signed=True)
        values.append(None if length < 0 else body[at + 4 : at + 4 + length].decode())
        at += 4 + max(length, 0)
    return tuple(values)


def main() -> None:
    """Prints the rows of one statement."""
    folder, database, sql, *parameters = sys.argv[1:]
    connection = Connection(folder, database)
    for row in connection.execute(sql, *parameters):
        print(*("NULL" if value is None else value for value in row), sep="\t")
    connection.close()


if __name__ == "__main__":
    main()
