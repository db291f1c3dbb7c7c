"""What is read of Informix' system catalog in more than one place ("System Catalog Tables", IBM Informix Guide to SQL:
Reference)."""

from __future__ import annotations

import re
from collections import defaultdict
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

COLUMNS: Final = (
    "SELECT c.colname, c.coltype, c.collength, x.name, d.type, d.default "
    "FROM syscolumns c LEFT JOIN sysdefaults d ON d.tabid = c.tabid AND d.colno = c.colno "
    "LEFT JOIN sysxtdtypes x ON x.extended_id = c.extended_id WHERE c.tabid = ? ORDER BY c.colno"
)
"""The columns of a table: name, ``coltype``, length, extended type, kind and text of the default."""
CONSTRAINTS: Final = (
    "SELECT constrid, constrname, constrtype, idxname FROM sysconstraints "
    "WHERE tabid = ? AND constrtype IN ('P', 'U', 'R', 'C') ORDER BY constrname"
)
"""The constraints of a table: number, name, kind, index."""
REFERENCES: Final = (
    "SELECT r.constrid, r.delrule, r.ptabid, t.tabname, t.owner, p.idxname "
    "FROM sysreferences r, sysconstraints c, systables t, sysconstraints p "
    "WHERE c.tabid = ? AND r.constrid = c.constrid AND t.tabid = r.ptabid AND p.constrid = r.primary"
)
"""The foreign keys of a table: number, rule, and of the other table number, name, owner and index."""
CHECKS: Final = (
    "SELECT k.constrid, k.checktext FROM syschecks k, sysconstraints c "
    "WHERE c.tabid = ? AND k.constrid = c.constrid AND k.type = 'T' ORDER BY k.constrid, k.seqno"
)
"""The texts of the conditions of a table, for :func:`joined`."""
_CHECK_TEXT: Final = 32
"""Characters of a row of ``syschecks``: a text goes on in the next row, its blanks at the end of one may be lost."""
NOT_NULL: Final = 0x100
"""Of ``coltype``."""
KIND: Final = 0xFF
"""Of ``coltype``: the type."""
SERIALS: Final = (6, 18, 53)
"""SERIAL, SERIAL8 and BIGSERIAL."""
LONGEST_NAME: Final = 128
"""Bytes of the longest name of anything."""
LONGEST_VARCHAR: Final = 255
"""Bytes of the longest VARCHAR and NVARCHAR."""
ONE_ROW: Final = '(SELECT 1 AS n FROM "informix".systables WHERE tabid = 1) AS one_row'
"""A table of one row, for queries that read none: Informix has no SELECT without FROM."""
# A literal that is not a text has its binary form before it, in the letters of ESQL/C's 6-bit code.
WITH_BINARY: Final = re.compile(r"^[A-Za-z0-9+/_\-]{2,}\s+(?=[-+.\dDI])")

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


def checks(rows: Iterable[Sequence[Any]]) -> dict[int, str]:
    """The conditions by the numbers of their constraints, of what :data:`CHECKS` returns."""
    texts = defaultdict[int, str](str)
    for constraint, text in rows:
        texts[constraint] += text.ljust(_CHECK_TEXT)
    return {constraint: text.rstrip() for constraint, text in texts.items()}
