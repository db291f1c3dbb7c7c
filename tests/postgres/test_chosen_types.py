"""Types that the server chose for parameters are chosen again when a table has changed: it keeps them in silence."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

import headrace

from .conftest import Connect

NOON = dt.datetime(2020, 1, 1, 12)
Case = tuple[str, Any, str, Any, str]
CHANGES: list[Case] = [
    ("timestamp", NOON, "timestamptz", NOON, "2020-01-01 21:00:00+09"),
    ("float4", 0.5, "float8", 0.1, "0.1"),
    ("bytea", b"a", "text", "a", "a"),
    ("inet", "127.0.0.1", "text", "127.0.0.1/33", "127.0.0.1/33"),
    ("int4", 1, "int8", 2**40, "1099511627776"),
    ("int4", 1, "date", dt.date(2020, 1, 1), "2020-01-01"),
    ("interval", dt.timedelta(1), "time", dt.time(1), "01:00:00"),
    ("sack[]", ["b"], "int8[]", [1], "{1}"),
    ("sack", "b", "text", "a", "a"),
]
"""A column's type, a value for it, another type, a value for that, and what has to be stored."""
SILENT = ("timestamp", "float4", "bytea")
"""Another session's change of these is not reported: the server converts from the previous type."""
CASES = [
    pytest.param(who, case, id=f"{who}-{case[0]}-{case[2]}")
    for who in ("own", "own in a pipeline", "other")
    for case in CHANGES
    if who != "other" or case[0] not in SILENT
]


# What an extension's type is for a driver, on servers that come without extensions.
SACK = """DO $$ BEGIN
CREATE TYPE public.sack;
CREATE FUNCTION public.sack_in(cstring) RETURNS public.sack AS 'textin' LANGUAGE internal IMMUTABLE STRICT;
CREATE FUNCTION public.sack_out(public.sack) RETURNS cstring AS 'textout' LANGUAGE internal IMMUTABLE STRICT;
CREATE FUNCTION public.sack_recv(internal) RETURNS public.sack AS 'textrecv' LANGUAGE internal STABLE STRICT;
CREATE FUNCTION public.sack_send(public.sack) RETURNS bytea AS 'textsend' LANGUAGE internal STABLE STRICT;
CREATE TYPE public.sack (INPUT = public.sack_in, OUTPUT = public.sack_out, RECEIVE = public.sack_recv,
  SEND = public.sack_send, LIKE = text);
EXCEPTION WHEN duplicate_object THEN NULL;
END $$"""


@pytest.fixture
def places(dba: Any, schema: str) -> Any:
    """A table and the statement for it."""
    dba.execute(SACK)

    def make(kind: str) -> None:
        dba.executescript(f"DROP TABLE IF EXISTS {schema}.t; CREATE TABLE {schema}.t (v {kind})")

    return make


def change(schema: str, kind: str) -> str:
    """The same table with a column of another type."""
    return f"ALTER TABLE {schema}.t DROP v; ALTER TABLE {schema}.t ADD v {kind}"


@pytest.mark.parametrize("mark", ["$1", "%s"])
@pytest.mark.parametrize(("who", "case"), CASES)
def test_a_parameter_is_sent_as_its_column_is_now(
    connect: Connect, dba: Any, schema: str, places: Any, who: str, mark: str, case: Case
) -> None:
    before, first, after, value, stored = case
    if mark == "%s" and before == "timestamp":
        stored = "2020-01-01 12:00:00+09"
    places(before)
    conn = connect(autocommit=True)
    conn.execute("SET timezone = 'Asia/Tokyo'")
    insert = f"INSERT INTO {schema}.t VALUES ({mark})"
    batch = [(value,), (value,)]
    for _ in range(2):
        conn.execute(insert, (first,))
    if who == "own in a pipeline":
        with conn.pipeline():
            for sql in change(schema, after).split(";"):
                conn.execute(sql)
            conn.execute(f"TRUNCATE {schema}.t")
            conn.execute(insert, (value,))
            conn.executemany(insert, batch)
    else:
        (conn if who == "own" else dba).executescript(f"{change(schema, after)}; TRUNCATE {schema}.t")
        conn.execute(insert, (value,))
        conn.executemany(insert, batch)
    assert conn.fetch(f"SELECT v::text FROM {schema}.t") == [(stored,)] * 3


def test_a_wrong_value_is_refused_as_before(connect: Connect, schema: str, places: Any) -> None:
    places("int4")
    conn = connect()
    insert = f"INSERT INTO {schema}.t VALUES ($1)"
    conn.execute(insert, (1,))
    for _ in range(3):
        with pytest.raises(headrace.ProgrammingError, match="cannot be sent as int4"):
            conn.execute(insert, (dt.date(2020, 1, 1),))
    # Nothing was executed, so the transaction goes on.
    assert conn.fetch(f"SELECT * FROM {schema}.t") == [(1,)]
