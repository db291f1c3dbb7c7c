"""The steps of programs on PostgreSQL, and the ways in which headrace can do each. Data only, but for the ways."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Do:
    """A statement whose result does not matter."""

    sql: str
    way: str = "execute"


@dataclass(frozen=True)
class Other:
    """Statements of another session."""

    sql: str


@dataclass(frozen=True)
class Read:
    """A query. ``{p}`` in it is a condition that holds, with a parameter where the way has one."""

    sql: str
    way: str = "execute"
    params: tuple[Any, ...] = ()
    """For ``%s``, which Python's types decide."""
    size: int = 2
    name: str = "report"
    """Of the cursor, where the way has one."""


@dataclass(frozen=True)
class Write:
    """Rows into a table: what Python sends, and the same as literals for the oracle."""

    table: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    literals: tuple[tuple[str, ...], ...]
    way: str = "execute"
    all_columns: bool = False
    """True if these are all that can be written, in their order: COPY then has no list of columns."""


@dataclass(frozen=True)
class Express:
    """A statement with ``%s`` in expressions, for every row of parameters."""

    sql: str
    rows: tuple[tuple[Any, ...], ...]
    way: str = "execute"


@dataclass(frozen=True)
class Tx:
    """``commit``, ``rollback``, or a ``transaction()`` block: ``enter``, ``leave``, ``undo``."""

    what: str


@dataclass(frozen=True)
class Reset:
    """``Connection.reset``."""

    mode: str


@dataclass(frozen=True)
class Open:
    """A cursor with a name, which stays open."""

    name: str
    sql: str
    hold: bool = False


@dataclass(frozen=True)
class Fetch:
    """Some of its rows."""

    name: str
    count: int


@dataclass(frozen=True)
class Shut:
    """Closes it."""

    name: str


@dataclass(frozen=True)
class Interleave:
    """A stream, with a step after each row, until ``stop`` rows were read; it is then left."""

    sql: str
    steps: tuple[Any, ...] = ()
    size: int = 2
    stop: int = 3
    ending: str = "close"
    """``close``, ``drop`` (the last reference goes), or ``exhaust``: read to its end."""
    blocks: bool = False


def with_condition(sql: str, way: str) -> tuple[str, Any]:
    """A query's text and parameters for a way."""
    styles: dict[str, tuple[str, Any]] = {
        "dollar": ("$1::int = 1", (1,)),
        "percent": ("%s = 1", (1,)),
        "named": ("%(a)s = 1", {"a": 1}),
    }
    style = way.rpartition(":")[2]
    if "{p}" in sql and style in styles:
        condition, params = styles[style]
        return sql.replace("{p}", condition), params
    return sql.replace("{p}", "true"), None


def _all(cursor: Any) -> Any:
    return cursor.fetchall()


def _one_by_one(cursor: Any, size: int) -> list[Any]:
    out = []
    while (row := cursor.fetchone()) is not None:
        out.append(row)
    return out


def _in_blocks(cursor: Any, size: int) -> list[Any]:
    out = []
    while block := cursor.fetchmany(size):
        out += block
    return out


def _server_cursor(conn: Any, sql: str, params: Any, step: Read, hold: bool) -> list[Any]:
    with conn.cursor(step.name, withhold=hold) as cursor:
        cursor.itersize = step.size
        cursor.execute(sql, params)
        if step.size == 1:
            return list(cursor)
        return _in_blocks(cursor, step.size) if step.size == 2 else cursor.fetchall()  # type: ignore[no-any-return]


def _pipeline(conn: Any, sql: str, params: Any) -> Any:
    with conn.pipeline():
        before = conn.execute("select 1")
        cursor = conn.execute(sql, params)
        after = conn.execute("select 'x'::text")
        rows = cursor.fetchall()
    assert (before.fetchall(), after.fetchall()) == ([(1,)], [("x",)])
    return rows


def _cursor(conn: Any, sql: str, params: Any, fetch: Callable[[Any, int], list[Any]], size: int) -> list[Any]:
    with conn.cursor() as cursor:
        cursor.execute(sql, params)
        return fetch(cursor, size)


def _batch(conn: Any, sql: str, params: Any) -> list[Any]:
    cursor = conn.executemany(sql, [params or ()], returning=True)
    return cursor.fetchall()  # type: ignore[no-any-return]


def _flat(rows: Iterable[Any]) -> list[Any]:
    return [row for block in rows for row in block]


