"""How a table or query of CUBRID is divided: by a key. Sessions cannot share a snapshot."""

from __future__ import annotations

from typing import Any, Final

from .._shared.planning import Planned, Request, Source, probed
from .connection import Connection
from .names import NAMES as NAMES
from .parse import parse

QUOTE: Final = "`"
MARK: Final = "?"
"""A parameter."""
STAGES: Final = True
"""A table can be created of a query, for rows that are not yet part of another one."""
STAGED: Final = "{} t"
"""What a staging table is created from."""
MOVES: Final[tuple[str, ...]] = ()
"""Sent before rows move from a staging table."""
_NO_SNAPSHOT: Final = "sessions of CUBRID cannot share one"

address = parse
"""The settings of a URL."""


def connecting(shared: bool) -> dict[str, Any]:
    """The keywords of ``connect`` for a plan, and for reading a partition."""
    return {"autocommit": True}


def beginning(snapshot: str | None) -> list[str]:
    """The statements before that of a partition."""
    return []


def plan(connection: Connection[Any], request: Request) -> tuple[Source, Planned]:
    """Divides a table or query."""
    source = Source(request, (request.table or "").strip(), QUOTE, MARK)

    def key(fields: list[tuple[Any, ...]]) -> str | None:
        return _table_key(connection, source.relation) if source.relation else None

    return source, probed(connection, source, key, _one, _NO_SNAPSHOT)


def _one(skipped: int) -> tuple[str, str]:
    return "", f" LIMIT 1 OFFSET {skipped}"


def _table_key(connection: Connection[Any], table: str) -> str | None:
    """The first column of the primary key."""
    name = table.rpartition(".")[2].strip('`"[]')
    cursor = connection.schema_info("primary_key", name)
    columns = [str(column[0]).upper() for column in cursor.description or ()]
    keys = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
    return min(keys, key=lambda each: int(each["KEY_SEQ"]))["ATTR_NAME"] if keys else None
