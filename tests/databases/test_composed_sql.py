"""A literal is the value that a parameter would be, an identifier is the name, and a statement of ``headrace.sql`` is
taken wherever a text is."""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Callable
from typing import Any

import pytest

from headrace import errors, sql
from headrace.pool import ConnectionPool
from headrace.sql import SQL, Identifier, Literal, Placeholder
from headrace.types import Json
from servers import Database

TEXTS = [
    "",
    "it's",
    "''",
    "'; drop table composed; --",
    "100%",
    "%s %(name)s %%",
    "a ? and $1 and :1",
    'double " quotes',
    "/* no comment */ -- nor this",
    "größer",
]
BACKSLASHES = ["\\", "a\\'b", "\\\\' or 1=1 --", "\\x41", "end\\"]
NUMBERS = [0, 1, -1, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63) + 1]
DECIMALS = [decimal.Decimal(text) for text in ("0", "1.50", "-0.01", "12345678901234.123456", "1E+3", "-2E-3")]
FLOATS = [0.0, 1.5, -0.1, 1e300, -1e-300, 123456789.125, 5e-5]
DATES = [datetime.date(1, 1, 1), datetime.date(2026, 11, 29), datetime.date(9999, 12, 31)]
TIMESTAMPS = [datetime.datetime(2026, 11, 29, 8, 5), datetime.datetime(1999, 12, 31, 23, 59, 59, 120000)]

COLUMNS: dict[str, dict[str, tuple[str, list[Any]]]] = {
    "postgresql": {
        "text": ("text", [*TEXTS, *BACKSLASHES, "new\nline"]),
        "bigint": ("bigint", NUMBERS),
        "numeric": ("numeric", [*DECIMALS, decimal.Decimal("NaN"), 10**60]),
        "float8": ("float8", [*FLOATS, math.inf]),
        "bool": ("bool", [True, False]),
        "bytea": ("bytea", [b"", b"\x00\xff'\\"]),
        "date": ("date", DATES),
        "timestamp": ("timestamp", TIMESTAMPS),
        "timestamptz": ("timestamptz", [moment.replace(tzinfo=datetime.UTC) for moment in TIMESTAMPS]),
        "interval": ("interval", [datetime.timedelta(days=-3, seconds=5, microseconds=7)]),
        "texts": ("text[]", [["a'b", 'c"d', "\\", None, "null", ""], []]),
        "ints": ("int[]", [[1, 2, -3], [[1], [2]]]),
        "jsonb": ("jsonb", [Json({"it's": ["\\", "%"]})]),
    },
    "mysql": {
        "text": ("varchar(100) charset utf8mb4", [*TEXTS, *BACKSLASHES, "new\nline"]),
        "bigint": ("bigint", NUMBERS),
        "numeric": ("decimal(30, 8)", DECIMALS),
        "float8": ("double", FLOATS),
        "bool": ("bool", [True, False]),
        "blob": ("blob", [b"", b"\x00\xff'\\", b"\xff'"]),
        "date": ("date", DATES),
        "timestamp": ("datetime(6)", TIMESTAMPS),
        "time": ("time(6)", [datetime.timedelta(hours=-30, seconds=5, microseconds=7)]),
        "json": ("json", [Json({"it's": ["%"]})]),
    },
    "informix": {
        "text": ("lvarchar(200)", [text for text in TEXTS if text]),
        "bigint": ("bigint", NUMBERS),
        "numeric": ("decimal(30, 8)", DECIMALS),
        # A literal with an exponent is a DECIMAL first, whose exponents end at 124.
        "float8": ("float", [value for value in FLOATS if not value or 1e-124 < abs(value) < 1e124]),
        "bool": ("boolean", [True, False]),
        "date": ("date", DATES),
        "timestamp": ("datetime year to fraction(5)", TIMESTAMPS),
    },
    "cubrid": {
        "text": ("varchar(100)", [text for text in TEXTS if text] + BACKSLASHES),
        "bigint": ("bigint", NUMBERS),
        "numeric": ("numeric(30, 8)", DECIMALS),
        "float8": ("double", FLOATS),
        "blob": ("bit varying(800)", [b"\x00\xff'\\"]),
        "date": ("date", DATES),
        "timestamp": ("datetime", TIMESTAMPS),
        "set": ("set(int)", [{1, 2}]),
    },
}
"""By driver and a name: a type of columns, and values."""


@pytest.fixture
def conn(any_db: Database) -> Any:
    with any_db.connect(autocommit=True) as connection:
        connection.execute("drop table if exists composed")
        yield connection
        connection.execute("drop table if exists composed")


