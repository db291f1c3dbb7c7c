"""The databases on which the company meets, and the statements that differ."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from headrace import errors
from headrace_lab.differences import Differences

from .shells import Shell
from .worker import Chosen

_made: set[tuple[str, str]] = set()
"""The databases that were made, by the URL of the first one and their names."""


def _of_database(url: str, name: str) -> str:
    return re.sub(r"(:\d+/)\w+", rf"\g<1>{name}", url, count=1)


@dataclass(frozen=True)
class Place:
    """A server, and statements that mean the same everywhere."""

    name: str
    differences: Differences
    url: str
    schema: tuple[str, ...]
    """Statements that make its tables, in the place of any of the same names."""
    marked: Callable[[int], str]
    """A query for rows of its parameter, a text, and the numbers from 1 to one given."""
    slow: str
    """Inserts a row of a worker and a number, and takes its time."""
    operations: dict[str, Chosen]
    """What only this database has."""
    refusals: tuple[tuple[str, type[Exception], str], ...] = ()
    """Shell (or ``""``), class and words of the documented errors by which one use refuses another."""
    cancelled: type[Exception] = errors.QueryCanceled
    """What is raised for a statement that was cancelled."""
    keywords: dict[str, Any] = field(default_factory=dict[str, Any])
    """For ``connect``."""
    other: Callable[[], str] | None = None
    """The URL of another server of the same kind, where no database can be created by a statement."""
    create: str = "create database {}"
    """The statement that creates a database, or what else has tables of its own."""
    within: Callable[[str, str], tuple[str, dict[str, Any]]] = lambda url, name: (_of_database(url, name), {})
    """The URL and the keywords for it, by the URL of the first and the name."""
    numbers: int = 0
    """Rows of the table ``numbers``; 0 where there is none."""
    long_login: bool = False
    """The answer to the login is so long that it drips for a second."""
    sessions: Callable[[Any], int] | None = None
    """How many sessions the server has, by a connection; None where it does not tell."""
    statements: Callable[[Any], int] | None = None
    """How many prepared statements the session has, or the server; None where it does not tell."""
    slow_answer: tuple[str, str] = ("", "")
    """A query that takes 20 ms, and its result if it is not interrupted."""
    holdable: tuple[tuple[str, ...], dict[str, Any]] = (("named",), {})
    """The arguments of ``cursor()`` for one that is read piece by piece."""

    @property
    def kind(self) -> str:
        """Which driver."""
        return self.differences.driver

    @property
    def mark(self) -> str:
        """A parameter."""
        return self.differences.mark

    @property
    def insert(self) -> str:
        """Inserts one row."""
        return f"insert into company values ({self.mark}, {self.mark}, {self.mark})"

    def is_refusal(self, error: Exception, shell: Shell) -> bool:
        """Returns true if it is a documented refusal, which changed nothing."""
        return any(
            where in ("", shell.name) and type(error) is kind and str(error).startswith(words)
            for where, kind, words in self.refusals
        )

    async def connect(self, shell: Shell, **keywords: Any) -> Any:
        """A connection in autocommit."""
        return await shell.connect(self.url, **{"autocommit": True, **self.keywords, **keywords})

    async def apart(self, shell: Shell, number: int) -> Place:
        """The same with tables of its own, for one of many that would else wait for one another's rows. What has the
        same number has the same database, one after the other."""
        if self.other is not None:
            made = replace(self, url=self.other())
            await made.prepare(shell)
            return made
        name = f"apart_{number}"
        if (self.url, name) not in _made:
            admin = await self.connect(shell)
            await admin.execute(self.create.format(name))
            await admin.close()
            _made.add((self.url, name))
        url, keywords = self.within(self.url, name)
        made = replace(self, url=url, keywords={**self.keywords, **keywords})
        await made.prepare(shell)
        return made

    async def prepare(self, shell: Shell) -> None:
        """Makes the tables. The one of numbers, which nobody changes, stays where it is."""
        conn = await self.connect(shell)
        for sql in self.schema:
            await conn.execute(sql)
        if self.numbers and not await self._has_numbers(conn):
            await conn.execute("drop table if exists numbers")
            await conn.execute("create table numbers (n int primary key)")
            await conn.executemany("insert into numbers values (?)", [(n,) for n in range(1, self.numbers + 1)])
        await conn.close()

    async def _has_numbers(self, conn: Any) -> bool:
        try:
            return (await (await conn.execute("select count(*) from numbers")).fetchall()) == [(self.numbers,)]
        except errors.DatabaseError:
            return False