READS: dict[str, Callable[[Any, str, Any, Read], Any]] = {
    "execute": lambda c, sql, p, s: _all(c.execute(sql, p)),
    "iterate": lambda c, sql, p, s: list(c.execute(sql, p)),
    "one": lambda c, sql, p, s: _cursor(c, sql, p, _one_by_one, s.size),
    "blocks": lambda c, sql, p, s: _cursor(c, sql, p, _in_blocks, s.size),
    "fetch": lambda c, sql, p, s: c.fetch(sql, *(p.values() if isinstance(p, dict) else p or ())),
    "pipeline": lambda c, sql, p, s: _pipeline(c, sql, p),
    "many": lambda c, sql, p, s: _batch(c, sql, p),
    "fetchmany": lambda c, sql, p, s: c.fetchmany(sql, [p or ()]),
    "script": lambda c, sql, p, s: _all(c.executescript(sql)),
    "stream": lambda c, sql, p, s: list(c.stream(sql, p, fetch_size=s.size)),
    "stream_blocks": lambda c, sql, p, s: _flat(c.stream_blocks(sql, p, fetch_size=s.size)),
    "cursor": lambda c, sql, p, s: _server_cursor(c, sql, p, s, False),
    "hold": lambda c, sql, p, s: _server_cursor(c, sql, p, s, True),
    "copy_out": lambda c, sql, p, s: list(c.copy_out(sql)),
    "copy_table": lambda c, sql, p, s: list(c.copy_out(sql)),
}
"""How a query is read. A way may be followed by a style of parameters: ``fetch:dollar``."""
ANY_QUERY = ("execute", "iterate", "one", "blocks", "fetch", "pipeline", "stream", "many", "script")
"""Ways for statements that return rows, such as FETCH, EXECUTE, CALL."""
PARAMETERS = ("execute", "fetch", "pipeline", "many", "fetchmany", "stream", "stream_blocks", "cursor", "hold")
"""Ways that take parameters."""


def _each(run: Callable[[Any], Any], rows: Iterable[Any]) -> None:
    for row in rows:
        run(row)


def _piped(conn: Any, sql: str, rows: Iterable[Any]) -> None:
    with conn.pipeline():
        for row in rows:
            conn.execute(sql, row)


def _write_rows(conn: Any, step: Write) -> None:
    with conn.cursor() as cursor, cursor.copy(f"COPY {step.table} ({', '.join(step.columns)}) FROM STDIN") as copy:
        for row in step.rows:
            copy.write_row(row)


def _copy_in(conn: Any, step: Write, **keywords: Any) -> None:
    columns = None if step.all_columns else step.columns
    conn.copy_in(tuple(step.table.split(".")), list(step.rows), columns=columns, **keywords)


def insert(step: Write, style: str) -> str:
    """The INSERT of one row."""
    count = len(step.columns)
    places = {
        "%": ["%s"] * count,
        "$": [f"${i + 1}" for i in range(count)],
        "n": [f"%(c{i})s" for i in range(count)],
    }[style]
    return f"INSERT INTO {step.table} ({', '.join(step.columns)}) VALUES ({', '.join(places)})"


def _named(step: Write) -> list[dict[str, Any]]:
    return [{f"c{i}": value for i, value in enumerate(row)} for row in step.rows]


WRITES: dict[str, Callable[[Any, Write], Any]] = {
    "execute": lambda c, s: _each(lambda row: c.execute(insert(s, "%"), row), s.rows),
    "execute:dollar": lambda c, s: _each(lambda row: c.execute(insert(s, "$"), row), s.rows),
    "execute:named": lambda c, s: _each(lambda row: c.execute(insert(s, "n"), row), _named(s)),
    "many": lambda c, s: c.executemany(insert(s, "%"), s.rows),
    "many:dollar": lambda c, s: c.executemany(insert(s, "$"), s.rows),
    "many:named": lambda c, s: c.executemany(insert(s, "n"), _named(s)),
    "many:returning": lambda c, s: c.executemany(insert(s, "%") + " RETURNING 1", s.rows, returning=True),
    "pipeline": lambda c, s: _piped(c, insert(s, "%"), s.rows),
    "pipeline:dollar": lambda c, s: _piped(c, insert(s, "$"), s.rows),
    "copy_in": lambda c, s: _copy_in(c, s),
    "copy_text": lambda c, s: _copy_in(c, s, format="text"),
    "write_row": _write_rows,
}
BATCHES = ("many", "copy", "write_row")
"""Ways of writing that are all or none in autocommit: how their names begin."""

EXPRESSES: dict[str, Callable[[Any, Express], Any]] = {
    "execute": lambda c, s: _each(lambda row: c.execute(s.sql, row), s.rows),
    "many": lambda c, s: c.executemany(s.sql, s.rows),
    "returning": lambda c, s: c.executemany(s.sql + " RETURNING 1", s.rows, returning=True),
    "pipeline": lambda c, s: _piped(c, s.sql, s.rows),
    "cursor": lambda c, s: _each(lambda row: contextlib.closing(c.cursor().execute(s.sql, row)), s.rows),
}


def do(conn: Any, step: Do) -> None:
    """Executes a statement."""
    if step.way == "script":
        conn.executescript(step.sql)
    elif step.way == "pipeline":
        _piped(conn, step.sql, [None])
    else:
        conn.execute(step.sql)
