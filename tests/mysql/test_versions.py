"""The promises of the driver in short, on every available version of MySQL and MariaDB: from 2015 to today."""

from __future__ import annotations

import datetime as dt
import decimal
import threading
import time
from typing import Any

import pytest

import headrace.aio.mysql
import headrace.mysql
from headrace import errors
from served import Served, fresh

pytestmark = pytest.mark.servers("mysql56", "mysql80", "mysql", "mariadb", "mariadb118")
D = decimal.Decimal
KINDS = (
    "id int primary key, big bigint unsigned, dec_ decimal(65,30), dbl double, flt float, bits bit(11), c char(20), "
    "v varchar(100), t longtext, vb varbinary(50), b longblob, e enum('a','ü'), s set('a','b'), d date, m datetime(6), "
    "span time(6), y year, g geometry"
)
ROW = (
    1, 2**64 - 1, D("-12345678901234567890.123456789012345678901234567890"), 1 / 3, 0.5, "10000000001", "chär", "v😀",
    "long " * 1000, b"\0\xff", b"blob" * 1000, "ü", "a,b", dt.date(2024, 2, 29),
    dt.datetime(1999, 12, 31, 23, 59, 59, 999_999), dt.timedelta(hours=-837, microseconds=-1), 2024,
    bytes.fromhex("000000000101000000000000000000f03f0000000000000040"),
)  # fmt: skip


def test_what_is_agreed(my_server: Served, my: Any) -> None:
    version = my.server_version
    assert (my.fetchval("select version()").startswith(my_server.server.version), bool(version)) == (True, True)
    assert my.fetchval("select @@character_set_connection") == "utf8mb4"


@pytest.mark.parametrize("prepared", [True, False], ids=["binary", "text"])
def test_every_type_by_every_road(my_server: Served, my_url: str, prepared: bool) -> None:
    with headrace.mysql.connect(my_url, autocommit=True, local_infile=True, prepared=prepared) as conn:
        fresh(conn, f"table kinds ({KINDS}) character set utf8mb4")
        insert = f"insert into kinds values ({', '.join('?' * len(ROW))})"
        row = tuple(headrace.types.BitString(value) if i == 5 else value for i, value in enumerate(ROW))
        nulls = (None,) * (len(row) - 1)
        conn.execute(insert, row)
        conn.executemany(insert, [(2, *row[1:]), (3, *nulls)])
        conn.load_rows("kinds", [(4, *row[1:]), (5, *nulls)])
        right = [(n, *(nulls if n in (3, 5) else row[1:])) for n in range(1, 6)]
        assert conn.fetch("select * from kinds order by id") == right
        assert (
            conn.fetchval("select count(*) from kinds where v = ? and m = ? and dec_ = ?", row[7], row[14], row[2]) == 3
        )


def test_batches_are_whole_and_name_the_row(my: Any) -> None:
    fresh(my, "table t (id int primary key, name varchar(40)) engine=innodb")
    for statement, rows, bad in (
        ("insert into t values (?, ?)", [(n, "x") for n in range(3000)], 1234),
        ("insert into t (id, name) values (?, upper(?)) on duplicate key update name = null", [], None),
    ):
        if bad is not None:
            rows[bad] = (0, "twice")
            with pytest.raises(errors.UniqueViolation) as caught:
                my.executemany(statement, rows)
            assert caught.value.row == bad
            assert my.fetchval("select count(*) from t") == 0
            rows[bad] = (bad, "good")
        assert my.executemany(statement, rows).rowcount == len(rows)
    assert my.executemany("update t set name = ? where id = ?", [(f"n{n}", n) for n in range(3000)]).rowcount == 3000
    assert my.fetchval("select count(*) from t where name = concat('n', id)") == 3000


def test_text_where_nothing_can_be_prepared(my: Any) -> None:
    fresh(my, "table shown (n int)")
    assert my.fetch("show tables like ?", "sho%") == [("shown",)]
    assert my.fetch("show create table shown")[0][0] == "shown"
    my.execute("use test")
    assert my.fetchval("select database()") == "test"


def test_errors_transactions_and_pipelines(my: Any) -> None:
    fresh(my, "table p (n int primary key) engine=innodb")
    with pytest.raises(errors.UndefinedTable) as caught:
        my.execute("select * from missing")
    assert caught.value.sqlcode == 1146
    with my.transaction():
        my.execute("insert into p values (1)")
        with pytest.raises(errors.UniqueViolation), my.transaction():
            my.execute("insert into p values (2)")
            my.execute("insert into p values (1)")
    assert my.fetch("select n from p") == [(1,)]
    with my.pipeline():
        cursors = [my.execute("select n + ? from p", (n,)) for n in range(500)]
    assert [cursor.fetchone() for cursor in cursors] == [(n + 1,) for n in range(500)]


