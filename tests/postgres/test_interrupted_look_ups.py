"""A look-up of types that the server has cancelled is the error of the statement that needs them, and is made again."""

# Made by tools/async_to_sync.py of test_interrupted_look_ups_async.py: edit that file, and run the tool.

from __future__ import annotations

from typing import Any

import pytest

import headrace.postgres
from headrace import errors

VALUE = (1, "x")


def read(conn: Any) -> Any:
    return conn.fetchval("select pair from pairs")


def stream(conn: Any) -> Any:
    rows = list(conn.stream("select pair from pairs"))
    return rows[0][0]


def through_a_pipeline(conn: Any) -> Any:
    with conn.pipeline():
        cursor = conn.execute("select pair from pairs")
        conn.execute("insert into after_it values (1)")
    return cursor.fetchone()[0]


def send(conn: Any) -> Any:
    return conn.fetchval("select ($1::pair).b, $2::text", VALUE, "y") and VALUE


def send_a_batch(conn: Any) -> Any:
    cursor = conn.executemany("select $1::pair", [(VALUE,), (VALUE,)], returning=True)
    return cursor.fetchone()[0]


def copy_out(conn: Any) -> Any:
    rows = list(conn.copy_out("select pair from pairs"))
    return rows[0][0]


def copy_in(conn: Any) -> Any:
    conn.copy_in("copied", [(VALUE,)])
    return VALUE


@pytest.mark.parametrize("autocommit", [True, False])
@pytest.mark.parametrize("use", [read, stream, through_a_pipeline, send, send_a_batch, copy_out, copy_in])
def test_a_cancelled_look_up_is_made_again(url: str, dba: Any, use: Any, autocommit: bool) -> None:
    dba.executescript(
        "drop table if exists pairs, copied, after_it; drop type if exists pair;"
        "create type pair as (a int, b text); create table pairs (pair pair); insert into pairs values ((1, 'x'));"
        "create table copied (pair pair); create table after_it (n int)"
    )
    conn = headrace.postgres.connect(url, autocommit=autocommit, options="-c statement_timeout=100ms")
    with dba.transaction():
        dba.execute("lock table pg_catalog.pg_range in access exclusive mode")
        with pytest.raises(errors.QueryCanceled):
            use(conn)
        if not autocommit:
            conn.rollback()
    if not autocommit:
        assert dba.fetchval("select count(*) from after_it") == 0
    conn.execute("set statement_timeout = 0")
    assert use(conn) == VALUE
    assert conn.fetchval("select pair from pairs") == VALUE
    conn.close()
