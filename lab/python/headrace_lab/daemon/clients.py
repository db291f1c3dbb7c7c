"""The drivers in Python. To add one, write a subclass of :class:`Client` and name it in :data:`CLIENTS`."""

from __future__ import annotations

import socket
import struct
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from ..link import query
from .base import AsyncClient, Client, Rows
from .floor import READY, Floor, socket_path
from .workloads import ANSWER, SELECT, WORKLOADS

NO_PIPELINE: Final = "it has no pipelining"


class Headrace(Client):
    """headrace: the blocking driver, and its connections on asyncio for several clients."""

    package = "headrace"

    def __init__(self, url: str) -> None:
        super().__init__(url)
        import headrace

        # The first connection would import it. No import is part of a time: the other drivers are imported whole.
        import headrace.postgres

        self.connect = headrace.connect
        self.many = _HeadraceAsync(url)

    def open(self) -> Any:
        return self.connect(self.url, autocommit=True)

    def ask(self, conn: Any) -> Any:
        return conn.fetchval(ANSWER)

    def leave(self, conn: Any) -> None:
        conn.close()

    def query(self) -> Callable[[int], Rows]:
        cursor, statement = self.conn.cursor(), self.statement
        return lambda limit: cursor.execute(statement, (limit,)).fetchall()

    def batch(self, asked: Sequence[int]) -> Rows:
        return self.conn.fetchmany(self.statement, [(limit,) for limit in asked])  # type: ignore[no-any-return]

    def count(self, asked: Sequence[int]) -> int | None:
        return self.conn.executemany(self.statement, [(limit,) for limit in asked]).rowcount  # type: ignore[no-any-return]

    def gather(self, size: int) -> None:
        self.many.gather(size)

    def clients(self, size: int, inner: int) -> list[Rows]:
        return self.many.clients(size, inner)

    def scatter(self) -> None:
        self.many.scatter()


class _HeadraceAsync(AsyncClient):
    """The connections of several clients."""

    async def aopen(self) -> Any:
        import headrace.aio

        return await headrace.aio.connect(self.url, autocommit=True)

    async def aask(self, conn: Any) -> Any:
        return await conn.fetchval(ANSWER)

    async def aquery(self, conn: Any) -> Callable[[int], Awaitable[Rows]]:
        fetch, statement = conn.fetch, self.statement
        return lambda limit: fetch(statement, limit)


class Asyncpg(AsyncClient):
    """asyncpg: prepared statements, and fetchmany and executemany for pipelines."""

    package = "asyncpg"

    def __init__(self, url: str) -> None:
        super().__init__(url)
        import asyncpg

        self.connect: Any = asyncpg.connect

    async def aopen(self) -> Any:
        return await self.connect(self.url)

    async def aask(self, conn: Any) -> Any:
        return await conn.fetchval(ANSWER)

    async def aquery(self, conn: Any) -> Callable[[int], Awaitable[Rows]]:
        fetch, statement = conn.fetch, self.statement
        return lambda limit: fetch(statement, limit)

    def batch(self, asked: Sequence[int]) -> Rows:
        return self.wait(self.conn.fetchmany(self.statement, [(limit,) for limit in asked]))  # type: ignore[no-any-return]

    def count(self, asked: Sequence[int]) -> int | None:
        # It reports no numbers of rows.
        self.wait(self.conn.executemany(self.statement, [(limit,) for limit in asked]))
        return None


class Psycopg(Client):
    """psycopg with its implementation in C: prepared statements, binary results, pipeline mode."""

    package = "psycopg"
    statement = f"{SELECT}%s"
    skips = {"clients": "left out: asyncpg stands for the other drivers on asyncio"}

    def __init__(self, url: str) -> None:
        super().__init__(url)
        import psycopg

        self.connect = psycopg.connect

    def open(self) -> Any:
        return self.connect(self.url, autocommit=True)

    def ask(self, conn: Any) -> Any:
        return conn.execute(ANSWER).fetchone()[0]

    def leave(self, conn: Any) -> None:
        conn.close()

    def query(self) -> Callable[[int], Rows]:
        cursor, statement = self.conn.cursor(binary=True), self.statement
        return lambda limit: cursor.execute(statement, (limit,), prepare=True).fetchall()

    def batch(self, asked: Sequence[int]) -> Rows:
        conn, statement, rows = self.conn, self.statement, Rows()
        with conn.pipeline():
            cursors = [conn.cursor(binary=True).execute(statement, (limit,), prepare=True) for limit in asked]
            for cursor in cursors:
                rows += cursor.fetchall()
        return rows

    def count(self, asked: Sequence[int]) -> int | None:
        cursor = self.conn.cursor(binary=True)
        cursor.executemany(self.statement, [(limit,) for limit in asked])
        return cursor.rowcount  # type: ignore[no-any-return]


class Pg8000(Client):
    """pg8000, pure Python: its native interface with a prepared statement."""

    package = "pg8000"
    statement = f"{SELECT}:number"
    skips = {"batch": NO_PIPELINE, "count": NO_PIPELINE, "clients": "it is blocking only"}

    def __init__(self, url: str) -> None:
        super().__init__(url)
        import pg8000.native

        self.connect = pg8000.native.Connection

    def open(self) -> Any:
        parts = urlsplit(self.url)
        return self.connect(parts.username or "postgres", database=parts.path[1:], unix_sock=socket_path(self.url))

    def ask(self, conn: Any) -> Any:
        return conn.run(ANSWER)[0][0]

    def leave(self, conn: Any) -> None:
        conn.close()

    def query(self) -> Callable[[int], Rows]:
        run = self._prepared().run
        return lambda limit: run(number=limit)

    def _prepared(self) -> Any:
        if not hasattr(self, "_statement"):
            self._statement = self.conn.prepare(self.statement)
        return self._statement


class Socket(Client):
    """A socket of Python's standard library and a page of code: what a process without any package connects by."""

    skips = dict.fromkeys(
        (name for name in WORKLOADS if not name.startswith("connect")), "it only connects and sends one query"
    )

    def open(self) -> socket.socket:
        parts = urlsplit(self.url)
        raw = socket.socket(socket.AF_UNIX)
        raw.connect(socket_path(self.url))
        body = struct.pack("!i", 196608) + f"user\0{parts.username}\0database\0{parts.path[1:]}\0\0".encode()
        raw.sendall(struct.pack("!i", len(body) + 4) + body)
        self._until_ready(raw)
        return raw

    def _until_ready(self, raw: socket.socket) -> bytes:
        reply = b""
        while not reply.endswith(READY):
            received = raw.recv(65_536)
            if not received:
                raise ConnectionError("the server closed the connection")
            reply += received
        return reply

    def ask(self, conn: socket.socket) -> Any:
        conn.sendall(query(ANSWER))
        reply = self._until_ready(conn)
        # DataRow with one column, whose two bytes are the last of the message.
        row = reply.index(b"D\0\0\0\x0c\0\1\0\0\0\2")
        return int(reply[row + 11 : row + 13])

    def leave(self, conn: socket.socket) -> None:
        conn.sendall(b"X\0\0\0\4")
        conn.close()


CLIENTS: Final[Mapping[str, Callable[[], type[Client]]]] = {
    "floor": lambda: Floor,
    "socket": lambda: Socket,
    "headrace": lambda: Headrace,
    "asyncpg": lambda: Asyncpg,
    "psycopg": lambda: Psycopg,
    "pg8000": lambda: Pg8000,
}
"""The clients in Python; their drivers are imported when they are made."""
