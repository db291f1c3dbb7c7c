"""How a table of PostgreSQL is divided by the places of its rows, and a query by a key, both in one snapshot."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from .. import errors
from .._shared.cursor_base import columns_of
from .._shared.partition import quoted
from .._shared.planning import AUTO, PLACE, Part, Planned, Request, Source, named_field, ranges
from ..errors import ProgrammingError
from .connection import Connection
from .names import NAMES as NAMES
from .parse import parse_text

QUOTE: Final = '"'
MARK: Final = "%s"
"""A parameter."""
STAGES: Final = True
"""A table can be created of a query, for rows that are not yet part of another one."""
STAGED: Final = "{} t"
"""What a staging table is created from."""
MOVES: Final[tuple[str, ...]] = ()
"""Sent before rows move from a staging table."""
PLACES: Final = "ctid"
_RANGE_SCANS: Final = 140000
"""The version since which the server reads a range of ctid without the rest of the table."""

address = parse_text
"""The settings of a URL."""


def connecting(shared: bool) -> dict[str, Any]:
    """The keywords of ``connect`` for reading a partition, or for a plan with a snapshot."""
    return {"autocommit": not shared}


def beginning(snapshot: str | None) -> list[str]:
    """The statements before that of a partition."""
    if snapshot is None:
        return []
    return [
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
        f"SET TRANSACTION SNAPSHOT '{snapshot}'",
    ]


def plan(connection: Connection[Any], request: Request) -> tuple[Source, Planned]:
    """Divides a table or query."""
    snapshot, remark = _snapshot(connection, request)
    relation = _relation(connection, request.table) if request.table is not None else None
    source = Source(request, relation.name if relation else "", QUOTE, MARK)
    by = request.by
    if relation is not None and by in (AUTO, PLACES):
        found = _by_places(connection, relation, request.count, by == PLACES)
        if found is not None:
            return source, Planned(PLACES, found, snapshot, remark)
    elif by == PLACES:
        raise ProgrammingError("by='ctid': only the rows of a table have a place")
    parts, by = _by_key(connection, source, relation, by)
    return source, Planned(by, parts, snapshot, remark)


def _snapshot(connection: Connection[Any], request: Request) -> tuple[str | None, str]:
    """The snapshot that all partitions share, and why there is none."""
    if request.shared:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    # Bounds are sent as text, which is to be that of every session.
    connection.execute("SET DateStyle = 'ISO'")
    connection.execute("SET IntervalStyle = 'postgres'")
    if not request.shared:
        return None, "none was wanted"
    # The transaction is idle for as long as the partitions are read.
    for name in ("idle_in_transaction_session_timeout", "transaction_timeout"):
        with contextlib.suppress(errors.DatabaseError), connection.transaction():
            connection.execute(f"SET LOCAL {name} = 0")
    try:
        # Not in a savepoint: a subtransaction cannot export one.
        return connection.fetchval("SELECT pg_catalog.pg_export_snapshot()"), ""
    except errors.DatabaseError as error:
        connection.rollback()
        return None, f"the server has none to share: {error.message}"


@dataclass(frozen=True)
class _Relation:
    """A table or view, with the tables that inherit from it."""

    oid: int
    name: str
    """As SQL has it, with its schema."""
    has_places: bool
    """All rows have a ctid."""
    has_range_scans: bool
    """The server can read the rows of a range of ctid alone."""
    is_table: bool
    pages: Sequence[int]
    """Of each of its tables."""
    rows: float | None
    """As estimated."""
    inherited: bool
    """Its rows are also those of other tables."""


_MEMBERS: Final = """
WITH RECURSIVE members AS (
    SELECT %s::oid AS oid
    UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN members m ON i.inhparent = m.oid
)
SELECT c.relkind::text, c.reltuples::float8,
    CASE WHEN c.relkind IN ('r', 'm', 't')
        THEN pg_catalog.pg_relation_size(c.oid) / pg_catalog.current_setting('block_size')::bigint END