def test_streams(my_server: Served, my: Any) -> None:
    query = f"select seq from {my_server.series(5000)}"
    for on_server in (False, True):
        assert list(my.stream(query, fetch_size=700, on_server=on_server)) == [(n,) for n in range(1, 5001)]


def test_results_of_procedures_and_scripts(my_server: Served, my_url: str) -> None:
    with headrace.mysql.connect(my_url, autocommit=True, multi_statements=True) as conn:
        cursor = conn.executescript("select 1; set @a = 5; select @a, 'x'")
        assert cursor.fetchall() == [(1,)]
        assert cursor.nextset()
        assert cursor.nextset()
        assert cursor.fetchall() == [(5, "x")]
        fresh(conn, "procedure p(in a int, out b int, inout c varchar(9)) begin select a; set b = a * 2, c = 'é'; end")
        cursor = conn.cursor()
        assert cursor.callproc("p", (4, None, "x")) == [4, 8, "é"]
        assert cursor.fetchall() == [(4,)]


def test_a_running_statement_is_cancelled(my: Any) -> None:
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        my.execute("select sleep(20)", timeout=0.2)
    timer = threading.Timer(0.2, my.cancel)
    timer.start()
    with pytest.raises(errors.QueryCanceled):
        tables = ", ".join(f"test.numbers {name}" for name in "abcd")
        my.fetchval(f"select sum(a.n + b.n + c.n + d.n) from {tables}")
    timer.join()
    assert my.fetchval("select 42") == 42
    assert time.monotonic() - started < 5


def test_dates_that_no_calendar_has(my_url: str) -> None:
    for prepared in (True, False):
        with headrace.mysql.connect(my_url, prepared=prepared, sql_mode="", unrepresentable="none") as conn:
            fresh(conn, "table zero (d date, m datetime(3))")
            conn.execute("insert into zero values ('0000-00-00', '0000-00-00 00:00:00')")
            assert conn.fetch("select d, m from zero") == [(None, None)]


async def test_on_a_loop(my_server: Served, my_url: str) -> None:
    async with await headrace.aio.mysql.connect(my_url, autocommit=True) as conn:
        assert await conn.fetchval("select ? + ?", 40, 2) == 42
        rows = await conn.fetch(f"select seq, repeat('x', 50) from {my_server.series(20_000)}")
        assert rows == [(n, "x" * 50) for n in range(1, 20_001)]
        await conn.execute("set @mine = 1")
        await conn.reset("rollback")
        assert await conn.fetchval("select 'é'") == "é"


def test_a_fresh_start(my_server: Served, my: Any) -> None:
    my.execute("set @mine = 1")
    if my_server.name == "mysql56":
        # It has no COM_RESET_CONNECTION.
        with pytest.raises(errors.Error):
            my.reset("discard")
        return
    my.reset("discard")
    assert my.fetchval("select @mine") is None
    assert my.fetchval("select 'é'") == "é"


def test_a_load_with_a_key_that_is_there_is_undone(my_url: str) -> None:
    with headrace.mysql.connect(my_url, autocommit=True, local_infile=True) as conn:
        fresh(conn, "table loaded (n int primary key) engine=innodb")
        for rows in ([(1,), (2,), (1,)], [(5,), (4,)]):
            conn.execute("replace into loaded values (4)")
            with pytest.raises(errors.UniqueViolation):
                conn.load_rows("loaded", rows)
            assert conn.fetch("select n from loaded") == [(4,)]
        assert conn.load_rows("loaded", [(4,), (5,)], duplicates="ignore") == 1


def test_a_load_with_a_key_that_is_there_hides_no_value_that_does_not_fit(my_url: str) -> None:
    with headrace.mysql.connect(my_url, autocommit=True, local_infile=True) as conn:
        fresh(conn, "table loaded (n int primary key, v varchar(3)) engine=innodb")
        conn.execute("insert into loaded values (1, 'one')")
        with pytest.raises(errors.DataError, match="v"):
            conn.load_rows("loaded", [(1, "uno"), (2, "deux")], duplicates="ignore")
        assert conn.fetch("select * from loaded") == [(1, "one")]
