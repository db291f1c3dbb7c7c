"""What is read of Informix' system catalog in more than one place ("System Catalog Tables", IBM Informix Guide to SQL:
Reference)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

FIRST_OWN: Final = 100
"""The number of the first table that is not the catalog's."""
_PARTS: Final = 16
"""Columns of an index that ``sysindexes`` has."""
COLUMN_NAMES: Final = "SELECT colno, colname FROM syscolumns WHERE tabid = ?"
"""The numbers and names of a table's columns."""
INDEXES: Final = (
    f"SELECT idxname, idxtype, {', '.join(f'part{part}' for part in range(1, _PARTS + 1))} FROM sysindexes "
    "WHERE tabid = ? ORDER BY idxname"
)
"""The indexes of a table, for :func:`indexes`."""

Indexes = dict[str, tuple[str, list[tuple[str, bool]]]]
"""By the name of an index its kind (``idxtype``), and its columns, each with whether it descends."""


def indexes(names: Mapping[int, str], rows: Iterable[Sequence[Any]]) -> Indexes:
    """The indexes of a table.

    Args:
        names: the columns of the table, what :data:`COLUMN_NAMES` returns.
        rows: what :data:`INDEXES` returns.
    """
    return {
        name: (kind, [(names[abs(part)], part < 0) for part in parts if part and abs(part) in names])
        for name, kind, *parts in rows
    }