FROM members JOIN pg_catalog.pg_class c USING (oid)
"""


def _relation(connection: Connection[Any], table: str) -> _Relation:
    found: Any = connection.fetchrow(
        "SELECT c.oid, pg_catalog.format('%%I.%%I', n.nspname, c.relname), c.relkind::text, c.relpersistence::text, "
        "pg_catalog.current_setting('server_version_num')::int "
        "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        "WHERE c.oid = %s::regclass",
        table,
    )
    oid, name, kind, persistence, version = found
    if persistence == "t":
        raise ProgrammingError(f"{table} is a temporary table, which other connections cannot read")
    members: list[Any] = connection.fetch(_MEMBERS, oid)
    rows = [rows for kind, rows, _ in members if kind != "p"]
    return _Relation(
        oid=oid,
        name=name,
        has_places=all(kind in ("r", "p", "m", "t") for kind, _, _ in members),
        has_range_scans=version >= _RANGE_SCANS,
        is_table=kind in ("r", "p"),
        pages=[pages for _, _, pages in members if pages],
        rows=None if any(each < 0 for each in rows) else sum(rows),
        inherited=len(members) > 1,
    )


def _by_places(connection: Connection[Any], relation: _Relation, count: int, is_wanted: bool) -> list[Part] | None:
    """Ranges of ctid, in each of which all tables of an inheritance or partitioning have together as many pages. None
    if it cannot be divided in this way, or a key is better."""
    if not relation.has_places:
        if is_wanted:
            raise ProgrammingError("by='ctid': it is not a table, or a part of it is a foreign table")
        return None
    if not relation.has_range_scans and not is_wanted:
        # Each partition would read the whole table.
        return None
    total = sum(relation.pages)
    cuts = [0]
    for number in range(1, count):
        cut = _page(relation.pages, number * total / count)
        if cut > cuts[-1] and _before(relation.pages, cut) < total:
            cuts.append(cut)
    bounds = [f"({cut},0)" for cut in cuts[1:]]
    if not bounds:
        return [Part("", (), None if relation.rows is None else int(relation.rows))]
    rows: list[int | None] = [None] * (len(bounds) + 1)
    if relation.rows is not None:
        before = [_before(relation.pages, cut) for cut in cuts]
        rows = [
            int(relation.rows * (end - start) / total) for start, end in zip(before, [*before[1:], total], strict=True)
        ]
    return ranges(PLACES, f"{PLACE}::pg_catalog.tid", bounds, rows)


def _before(pages: Sequence[int], cut: int) -> int:
    """The pages of all tables before the one of this number."""
    return sum(min(each, cut) for each in pages)


def _page(pages: Sequence[int], share: float) -> int:
    """The first page with at least so many pages before it, in all tables."""
    low, high = 0, max(pages, default=0)
    while low < high:
        middle = (low + high) // 2
        if _before(pages, middle) < share:
            low = middle + 1
        else:
            high = middle
    return low


# by a key

_TABLE: Final = 5
_NUMBER: Final = 6
"""The places in a field of the column's table and of its number in it."""

_VIEWS: Final = 8
"""Views of views that are looked through."""

_CANDIDATES: Final = """
SELECT c.place
FROM unnest(%s::int[], %s::oid[], %s::int2[]) AS c (place, relation, number)
JOIN pg_catalog.pg_class t ON t.oid = c.relation
JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.relation AND a.attnum = c.number
LEFT JOIN LATERAL (
    SELECT bool_or(i.indisunique AND i.indnkeyatts = 1 AND i.indpred IS NULL) AS is_unique
    FROM pg_catalog.pg_index i
    JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
    JOIN pg_catalog.pg_am m ON m.oid = x.relam
    WHERE i.indrelid = c.relation AND i.indkey[0] = c.number AND i.indisvalid AND m.amname = 'btree'
) i ON true
LEFT JOIN LATERAL (
    SELECT max(CASE WHEN s.n_distinct < 0 THEN -s.n_distinct * greatest(t.reltuples, 1) ELSE s.n_distinct END) AS many
    FROM pg_catalog.pg_stats s
    WHERE s.schemaname = n.nspname AND s.tablename = t.relname AND s.attname = a.attname
        AND s.histogram_bounds IS NOT NULL
) s ON true
WHERE i.is_unique IS NOT NULL OR s.many > 1
ORDER BY coalesce(i.is_unique, false) DESC, i.is_unique IS NULL, s.many DESC NULLS LAST, c.place
LIMIT 1
"""
"""Of the columns of a result the one to divide by: a unique key, else one with an index, else one with many values."""

_SPREAD: Final = """
SELECT CASE WHEN k.oid IS NOT NULL THEN pg_catalog.format('%%I.%%I', l.nspname, k.collname) END, a.attnotnull,
    s.null_frac::float8, c.reltuples::float8,
    s.histogram_bounds::text::text[], s.most_common_vals::text::text[], s.most_common_freqs::float8[]
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_collation k ON k.oid = a.attcollation
LEFT JOIN pg_catalog.pg_namespace l ON l.oid = k.collnamespace
LEFT JOIN pg_catalog.pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname AND s.attname = a.attname
WHERE a.attrelid = %s::oid AND a.attnum = %s::int2
ORDER BY s.inherited DESC NULLS LAST
LIMIT 1
"""
"""What the statistics have of a column: of a table with others that inherit from it those of all of them."""


