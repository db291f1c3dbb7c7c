"""How a table or query of MySQL or MariaDB is divided: by a key. Sessions cannot share a snapshot."""

from __future__ import annotations

import re
from typing import Any, Final

from .._shared.connection import BlockingConnection
from .._shared.planning import Planned, Request, Source, probed
from ..errors import ProgrammingError
from .names import NAMES as NAMES
from .settings import url_settings

QUOTE: Final = "`"
MARK: Final = "%s"
"""A parameter."""
STAGES: Final = True
"""A table can be created of a query, for rows that are not yet part of another one."""
STAGED: Final = "(SELECT 1 AS one) o LEFT JOIN {} t ON 1 = 0"
"""What a staging table is created from. The columns of an outer join may be NULL: a default that is an expression is
not that of the new table, so that a column with NOT NULL would need a value."""
MOVES: Final[tuple[str, ...]] = ("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",)
"""Sent before rows move from a staging table: an attempt that still writes must not be waited for."""
_PRIMARY: Final = 2
"""The flag of a column that is part of a primary key (PRI_KEY_FLAG)."""
_NO_SNAPSHOT: Final = "sessions of MySQL and MariaDB cannot share one"
_IS_NULL: Final = "<=> NULL"
"""Of a column that is NOT NULL, the date 0000-00-00 IS NULL, too: MySQL manual, "Comparison Functions"."""
_NAME: Final = re.compile(r"(?:(`(?:[^`]|``)+`|[\w$]+)\s*\.\s*)?(`(?:[^`]|``)+`|[\w$]+)")

address = url_settings
"""The settings of a URL."""

_KEYS: Final = """
SELECT column_name FROM information_schema.statistics
WHERE table_schema = COALESCE(%s, DATABASE()) AND table_name = %s AND seq_in_index = 1 AND column_name IS NOT NULL
    AND sub_part IS NULL AND index_type = 'BTREE'
ORDER BY index_name = 'PRIMARY' DESC, non_unique, cardinality DESC
LIMIT 1
"""
"""The first column of the primary key, else of a unique index, else of another one."""


def connecting(shared: bool) -> dict[str, Any]:
    """The keywords of ``connect`` for a plan, and for reading a partition."""
    return {"autocommit": True}


def beginning(snapshot: str | None) -> list[str]:
    """The statements before that of a partition."""
    return []


def plan(connection: BlockingConnection[Any], request: Request) -> tuple[Source, Planned]:
    """Divides a table or query."""
    source = Source(request, (request.table or "").strip(), QUOTE, MARK, _IS_NULL)

    def key(fields: list[tuple[Any, ...]]) -> str | None:
        return _table_key(connection, source.relation) if source.relation else _query_key(fields)

    return source, probed(connection, source, key, _one, _NO_SNAPSHOT)


def _one(skipped: int) -> tuple[str, str]:
    return "", f" LIMIT 1 OFFSET {skipped}"


def _table_key(connection: BlockingConnection[Any], table: str) -> str | None:
    found = _NAME.fullmatch(table)
    if found is None:
        raise ProgrammingError(f"table={table!r} is not the name of a table: use query for anything else")
    schema, name = (each[1:-1].replace("``", "`") if each and each[0] == "`" else each for each in found.groups())
    return connection.fetchval(_KEYS, schema, name)  # type: ignore[no-any-return]


def _query_key(fields: list[tuple[Any, ...]]) -> str | None:
    """A column that is part of a primary key, of those that can be named."""
    names = [field[0] for field in fields]
    return next((field[0] for field in fields if field[3] & _PRIMARY and names.count(field[0]) == 1), None)
