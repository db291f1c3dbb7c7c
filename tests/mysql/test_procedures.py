"""Stored procedures: their results, and what OUT and INOUT parameters become."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Iterator
from typing import Any

import pytest

import headrace.aio.mysql
import headrace.mysql
from headrace import errors
from headrace.rows import dict_row, tuple_row
from headrace.types import BitString
from served import fresh

PROCEDURES = [
    "procedure twice(in a int, out b int, inout c varchar(20)) begin set b = a * 2; set c = concat(c, '!'); end",
    "procedure shows(in a int) begin select a; select a + 1, 'x'; end",
    "procedure both_ways(in a int, out b decimal(10,2)) begin select a; set b = a / 4; end",
    "procedure fails(out a int) begin set a = 1; signal sqlstate '45000' set message_text = 'no'; end",
    "procedure nothing() do 1",
    "procedure texts(out a varchar(9) character set latin1, out b varbinary(9), out c text character set utf8mb4, "
    "out d blob, out e char(5) character set utf16, out f binary(3), out g varchar(5) character set latin1) "
    "begin set a = 'é', b = 'é', c = 'ž', d = 'd', e = 'hé', f = 'abc', g = 'g'; end",
    "procedure dated(out a datetime(3), out b time, out c bit(5), out d decimal(5,2), out e bigint unsigned) "
    "begin set a = '2024-01-02 03:04:05.678', b = '03:04:05', c = b'10101', d = 1.5, e = 18446744073709551615; end",
    "procedure bits(in n bigint unsigned, out a bit(1), out b bit(5), out c bit(64)) "
    "begin select s from bits; set a = n % 2, b = n % 32, c = n; end",
    "procedure octet(in n int, out a bit(8)) set a = n",
    "procedure all_out(out a int, out b varchar(9)) begin set a = 1; end",
]


@pytest.fixture(scope="module", autouse=True)
def _procedures(my_url: str) -> None:
    with headrace.mysql.connect(my_url, autocommit=True) as conn:
        for statement in PROCEDURES:
            fresh(conn, statement)


@pytest.fixture(params=[True, False], ids=["binary", "text"])
def conn(request: pytest.FixtureRequest, my_url: str) -> Iterator[Any]:
    with headrace.mysql.connect(my_url, autocommit=True, prepared=request.param) as connection:
        yield connection


def test_out_parameters(conn: Any) -> None:
    cursor = conn.cursor()
    assert cursor.callproc("twice", (21, None, "hey")) == [21, 42, "hey!"]
    assert cursor.description is None
    assert cursor.nextset() is None
    assert cursor.callproc("all_out", [0, 0]) == [1, None]
    assert cursor.callproc("nothing") == []


def test_rows_of_a_call_are_those_of_its_first_result_whatever_makes_them(my_url: str) -> None:
    for factory, rows in ((tuple_row, [(7,)]), (dict_row, [{"a": 7}])):
        with headrace.mysql.connect(my_url, autocommit=True, row_factory=factory) as conn:
            assert conn.fetch("call shows(7)") == conn.execute("call shows(7)").fetchall() == rows
            assert conn.fetchrow("call shows(?)", 7) == rows[0]
            assert conn.fetchval("call shows(?)", 7) == 7


def test_texts_and_bytes_in_out_parameters(conn: Any, my_url: str) -> None:
    schema = my_url.rpartition("/")[2]
    for name in ("texts", f"{schema}.texts"):
        assert conn.cursor().callproc(name, (None,) * 7) == ["é", "é".encode(), "ž", b"d", "hé", b"abc", "g"]


def test_dates_and_bits_in_out_parameters(my_url: str) -> None:
    numbers = [decimal.Decimal("1.50"), 2**64 - 1]
    at, span = dt.datetime(2024, 1, 2, 3, 4, 5, 678_000), dt.timedelta(hours=3, minutes=4, seconds=5)
    for prepared, values in ((True, [at, span, "10101"]), (False, ["2024-01-02 03:04:05.678", "03:04:05", 21])):
        with headrace.mysql.connect(my_url, autocommit=True, prepared=prepared) as conn:
            assert conn.cursor().callproc("dated", (None,) * 5) == values + numbers


@pytest.mark.parametrize("n", [0, 1, 7, 21, 31, 49, 2**63, 2**64 - 1])
def test_bits_in_out_parameters_and_in_a_table_of_the_same_name(my: Any, n: int) -> None:
    fresh(my, "table bits (s bit(5))")
    my.execute("insert into bits values (?)", (BitString("10101"),))
    cursor = my.cursor()
    out = cursor.callproc("bits", (n, None, None, None))
    assert out == [n, f"{n % 2:b}", f"{n % 32:05b}", f"{n:064b}"]
    assert cursor.fetchall() == [("10101",)]


def test_a_bit_that_may_be_digits_or_bytes_is_refused(my: Any) -> None:
    assert my.cursor().callproc("octet", (77, None)) == [77, f"{77:08b}"]
    with pytest.raises(errors.DataError, match="whole numbers"):
        my.cursor().callproc("octet", (7, None))
    assert my.fetchval("select 1") == 1


def test_results_and_out_parameters(conn: Any) -> None:
    cursor = conn.cursor()
    assert cursor.callproc("shows", (5,)) == [5]
    assert cursor.fetchall() == [(5,)]
    assert cursor.nextset()
    assert cursor.fetchall() == [(6, "x")]
    while cursor.nextset():
        assert cursor.description is None
    out = cursor.callproc("both_ways", (5, None))
    assert out == [5, decimal.Decimal("1.25")]
    assert cursor.fetchall() == [(5,)]


def test_a_name_with_its_schema(conn: Any, my_url: str) -> None:
    schema = my_url.rpartition("/")[2]
    conn.select_db("mysql")
    assert conn.cursor().callproc(f"{schema}.twice", (1, 0, "")) == [1, 2, "!"]
    assert conn.session_state.schema == "mysql"


def test_errors_leave_the_connection_in_step(conn: Any) -> None:
    cursor = conn.cursor()
    with pytest.raises(errors.DatabaseError, match="no") as caught:
        cursor.callproc("fails", (0,))
    assert caught.value.sqlstate == "45000"
    with pytest.raises(errors.DatabaseError):
        cursor.callproc("missing`one", (1,))
    with pytest.raises(errors.DatabaseError):
        cursor.callproc("shows", (1, 2))
    assert conn.fetchval("select 42") == 42


async def test_async(amy: Any) -> None:
    cursor = amy.cursor()
    assert await cursor.callproc("twice", (21, None, "hey")) == [21, 42, "hey!"]
    assert await cursor.callproc("both_ways", (2, None)) == [2, decimal.Decimal("0.50")]
    assert await cursor.fetchall() == [(2,)]