def _by_key(connection: Connection[Any], source: Source, relation: _Relation | None, by: str) -> tuple[list[Part], str]:
    fields = source.describe(connection, None)[1]
    if by == AUTO:
        names = [field[0] for field in fields]
        unique = [place for place, name in enumerate(names) if names.count(name) == 1]
        origins = [_origin(connection, fields[place]) for place in unique]
        tables, numbers = [table for table, _ in origins], [number for _, number in origins]
        place: int | None = connection.fetchval(_CANDIDATES, unique, tables, numbers)
        if place is None:
            return [Part("", ())], ""
        field = fields[place]
    else:
        field = named_field(fields, by)
    name = field[0]
    table_oid, number = _origin(connection, field)
    found: Any = connection.fetchrow(
        "SELECT pg_catalog.format_type(t.oid, -1), t.typtype = 'c' OR t.typname = 'record' "
        "FROM pg_catalog.pg_type t WHERE t.oid = %s::oid",
        field[1],
    )
    type_name, is_composite = found
    spread: Any = connection.fetchrow(_SPREAD, table_oid, number) if table_oid else None
    nullable = not (relation is not None and relation.is_table and spread is not None and spread[1])
    bounds, rows = _spread_bounds(connection, spread, type_name, source.request.count) if spread else ([], [])
    if not bounds:
        bounds, rows = _exact_bounds(connection, source, name), []
    key = quoted(name, QUOTE)
    # A composite value of nulls IS NULL, too, and one with a null is neither NULL nor NOT NULL.
    is_null = "IS NOT DISTINCT FROM NULL" if is_composite else "IS NULL"
    is_not_null = "IS DISTINCT FROM NULL" if is_composite else "IS NOT NULL"
    parts = ranges(key, f"{PLACE}::{type_name}", bounds, rows or None, is_not_null)
    if nullable:
        parts.append(Part(f"{key} {is_null}", ()))
    elif not bounds:
        parts = [Part("", ())]
    return parts, name


def _origin(connection: Connection[Any], field: tuple[Any, ...]) -> tuple[int, int]:
    """The table of a column and its number in it, also through views, which have neither statistics nor keys; zeros for
    an expression."""
    for _ in range(_VIEWS):
        table_oid, number = field[_TABLE], field[_NUMBER]
        definition: str | None = None
        if table_oid and number > 0:
            definition = connection.fetchval(
                "SELECT pg_catalog.pg_get_viewdef(oid) FROM pg_catalog.pg_class WHERE oid = %s::oid AND relkind = 'v'",
                table_oid,
            )
        if definition is None:
            return table_oid, number
        try:
            with connection.transaction():
                query = f"SELECT * FROM ({definition.rstrip().rstrip(';')}\n) p WHERE false"
                result = connection._wait(connection._core.submit(query, None), None)
        except errors.DatabaseError:
            # Who may read a view may not be allowed to read what it is made of.
            return 0, 0
        field = columns_of(result).fields[number - 1]
    return 0, 0


def _spread_bounds(
    connection: Connection[Any], spread: Any, type_name: str, count: int
) -> tuple[list[str], list[int | None]]:
    """Bounds between which there are about as many rows, by the statistics, and how many; empty without statistics."""
    collation, _, null_share, all_rows = spread[:4]
    histogram: list[str] = spread[4] or []
    commons: list[str] = spread[5] or []
    frequencies: list[float] = spread[6] or []
    if len(histogram) + len(commons) < 2:
        return [], []
    step = max(0.0, 1 - null_share - sum(frequencies)) / max(1, len(histogram) - 1)
    # In the order of the column, which is the server's. Of equal values, that of the histogram goes first.
    order = f"v::{type_name}" + (f" COLLATE {collation}" if collation else "")
    entries: list[Any] = connection.fetch(
        f"SELECT v, f FROM unnest(%s::text[], %s::float8[]) AS e (v, f) ORDER BY {order}, f",
        [*histogram, *commons],
        [-1.0] * len(histogram) + frequencies,
    )
    bounds: list[str] = []
    shares: list[float] = []
    total = 1 - null_share
    below = taken = 0.0
    first = True
    for value, frequency in entries:
        if frequency < 0:
            below += 0.0 if first else step
            first = False
        if below >= (len(bounds) + 1) * total / count and below > taken and len(bounds) < count - 1:
            bounds.append(value)
            shares.append(below - taken)
            taken = below
        if frequency >= 0:
            below += frequency
    shares.append(max(0.0, total - taken))
    if all_rows is None or all_rows < 0:
        return bounds, [None] * len(shares)
    return bounds, [int(share * all_rows) for share in shares]


def _exact_bounds(connection: Connection[Any], source: Source, name: str) -> list[str]:
    """Bounds between which there are as many rows, by sorting all values: what nothing is known of is read once."""
    count = source.request.count
    shares = [number / count for number in range(1, count)]
    if not shares:
        return []
    text, given = source.text("", (), tuple(shares))
    key = quoted(name, QUOTE).replace("%", "%%")
    # One sort for all: their arguments do not differ.
    each = f"(pg_catalog.percentile_disc(%s::float8) WITHIN GROUP (ORDER BY {key}))::text"
    found: Any = connection.fetchrow(f"SELECT {', '.join([each] * len(shares))} FROM {text}", *given)
    return [value for value in dict.fromkeys(found) if value is not None]
