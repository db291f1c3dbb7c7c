"""Statements that are executed just when the broker takes the process of their session."""

from __future__ import annotations

from typing import Any

import headrace.aio.cubrid
import headrace.cubrid
from headrace import errors

INSERT = "insert into once values (?, ?)"


def is_first_release(conn: Any) -> bool:
    """Only a session that was not resumed before may end with a statement whose outcome is unknown."""
    return bool(conn.closed) and conn.resumed == 0


class Inserting:
    """One client, which inserts its number and another one. ``unknown`` has the rows of which it is not known whether
    they were stored."""

    def __init__(self, url: str, who: int, **settings: Any) -> None:
        self.url = url
        self.who = who
        self.settings = settings
        self.unknown = set[tuple[int, int]]()
        self.resumed = 0

    def insert(self, statements: int) -> None:
        """Executes each statement once, on one connection after the other."""
        n = 0
        while n < statements:
            conn = headrace.cubrid.connect(self.url, autocommit=True, **self.settings)
            while n < statements and not conn.closed:
                try:
                    conn.execute(INSERT, (self.who, n))
                except errors.ConnectionClosed:
                    self._lost(conn, n)
                n += 1
            self.resumed += conn.resumed
            conn.close()

    async def insert_async(self, statements: int) -> None:
        """The same on asyncio."""
        n = 0
        while n < statements:
            conn = await headrace.aio.cubrid.connect(self.url, autocommit=True, **self.settings)
            while n < statements and not conn.closed:
                try:
                    await conn.execute(INSERT, (self.who, n))
                except errors.ConnectionClosed:
                    self._lost(conn, n)
                n += 1
            self.resumed += conn.resumed
            await conn.close()

    def _lost(self, conn: Any, n: int) -> None:
        assert is_first_release(conn)
        self.unknown.add((self.who, n))
