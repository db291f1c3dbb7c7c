"""What is known of CUBRID's SQL, and read of its catalogue, in more than one place: by SCHEMA_INFO, as CUBRID's own
drivers do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

LARGEST_LIMIT: Final = 2**62
"""Rows that no result has: an offset needs a limit beside it, and their sum is a BIGINT."""
LONGEST_NAME: Final = 254
"""Bytes of the longest name of a table, column or index."""
MOST_WHENS: Final = 390
"""Of a CASE, so that the server still evaluates it with what is around it: each is within the one before, 400 deep."""
DESCENDING: Final = "SELECT index_name, key_attr_name FROM db_index_key WHERE asc_desc = 'DESC' AND class_name = "
"""A query of the columns that descend in the indexes of a table, but for its name in lower case: the broker describes
all columns as ascending."""
_UNIQUE: Final = 0
_REVERSE_UNIQUE: Final = 2
"""``TYPE`` of SCHEMA_INFO's constraints; 1 and 3 are indexes that are not unique."""
_RULES: Final = {0: "CASCADE", 3: "SET NULL"}
"""What a foreign key does, but for RESTRICT and NO ACTION, one of which is in effect where nothing else is declared."""
_BY_QUERY: Final = ("columns", "primary_key", "tables", "view_query")
"""Kinds of SCHEMA_INFO for which the broker writes a query, with the name in quotes as it was given."""


class ForeignKey(NamedTuple):
    """A foreign key of a table."""

    name: str
    columns: list[str]
    table: str
    referred: list[str]
    on_update: str | None
    on_delete: str | None


class Index(NamedTuple):
    """An index, or a unique constraint, which is the same."""

    name: str
    columns: list[str]
    is_unique: bool


def bare(name: str) -> str:
    """A name without the owner before it, which servers from 11.2 on write."""
    return name.rpartition(".")[2]


def schema_info(connection: Any, kind: str, name: str, schema: str | None = None) -> list[Any]:
    """Rows of the catalogue.

    Args:
        connection: the driver's, or what has its method.
        kind: as for :meth:`headrace.cubrid.Connection.schema_info`.
        name: of the table.
        schema: its owner, or None.
    """
    if kind == "foreign_keys":
        # The broker's process of 11.3 replies with the error of an earlier request, which another table without keys
        # was enough for, unless a kind for which it writes a query was requested after that.
        schema_info(connection, "tables", "db_root")
    if kind in _BY_QUERY:
        name = name.replace("'", "''")
    found = connection.schema_info(kind, name if schema is None else f"{schema}.{name}")
    return list(found.fetchall()) if hasattr(found, "fetchall") else list(found)


def primary_key(rows: Iterable[Sequence[Any]]) -> tuple[str, list[str]] | None:
    """The name and the columns of a primary key, of the rows of ``primary_key``."""
    ordered = sorted(rows, key=lambda row: row[2])
    return (ordered[0][3], [column for _, column, _, _ in ordered]) if ordered else None


def foreign_keys(rows: Iterable[Sequence[Any]]) -> list[ForeignKey]:
    """The foreign keys, of the rows of ``foreign_keys``."""
    found: dict[str, ForeignKey] = {}
    for parent, referred, _, column, _, updating, deleting, name, _ in sorted(rows, key=lambda row: (row[7], row[4])):
        key = found.setdefault(name, ForeignKey(name, [], bare(parent), [], _RULES.get(updating), _RULES.get(deleting)))
        key.columns.append(column)
        key.referred.append(referred)
    return list(found.values())


def indexes(rows: Iterable[Sequence[Any]], foreign: Iterable[str]) -> list[Index]:
    """The indexes that are neither of a primary key nor of a foreign one.

    Args:
        rows: those of ``constraints``.
        foreign: the names of the foreign keys.
    """
    keys = set(foreign)
    found: dict[str, Index] = {}
    for kind, name, column, _, _, primary, *_ in sorted(rows, key=lambda row: (row[1], row[6])):
        if primary or name in keys or column is None:
            continue
        index = found.setdefault(name, Index(name, [], kind in (_UNIQUE, _REVERSE_UNIQUE)))
        index.columns.append(column)
    return list(found.values())
