"""executemany with its three strategies: the same values, the same counts, the same row named, whatever happens."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Literal

import pytest

import headrace.aio.informix
import headrace.informix
from headrace import defaults, errors
from headrace.testing import InformixServer, informix
from headrace.types import Interval, TransactionStatus
from live import URL

from .relay import Recorder

D = Decimal
STRATEGIES = ("put", "groups", "rows")
FAILURES = [(100, 0), (1000, 500), (100, 99), (20_000, 15_000)]


def by_strategy(conn: Any, strategy: str | None, sql: str, rows: Any) -> Any:
    """A batch with a strategy that the test chooses, as the connection would send it."""
    wire = conn._core.wire
    return conn._wait(wire.execute_batch(sql, rows, begin=not conn.autocommit, strategy=strategy), None)


@pytest.fixture(scope="module", params=["genuine"] if URL else ["abort", "continue"])
def either(request: pytest.FixtureRequest) -> Iterator[InformixServer]:
    """What a genuine server does after an error in a group is not known: one that stops, and one that goes on. Or
    the one that does what it does."""
    if request.param == "genuine":
        yield request.getfixturevalue("ifx")
        return
    after: Literal["abort", "continue"] = request.param
    with informix(after_error=after) as server:
        yield server


# what travels


def test_rows_for_the_columns_as_they_are_go_by_an_insert_cursor(
    ifx: InformixServer, recorder: Recorder, table: str
) -> None:
    with headrace.informix.connect(**{**ifx.parameters(), "port": recorder.port}, autocommit=True) as conn:
        conn.execute(f"create table {table} (a int, b varchar(20), c decimal(10,2))")
        recorder.clear()
        rows = [(n, f"b{n}", D("1.50")) for n in range(1000)]
        assert conn.executemany(f"insert into {table} values (?, ?, ?)", rows).rowcount == 1000
        # The row of the fact sheet: INT 0, VARCHAR 'b0', DECIMAL(10,2) 1.50.
        assert bytes.fromhex("00110000000d0001 00000000 026230 c10132000000 00") in recorder.sent
        assert recorder.sent.count(bytes.fromhex("0011 0000000d 0001")) == 10
        assert recorder.sent.count(b"\x00\x05\x00\x03\x00\x02") == 0
        assert conn.fetch(f"select * from {table} order by a") == rows


@pytest.mark.parametrize(
    ("columns", "sql", "rows"),
    [
        ("a int, b text", "insert into {} values (?, ?)", [(1, "x")] * 3),
        ("a int, b char(65)", "insert into {} values (?, ?)", [(1, "x")] * 3),
        ("a int, b int", "insert into {} (a, b) values (?, ? + 1)", [(1, 2)] * 3),
        ("a int, b int", "insert into {} (a, b) values (?, 7)", [(1,)] * 3),
        ("a int, b int", "update {} set a = ? where b = ?", [(1, 2)] * 3),
    ],
)
def test_other_statements_are_executed_row_by_row(
    ifx: InformixServer, recorder: Recorder, table: str, columns: str, sql: str, rows: Any
) -> None:
    with headrace.informix.connect(**{**ifx.parameters(), "port": recorder.port}, autocommit=True) as conn:
        conn.execute(f"create table {table} ({columns})")
        recorder.clear()
        conn.executemany(sql.format(table), rows)
        assert recorder.sent.count(bytes.fromhex("0006 0064 0000")) == 0, "no insert cursor was opened"


def test_rows_that_cannot_be_read_twice_are_executed(ifx: InformixServer, recorder: Recorder, table: str) -> None:
    with headrace.informix.connect(**{**ifx.parameters(), "port": recorder.port}, autocommit=True) as conn:
        conn.execute(f"create table {table} (a int)")
        recorder.clear()
        assert conn.executemany(f"insert into {table} values (?)", ((n,) for n in range(10))).rowcount == 10
        assert bytes.fromhex("0006 0064 0000") not in recorder.sent
        assert conn.executemany(f"insert into {table} values (?)", [(n,) for n in range(10)]).rowcount == 10
        assert bytes.fromhex("0006 0064 0000") in recorder.sent
        assert conn.fetchval(f"select count(*) from {table}") == 20


# values

KINDS: list[tuple[str, list[Any]]] = [
    ("smallint", [0, -1, 32767, True]),
    ("integer", [0, -1, 2**31 - 1, False]),
    ("bigint", [0, -1, 2**63 - 1]),
    ("int8", [0, -1, 123456789012, -(2**40)]),
    ("float", [0.0, -0.1, 1e300, 7]),
    ("smallfloat", [0.0, 1.5, 0.1]),
    ("decimal(10,2)", [D("0"), D("-1234.56"), D("99999999.99"), D("0.01"), 5, D("1E+3"), D("100")]),
    ("decimal(5,5)", [D("0.00001"), D("-0.12345"), D("0.1")]),
    ("decimal(5,1)", [D("1234.5"), D("-0.1"), D("7")]),
    ("decimal(32,0)", [D("12345678901234567890123456789012"), 10**31]),
    ("decimal(16)", [D("0"), D("1E+20"), D("-1E-10"), D("1234.5678"), D("0.001"), D("1E-100")]),
    ("money(12,2)", [D("-12.34"), D("9999999999.99")]),
    ("char(6)", ["", "abc", "abcdef", "äöüäöü", "abc       "]),
    ("nchar(3)", ["a", "abc"]),
    ("varchar(20)", ["", "a", "it's", "ÄÖ\xa0", "a" * 20 + "   "]),
    ("varchar(255,10)", ["", "x" * 255]),
    ("nvarchar(20)", ["", "ab"]),
    ("lvarchar(3000)", ["", "a", "ab", "y" * 3000]),
    ("boolean", [True, False]),
    ("date", [dt.date(1, 1, 1), dt.date(1899, 12, 31), dt.date(9999, 12, 31)]),
    ("datetime year to second", [dt.datetime(2024, 1, 2, 3, 4, 5), dt.date(2024, 2, 29)]),
    ("datetime year to fraction(5)", [dt.datetime(2024, 1, 2, 3, 4, 5, 123450), dt.datetime(2024, 1, 2)]),
    ("datetime year to fraction(1)", [dt.datetime(2024, 1, 2, 3, 4, 5, 900000)]),
    ("datetime year to day", [dt.date(2024, 1, 2)]),
    ("datetime year to month", [dt.date(2024, 11, 1)]),
    ("datetime year to year", [dt.date(2024, 1, 1)]),
    ("datetime hour to second", [dt.time(0, 0), dt.time(23, 59, 58)]),
    ("datetime hour to fraction(5)", [dt.time(1, 2, 3, 123450)]),
    ("datetime hour to minute", [dt.time(12, 30)]),
    ("interval day to second", [dt.timedelta(3, 14706), dt.timedelta(-3, 4), dt.timedelta(0)]),
    ("interval day(9) to fraction(5)", [dt.timedelta(123456789, 0, 120), dt.timedelta(microseconds=-10)]),
    ("interval hour(4) to minute", [dt.timedelta(hours=1234, minutes=56)]),
    ("interval minute(5) to second", [dt.timedelta(minutes=54321, seconds=9)]),
    ("interval second(6) to fraction(3)", [dt.timedelta(seconds=654321, milliseconds=987)]),
    ("interval day(3) to hour", [dt.timedelta(days=123, hours=4)]),
    ("interval year to month", [Interval(months=63), Interval(months=-63)]),
    ("interval year(6) to year", [Interval(months=12 * 123456)]),
    ("interval month(4) to month", [Interval(months=1234), Interval()]),
]


@pytest.mark.parametrize(("kind", "values"), KINDS, ids=[kind for kind, _ in KINDS])
def test_every_road_stores_the_same(
    ifx: InformixServer, recorder: Recorder, table: str, kind: str, values: list[Any]
) -> None:
    rows = [(n, value) for n, value in enumerate([*values, None])]
    with headrace.informix.connect(**{**ifx.parameters(), "port": recorder.port}, autocommit=True) as conn:
        conn.execute(f"create table {table} (n int, v {kind})")
        stored = []
        for strategy in STRATEGIES:
            conn.execute(f"delete from {table} where 1 = 1")
            recorder.clear()
            assert by_strategy(conn, strategy, f"insert into {table} values (?, ?)", rows).rowcount == len(rows)
            put = recorder.sent.count(bytes.fromhex("0006 0064 0000"))
            assert put == (1 if strategy == "put" else 0)
            if strategy == "put" and kind not in ("decimal(16)", "float"):
                executed = recorder.sent.count(bytes.fromhex("0005 0002 0002 0000 0a00"))
                assert executed == 0, "a value went another way than it could"
            stored.append(conn.fetch(f"select n, v from {table} order by n"))
        assert stored[0] == stored[1] == stored[2]
        assert [list(map(str, row)) for row in stored[0]] == [list(map(str, row)) for row in stored[1]]


def test_values_that_the_server_converts_take_the_road_on_which_it_does(ifx: InformixServer, table: str) -> None:
    rows: list[Any] = [(n, str(n) if n % 100 == 99 else n, D("1.005") if n == 250 else D("1.5")) for n in range(1000)]
    with headrace.informix.connect(**ifx.parameters(), autocommit=True) as conn:
        conn.execute(f"create table {table} (n int, a int, b decimal(6,2))")
        assert conn.executemany(f"insert into {table} values (?, ?, ?)", rows).rowcount == 1000
        got = conn.fetch(f"select n, a, b from {table} order by n")
        assert [row[:2] for row in got] == [(n, n) for n in range(1000)]
        for n in (249, 251, 999):
            assert got[n][2] == D("1.50")
        assert got[250][2] in (D("1.00"), D("1.01"))


# failures


@pytest.mark.parametrize("autocommit", [True, False])
@pytest.mark.parametrize("strategy", [*STRATEGIES, None])
@pytest.mark.parametrize(("count", "bad"), FAILURES)
def test_a_failed_batch_names_its_row_and_leaves_nothing(
    either: InformixServer, table: str, autocommit: bool, strategy: str | None, count: int, bad: int
) -> None:
    with headrace.informix.connect(**either.parameters(), autocommit=autocommit) as conn:
        conn.execute(f"create table {table} (a int primary key, b varchar(20))")
        conn.execute(f"insert into {table} values (-1, 'there')")
        conn.commit()
        if not autocommit:
            conn.execute(f"insert into {table} values (-2, 'before')")
        rows = [(-1 if n == bad else n, f"row {n}") for n in range(count)]
        with pytest.raises(errors.UniqueViolation) as caught:
            by_strategy(conn, strategy, f"insert into {table} values (?, ?)", rows)
        assert caught.value.row == bad
        assert conn.fetchval(f"select count(*) from {table}") == (1 if autocommit else 2)
        status = TransactionStatus.IDLE if autocommit else TransactionStatus.INTRANS
        assert conn.transaction_status is status
        rows[bad] = (bad, "good")
        assert by_strategy(conn, strategy, f"insert into {table} values (?, ?)", rows).rowcount == count
        conn.commit()
        assert conn.fetchval(f"select count(*) from {table} where a >= 0") == count
        conn.execute(f"drop table {table}")
        conn.commit()


@pytest.mark.parametrize("autocommit", [True, False])
@pytest.mark.parametrize(("count", "bad"), FAILURES)
async def test_a_failed_batch_on_a_loop(
    either: InformixServer, table: str, autocommit: bool, count: int, bad: int
) -> None:
    conn = await headrace.aio.informix.connect(**either.parameters(), autocommit=autocommit)
    await conn.execute(f"create table {table} (a int primary key, b varchar(20))")
    await conn.execute(f"insert into {table} values (-1, 'there')")
    rows = [(-1 if n == bad else n, f"row {n}") for n in range(count)]
    with pytest.raises(errors.UniqueViolation) as caught:
        await conn.executemany(f"insert into {table} values (?, ?)", rows)
    assert caught.value.row == bad
    assert await conn.fetch(f"select a from {table}") == [(-1,)]
    rows[bad] = (bad, "good")
    assert (await conn.executemany(f"insert into {table} values (?, ?)", rows)).rowcount == count
    await conn.execute(f"drop table {table}")
    await conn.commit()
    await conn.close()


@pytest.mark.parametrize("bad", [0, 500, 999])
def test_row_after_a_change_of_the_strategy_is_named(either: InformixServer, table: str, bad: int) -> None:
    with headrace.informix.connect(**either.parameters(), autocommit=True) as conn:
        conn.execute(f"create table {table} (a int primary key, b int)")
        conn.execute(f"insert into {table} values (-1, 0)")
        for turn in (1, 499, 501, 998):
            rows = [(-1 if n == bad else n, "7" if n == turn else 7) for n in range(1000)]
            with pytest.raises(errors.UniqueViolation) as caught:
                conn.executemany(f"insert into {table} values (?, ?)", rows)
            assert caught.value.row == bad
            assert conn.fetch(f"select a from {table}") == [(-1,)]
        conn.execute(f"drop table {table}")


def test_value_that_does_not_fit_has_the_same_error_with_every_strategy(conn: Any, table: str) -> None:
    conn.execute(f"create table {table} (a smallint, b varchar(5))")
    for value, kind in [((40_000, "x"), errors.DataError), ((1, "too long"), errors.DataError)]:
        told = []
        for strategy in STRATEGIES:
            with pytest.raises(kind) as caught:
                by_strategy(conn, strategy, f"insert into {table} values (?, ?)", [(1, "ok"), value])
            told.append((str(caught.value), caught.value.row))
        assert told[0] == told[1] == told[2]
        assert told[0][1] == 1
    assert conn.fetchval(f"select count(*) from {table}") == 0


def test_locks_of_others_are_waited_for_once(ifx: InformixServer, table: str) -> None:
    with (
        headrace.informix.connect(**ifx.parameters()) as first,
        headrace.informix.connect(**ifx.parameters(), lock_wait=1, autocommit=True) as second,
    ):
        first.execute(f"create table {table} (a int)")
        first.commit()
        first.execute(f"insert into {table} values (1)")
        with pytest.raises(errors.LockNotAvailable) as caught:
            second.executemany(f"insert into {table} values (?)", [(2,), (3,)])
        assert caught.value.row == 0
        first.commit()
        assert second.executemany(f"insert into {table} values (?)", [(2,), (3,)]).rowcount == 2


def test_serial_columns_count_on_every_road(conn: Any, table: str) -> None:
    for strategy in STRATEGIES:
        conn.execute(f"create table {table} (id serial primary key, a int)")
        result = by_strategy(conn, strategy, f"insert into {table} values (?, ?)", [(0, n) for n in range(5)])
        assert (result.rowcount, result.generated) == (5, None)
        assert conn.fetch(f"select id, a from {table} order by id") == [(n + 1, n) for n in range(5)]
        conn.execute(f"drop table {table}")


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("after", [0.002, 0.01, 0.03, 0.06])
@pytest.mark.slow
def test_a_batch_leaves_nothing_whenever_it_is_interrupted(
    ifx: InformixServer, table: str, monkeypatch: pytest.MonkeyPatch, after: float, inside: bool
) -> None:
    # On a busy machine the server may need seconds to end the batch: more than CANCEL_TIMEOUT, and the connection is
    # closed, which is not what is tested here.
    monkeypatch.setattr(defaults, "CANCEL_TIMEOUT", 60.0)
    with headrace.informix.connect(**ifx.parameters(), autocommit=True) as conn:
        conn.execute(f"create table {table} (a int)")
        rows = [(n,) for n in range(100_000)]
        for _ in range(5):
            if inside:
                conn.execute("begin work")
                conn.execute(f"insert into {table} values (-1)")
            try:
                conn.cursor().executemany(f"insert into {table} values (?)", rows, timeout=after)
            except TimeoutError:
                assert not conn.closed
                assert conn.fetchval(f"select count(*) from {table}") == int(inside)
            if inside:
                conn.execute("rollback work")
            conn.execute(f"delete from {table}")
