"""The SQL that users of Informix write, expression by expression; what cannot be done is an error and never a guess."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal as D
from typing import Any

import informix_db
import pytest

from headrace.testing import InformixServer

DAY = datetime.timedelta(days=1)
HOUR = datetime.timedelta(hours=1)


@pytest.fixture(scope="module")
def connection(server: InformixServer) -> Iterator[Any]:
    opened = informix_db.connect(**server.parameters(), autocommit=True)
    cursor = opened.cursor()
    cursor.execute(
        "create table q (n int, t varchar(20), c char(8), d decimal(8,2), f float, w date, i interval day to hour)"
    )
    for row in (
        "1, 'one', 'eins', 1.5, 0.5, '2024-01-31', interval (1 02) day to hour",
        "2, 'two', 'zwei', -2.25, 1e10, '2024-02-29', interval (0 12) day to hour",
        "3, null, null, null, null, null, null",
        "4, 'four ', 'vier', 10, -3, '1999-12-31', null",
    ):
        cursor.execute(f"insert into q values ({row})")
    yield opened
    opened.close()


def rows(connection: Any, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    cursor = connection.cursor()
    cursor.execute(sql, parameters)
    found = cursor.fetchall()
    cursor.close()
    return found


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # numbers
        ("1 + 2 * 3", 7),
        ("7 / 2", D("3.5")),
        ("-7 / 2", D("-3.5")),
        ("1 / 3", D("0.33333333333333333333333333333333")),
        ("mod(7, 3)", 1),
        ("0.1 + 0.2", D("0.3")),
        ("1.10 * 1.10", D("1.21")),
        ("round(2.345, 2)", D("2.35")),
        ("round(-2.5)", D(-3)),
        ("trunc(2.999, 1)", D("2.9")),
        ("abs(-3)", 3),
        ("abs(-1.5)", D("1.5")),
        ("floor(-1.5)", D(-2)),
        ("ceil(1.2)", D(2)),
        ("power(2, 10)", 1024.0),
        ("sqrt(2.25)", 1.5),
        ("3000000000", 3_000_000_000),
        ("1e3", D(1000)),
        ("'12'::int + 1", 13),
        ("12.5::decimal(6,1)", D("12.5")),
        ("12.56::decimal(6,1)", D("12.6")),
        ("5::varchar(5)", "5"),
        ("12.5::money(8,2)::varchar(20)", "$12.50"),
        ("hex(255)", "0x000000FF"),
        # text
        ("'a' || 'b' || 1", "ab1"),
        ("upper('abc') || lower('DEF')", "ABCdef"),
        ("initcap('odd ends')", "Odd Ends"),
        ("length('abc  ')", 3),
        ("char_length('abc  ')", 5),
        ("octet_length('abc')", 3),
        ("trim('  x  ')", "x"),
        ("trim(leading '0' from '007')", "7"),
        ("trim(trailing from 'x  ') || '|'", "x|"),
        ("substr('headrace', 5)", "race"),
        ("substr('headrace', 1, 4)", "head"),
        ("substring('headrace' from 5 for 2)", "ra"),
        ("replace('a-b-c', '-', '+')", "a+b+c"),
        ("lpad('7', 3, '0')", "007"),
        ("rpad('7', 3, '.')", "7.."),
        ("instr('headrace', 'race')", 5),
        ("concat('a', 'b')", "ab"),
        ('"double" || "quotes"', "doublequotes"),
        ("'it''s'", "it's"),
        ("'a' || null", None),
        # choices
        ("nvl(null, 7)", 7),
        ("nvl(null::int, 7)", 7),
        ("coalesce(null, null, 'x')", "x"),
        ("decode(2, 1, 'one', 2, 'two', 'many')", "two"),
        ("decode(9, 1, 'one', 'many')", "many"),
        ("case 1 when 1 then 'a' else 'b' end", "a"),
        ("case when 1 > 2 then 1 end", None),
        ("nvl2(null::int, 1, 2)", 2),
        # dates and times
        ("mdy(2, 29, 2024)", datetime.date(2024, 2, 29)),
        ("mdy(2, 28, 2024) + 1", datetime.date(2024, 2, 29)),
        ("mdy(3, 1, 2024) - mdy(2, 1, 2024)", 29),
        ("date('2024-02-29')", datetime.date(2024, 2, 29)),
        ("'02/29/2024'::date", datetime.date(2024, 2, 29)),
        ("year(mdy(2, 29, 2024)) * 10000 + month(mdy(2, 29, 2024)) * 100 + day(mdy(2, 29, 2024))", 20240229),
        ("weekday(mdy(2, 29, 2024))", 4),
        ("last_day(mdy(2, 1, 2024))", datetime.date(2024, 2, 29)),
        ("add_months(mdy(1, 15, 2024), 13)", datetime.date(2025, 2, 15)),
        ("datetime (2024-01-31 10:00) year to minute + 90 units minute", datetime.datetime(2024, 1, 31, 11, 30)),
        ("datetime (2024-01-01) year to day - 1 units day", datetime.date(2023, 12, 31)),
        ("datetime (10:30) hour to minute - datetime (09:15) hour to minute", HOUR + HOUR / 4),
        ("datetime (2024-03-01) year to day - datetime (2024-02-28) year to day", 2 * DAY),
        ("extend(mdy(2, 29, 2024), year to minute)", datetime.datetime(2024, 2, 29)),
        ("extend(datetime (2024-02-29 13:14:15) year to second, year to month)", datetime.date(2024, 2, 1)),
        ("interval (2 03) day to hour * 2", 4 * DAY + 6 * HOUR),
        ("interval (1-06) year to month + interval (0-07) year to month", informix_db.IntervalYM(25)),
        ("mdy(1, 31, 2024) + interval (1) month to month - 2 units day", None),
        ("(datetime (2024-05) year to month - datetime (2023-03) year to month)", informix_db.IntervalYM(14)),
        ("to_char(datetime (2024-02-29 13:14:15) year to second, '%Y/%m/%d %H-%M')", "2024/02/29 13-14"),
        ("today - today", 0),
        ("extend(current, year to day) - extend(today, year to day)", datetime.timedelta(0)),
        ("t.n from table(list{3, 1, 2}) as t(n) where t.n = 2 -- ", 2),
    ],
)
def test_expression(connection: Any, expression: str, expected: Any) -> None:
    sql = f"select {expression}\n" if "from table" in expression else f"select {expression} from table(set{{1}})"
    if expected is None and "month to month" in expression:
        with pytest.raises(informix_db.Error) as caught:
            rows(connection, sql)
        assert caught.value.sqlcode == -1267
        return
    ((value,),) = rows(connection, sql)
    if isinstance(expected, datetime.date) and isinstance(value, datetime.datetime):
        value = value if isinstance(expected, datetime.datetime) else value.date()
    assert value == expected


@pytest.mark.parametrize(
    ("condition", "numbers"),
    [
        ("t = 'one'", [1]),
        ("t = 'four'", [4]),
        ("c = 'zwei    '", [2]),
        ("t is null", [3]),
        ("t is not null and n <> 1", [2, 4]),
        ("not n = 2", [1, 3, 4]),
        ("n in (1, 3)", [1, 3]),
        ("n not in (1, 3)", [2, 4]),
        ("n between 2 and 3", [2, 3]),
        ("n not between 2 and 3", [1, 4]),
        ("t like '%o%'", [1, 2, 4]),
        ("t like '_wo'", [2]),
        ("t not like 'f%'", [1, 2]),
        ("t like 'o\\%%'", []),
        ("t matches '[a-o]*'", [1, 4]),
        ("t matches '?wo'", [2]),
        ("t matches '[^o]*'", [2, 4]),
        ("d > 1", [1, 4]),
        ("d < 0", [2]),
        ("d = 1.50", [1]),
        ("d = '10'", [4]),
        ("f >= 0.5", [1, 2]),
        ("w > '2024-02-01'", [2]),
        ("w = mdy(12, 31, 1999)", [4]),
        ("year(w) = 2024", [1, 2]),
        ("i > interval (20) hour to hour", [1]),
        ("exists (select 1 from systables where tabid = q.n and tabname = 'systables')", [1]),
        ("n = (select max(tabid) - 2 from systables where tabid < 5)", [2]),
        ("n > all (select tabid from systables where tabid < 3)", [3, 4]),
        ("n = any (select tabid from systables where tabid < 3)", [1, 2]),
        ("n = some (select tabid from systables where tabid = 4)", [4]),
        ("rowid = (select rowid from q where n = 3)", [3]),
        ("t[1,2] = 'tw'", [2]),
        ("(n = 1 or n = 2) and d < 0", [2]),
    ],
)
def test_condition(connection: Any, condition: str, numbers: list[int]) -> None:
    assert [n for (n,) in rows(connection, f"select n from q where {condition} order by n")] == numbers


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select first 2 n from q order by n desc", [(4,), (3,)]),
        ("select skip 1 first 2 n from q order by n", [(2,), (3,)]),
        ("select n from q order by n limit 1", [(1,)]),
        ("select skip 3 n from q order by 1", [(4,)]),
        ("select n from q order by d desc", [(4,), (1,), (2,), (3,)]),
        ("select n from q order by d nulls first, n", [(3,), (2,), (1,), (4,)]),
        ("select n * 2 as twice from q order by twice desc", [(8,), (6,), (4,), (2,)]),
        ("select count(*), count(t), count(distinct n / n) from q", [(4, 3, 1)]),
        ("select sum(n), avg(n), min(t), max(d) from q", [(10, D("2.5"), "four ", D("10.00"))]),
        ("select sum(d), avg(d) from q", [(D("9.25"), D("3.0833333333333333333333333333333"))]),
        ("select mod(n, 2), count(*), sum(n) from q group by 1 order by 1", [(0, 2, 6), (1, 2, 4)]),
        ("select n - n, sum(n) from q group by 1 having sum(n) > 5", [(0, 10)]),
        ("select distinct n / n from q", [(D(1),)]),
        ("select unique length(c) from q where c is not null", [(4,)]),
        ("select n from q where n < 3 union select n + 1 from q where n < 3 order by 1", [(1,), (2,), (3,)]),
        ("select n from q where n < 3 union all select 7 from q where n = 1 order by 1 desc", [(7,), (2,), (1,)]),
        ("(select first 1 n from q order by n desc) union (select 99 from q) order by 1", [(4,), (99,)]),
        ("select n from q where n > 2 intersect select n from q where n < 4", [(3,)]),
        ("select n from q minus select n from q where n > 1", [(1,)]),
        (
            "select 1, 1.5 from q where n = 1 union select 2.25, 2 from q where n = 1 order by 1",
            [(D(1), D("1.5")), (D("2.25"), D(2))],
        ),
        ("select a.n, b.n from q a, q b where a.n = b.n + 2 order by 1", [(3, 1), (4, 2)]),
        ("select a.n, b.n from q a left join q b on a.n = b.n + 2 order by 1", [(1, None), (2, None), (3, 1), (4, 2)]),
        ("select a.n, b.n from q a, outer q b where a.n = b.n + 2 and a.n > 1 order by 1", [(2, None), (3, 1), (4, 2)]),
        ("select x.m from (select max(n) m from q) x", [(4,)]),
        ("select m from (select max(n) from q) as x(m)", [(4,)]),
        ("with w as (select n from q where n > 2) select sum(n) from w", [(7,)]),
        (
            "with r(k) as (select 1 from table(set{1}) union all select k + 1 from r where k < 4) select sum(k) from r",
            [(10,)],
        ),
        ("select (select t from q x where x.n = q.n + 1) from q where n = 1", [("two",)]),
        ("select q.* from q where n = 3", [(3, None, None, None, None, None, None)]),
        ("select {a comment} n -- another\n from q /* and one more */ where n = 1", [(1,)]),
        ("select range(n), variance(n), stdev(n) from q where n < 4", [(D(2), D(1), D(1))]),
        ("select name, is_logging from sysmaster:sysdatabases where name = 'testdb'", [("testdb", 1)]),
        ("select dbinfo('dbname') from systables where tabid = 1", [("testdb",)]),
        ("select user from systables where tabid = 1", [("informix",)]),
        ("select dbservername from systables where tabid = 1", [("informix",)]),
    ],
)
def test_query(connection: Any, sql: str, expected: list[tuple[Any, ...]]) -> None:
    found = rows(connection, sql)
    assert [
        tuple(v.rstrip() if isinstance(v, str) and not v.startswith("four") else v for v in row) for row in found
    ] == expected


def test_parameters_take_the_type_of_what_they_stand_beside(connection: Any) -> None:
    assert rows(connection, "select n from q where t = ? and n < ? + 1", "one", 1) == [(1,)]
    assert rows(connection, "select n from q where w = ?", datetime.date(2024, 2, 29)) == [(2,)]
    assert rows(connection, "select n from q where w = ?", "2024-02-29") == [(2,)]
    assert rows(connection, "select n from q where d > ?", "1.6") == [(4,)]
    assert rows(connection, "select n from q where t like ? order by n", "%o%") == [(1,), (2,), (4,)]
    assert rows(connection, "select first ? n from q order by n", 2) == [(1,), (2,)]
    assert rows(connection, "select ?::int + n from q where n in (?, ?) order by n", 10, 1, 4) == [(11,), (14,)]


def test_temporary_tables_are_the_sessions_own(connection: Any, server: InformixServer) -> None:
    rows_of_q = rows(connection, "select n, t from q where n < 3 order by n")
    cursor = connection.cursor()
    cursor.execute("select n, t from q where n < 3 into temp q_temp with no log")
    assert rows(connection, "select * from q_temp order by n") == rows_of_q
    other = informix_db.connect(**server.parameters())
    with pytest.raises(informix_db.Error) as caught:
        other.cursor().execute("select * from q_temp")
    assert caught.value.sqlcode == -206
    other.close()
    with pytest.raises(informix_db.Error) as caught:
        cursor.execute("create temp table q_temp (a int)")
    assert caught.value.sqlcode == -958
    cursor.execute("drop table q_temp")


def test_definitions_change_what_is_there(connection: Any) -> None:
    cursor = connection.cursor()
    for sql in (
        "create table q_def (a int default 7 not null, b varchar(10) default 'x', c date default today)",
        "insert into q_def (a) values (1)",
        "insert into q_def (b) values (null)",
        "alter table q_def add (d decimal(5,2) default 2.5 before b)",
        "alter table q_def modify (b varchar(20))",
        "rename column q_def.b to bb",
        "create view q_view (first, second) as select a, bb from q_def",
        "create synonym q_other for q_def",
        "insert into q_other (a, bb) values (9, 'nine')",
    ):
        cursor.execute(sql)
    assert rows(connection, "select a, d, bb from q_def order by a") == [
        (1, D("2.50"), "x"),
        (7, D("2.50"), None),
        (9, D("2.50"), "nine"),
    ]
    assert rows(connection, "select first from q_view where second = 'nine'") == [(9,)]
    assert rows(connection, "select count(*) from q_def where c = today") == [(3,)]
    for sql in ("drop synonym q_other", "drop view q_view", "rename table q_def to q_fed", "truncate table q_fed"):
        cursor.execute(sql)
    assert rows(connection, "select count(*) from q_fed") == [(0,)]
    cursor.execute("drop table q_fed")
    with pytest.raises(informix_db.Error) as caught:
        rows(connection, "select * from q_fed")
    assert caught.value.sqlcode == -206


@pytest.mark.parametrize(
    ("sql", "sqlcode"),
    [
        ("select n, count(*) from q", -294),
        ("select n from q, systables t, q", -223),
        ("select tabid from systables a, systables b", -324),
        ("select n from q order by 3", -251),
        ("select n from q union select n, t from q", -317),
        ("select sum(t) from q", -367),
        ("select x.n from q", -522),
        ("select n from q where t between", -201),
        ("insert into q values (1)", -236),
        ("insert into q (n, nowhere) values (1, 2)", -217),
        ("update q set n = 'x'", -1213),
        ("update q set n = 3000000000", -1215),
        ("update q set d = 10000000", -1226),
        ("update q set w = '2024-02-30'", -1206),
        ("update q set i = 'x'", -1262),
        ("update systables set tabname = 'x'", -511),
        ("drop table systables", -511),
        ("select 'x' in n from q", -9650),
        ("merge into q using q as b on 1 = 1", -201),
        ("create trigger x insert on q (execute procedure y())", -999),
        ("create procedure q_loop() define x int; end procedure", -999),
        ("select q_nowhere.nextval from q", -522),
        ("release savepoint q_nowhere", -255),
        ("commit work", -255),
        ("drop index q_nowhere", -319),
        ("drop database testdb", -359),
        ("database q_nowhere", -329),
        ("create table q_bad (a int, a int)", -328),
        ("create table q_bad (a decimal(3,5))", -366),
        ("select lotofile(n, '/x', 'server') from q", -999),
    ],
)
def test_refusal(connection: Any, sql: str, sqlcode: int) -> None:
    with pytest.raises(informix_db.Error) as caught:
        rows(connection, sql)
    assert caught.value.sqlcode == sqlcode
    assert rows(connection, "select count(*) from q") == [(4,)]
