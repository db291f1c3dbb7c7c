"""How a table or query of Informix is divided: by a key. Sessions cannot share a snapshot, and SQL cannot name a
fragment of a table."""

from __future__ import annotations

from typing import Any, Final

from .._shared.connection import BlockingConnection
from .._shared.planning import Planned, Request, Source, probed
from .names import NAMES as NAMES
from .parse import parse

QUOTE: Final = ""
MARK: Final = "?"
"""A parameter."""
STAGES: Final = False
"""A table can be created of a query, for rows that are not yet part of another one."""
MOVES: Final[tuple[str, ...]] = ()
"""Sent before rows move from a staging table."""
_NO_SNAPSHOT: Final = "sessions of Informix cannot share one"

address = parse
"""The settings of a URL."""

_KEYS: Final = """
SELECT c.colname FROM systables t, sysindexes i, syscolumns c
WHERE t.tabname = ? AND i.tabid = t.tabid AND i.idxtype = 'U' AND c.tabid = t.tabid AND c.colno = ABS(i.part1)
ORDER BY i.idxname
"""
"""The first columns of unique indexes; that of a primary key is one."""


def connecting(shared: bool) -> dict[str, Any]:
    """The keywords of ``connect`` for a plan, and for reading a partition."""
    return {"autocommit": True}


def beginning(snapshot: str | None) -> list[str]:
    """The statements before that of a partition."""
    return []


def plan(connection: BlockingConnection[Any], request: Request) -> tuple[Source, Planned]:
    """Divides a table or query."""
    source = Source(request, (request.table or "").strip(), QUOTE, MARK)

    def key(fields: list[tuple[Any, ...]]) -> str | None:
        return _table_key(connection, source.relation) if source.relation else None

    return source, probed(connection, source, key, _one, _NO_SNAPSHOT)


def _one(skipped: int) -> tuple[str, str]:
    return f"SKIP {skipped} FIRST 1 ", ""


def _table_key(connection: BlockingConnection[Any], table: str) -> str | None:
    name = table.rpartition(".")[2].rpartition(":")[2].strip('"')
    rows = connection.fetch(_KEYS, name.lower())
    return rows[0][0] if rows else None