def test_literal_is_the_value_of_the_parameter(any_db: Database, conn: Any) -> None:
    for kind, values in COLUMNS[any_db.kind].values():
        conn.execute("drop table if exists composed")
        conn.execute(f"create table composed (n int, v {kind})")
        for n, value in enumerate([*values, None]):
            conn.execute(f"insert into composed values ({any_db.marks(2)})", (2 * n, value))
            conn.execute(SQL("insert into composed values ({}, {})").format(2 * n + 1, value))
        read = conn.fetch("select n, v from composed order by n")
        for (_, parameter), (n, literal) in zip(read[::2], read[1::2], strict=True):
            assert repr(literal) == repr(parameter), (kind, [*values, None][n // 2])


def hostile_names(database: Database) -> list[str]:
    if database.quote is None:
        return ["plain_name"]
    # CUBRID's processes count the parameters of a statement as if its names had no quotes.
    more = ["it's", 'a"b', "a`b"] if database.supports_question_mark_names else []
    return ["select", "a b", "per%cent", "%s", *more]


def test_identifier_is_the_name(any_db: Database, conn: Any) -> None:
    for name in hostile_names(any_db):
        conn.execute(SQL("create table composed ({} int)").format(Identifier(name)))
        insert = SQL("insert into composed ({}) values ({})").format(Identifier(name), Placeholder())
        conn.execute(insert, (1,))
        conn.executemany(insert, [(2,), (3,)])
        cursor = conn.execute(SQL("select {0} from composed order by {0}").format(Identifier(name)))
        assert cursor.description[0][0] == name
        assert cursor.fetchall() == [(1,), (2,), (3,)]
        conn.execute("drop table composed")


def test_identifier_of_parts_and_its_limits(any_db: Database, conn: Any) -> None:
    parts = SQL("select {}, {} from composed").format(Identifier("composed", "n"), Literal(1))
    conn.execute("create table composed (n int)")
    conn.execute("insert into composed values (7)")
    assert conn.fetchrow(parts) == (7, 1)
    for name in ("", "nul\0", any_db.longest_name + "n"):
        with pytest.raises(errors.ProgrammingError):
            conn.execute(SQL("select {} from composed").format(Identifier(name)))
    assert conn.fetchval("select n from composed") == 7


def select(database: Database) -> tuple[Any, Any]:
    """The rows 1 to 3 that are more than a parameter, and its value."""
    return SQL("select n from composed where n > {} order by n").format(Placeholder()), (1,)


WAYS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "execute": lambda conn, query, params: conn.execute(query, params).fetchall(),
    "a cursor": lambda conn, query, params: conn.cursor().execute(query, params).fetchall(),
    "fetch": lambda conn, query, params: conn.fetch(query, *params),
    "fetchmany": lambda conn, query, params: conn.fetchmany(query, [params]),
    "stream": lambda conn, query, params: list(conn.stream(query, params)),
    "fetchrow": lambda conn, query, params: [conn.fetchrow(query, *params), (3,)],
    "fetchval": lambda conn, query, params: [(conn.fetchval(query, *params),), (3,)],
}


def filled(conn: Any, database: Database) -> None:
    conn.execute("create table composed (n int)")
    conn.executemany(f"insert into composed values ({database.mark})", [(n,) for n in (1, 2, 3)])


def test_statement_is_taken_in_every_way(any_db: Database, conn: Any) -> None:
    filled(conn, any_db)
    query, params = select(any_db)
    for way, read in WAYS.items():
        assert list(read(conn, query, params)) == [(2,), (3,)], way
    with any_db.connect() as later:
        for keywords in any_db.cursors_that_fetch_later:
            cursor = later.cursor(**keywords)
            cursor.execute(query, params)
            assert cursor.fetchall() == [(2,), (3,)], keywords
            cursor.close()
    with conn.pipeline():
        ahead = conn.execute(query, params)
    assert ahead.fetchall() == [(2,), (3,)]
    with ConnectionPool(any_db.url, min_size=1, max_size=1) as lent:
        assert lent.fetch(query, *params) == [(2,), (3,)]
    script = conn.executescript if hasattr(conn, "executescript") else conn.execute
    script(SQL("delete from composed where n = {}").format(2))
    assert conn.fetch("select n from composed order by n") == [(1,), (3,)]


async def test_statement_is_taken_by_asyncio(any_db: Database, conn: Any) -> None:
    filled(conn, any_db)
    query, params = select(any_db)
    async with await any_db.aconnect(autocommit=True) as aconn:
        assert await aconn.fetch(query, *params) == [(2,), (3,)]
        assert [row async for row in aconn.stream(query, params)] == [(2,), (3,)]
        assert await (await aconn.execute(query, params)).fetchall() == [(2,), (3,)]


def test_percent_sign_is_itself(any_db: Database, conn: Any) -> None:
    """Beside parameters of either style, and without any."""
    conn.execute("create table composed (n int, v varchar(20))")
    piece = Literal("100%s %%")
    conn.execute(SQL("insert into composed values (1, {})").format(piece))
    conn.execute(SQL("insert into composed values ({}, {})").format(Placeholder(), piece), (2,))
    conn.executemany(SQL("insert into composed values ({}, {})").format(Placeholder(), piece), [(3,), (4,)])
    own = any_db.native_marks(1)[0]
    conn.execute(SQL(f"insert into composed values ({own}, {{}})").format(piece), (5,))
    named = SQL("insert into composed values ({}, {})").format(Placeholder("n"), piece)
    if any_db.mark == "?":
        with pytest.raises(errors.ProgrammingError, match="have no names"):
            conn.execute(named, {"n": 6})
    else:
        conn.execute(named, {"n": 6})
    assert conn.fetch("select distinct v from composed") == [("100%s %%",)]


def test_dumpers_and_what_has_no_literal(any_db: Database, conn: Any) -> None:
    if any_db.kind != "postgresql":
        for number in ("NaN", "-Infinity"):
            with pytest.raises(errors.DataError):
                sql.quote(decimal.Decimal(number), conn)
    with pytest.raises(errors.Error, match=r"object"):
        sql.quote(object(), conn)
    assert conn.fetchval(any_db.one) == 1
    with pytest.raises(TypeError, match="SQL is str, not int"):
        conn.execute(1)
