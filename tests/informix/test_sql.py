"""The SQL that users of Informix write, expression by expression, on the table that the fixture `connection` makes."""

from __future__ import annotations

import datetime
from decimal import Decimal as D
from typing import Any

import informix_db
import pytest

from headrace.testing import InformixServer

from .sample import rows

DAY = datetime.timedelta(days=1)
HOUR = datetime.timedelta(hours=1)


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
        ("to_char(mdy(2, 29, 2024), '%A %a %B %b %e %j %y')", "Thursday Thu February Feb 29 060 24"),
        ("to_char(datetime (2024-02-29 13:14:15) year to second, '%I:%M %p, %R, %T')", "01:14 PM, 13:14, 13:14:15"),
        ("to_date('29.02.2024 13:14', '%d.%m.%Y %H:%M')", datetime.datetime(2024, 2, 29, 13, 14)),
        ("to_date('February 29, 2024', '%B %d, %Y')", datetime.datetime(2024, 2, 29)),
        ("add_months(mdy(1, 31, 2024), 1)", datetime.date(2024, 2, 29)),
        ("add_months(mdy(2, 29, 2024), 12)", datetime.date(2025, 2, 28)),
        ("date('02/29/24')", datetime.date(2024, 2, 29)),
        ("month('02/29/2024') * 100 + weekday('2024-02-29')", 204),
        # A DATE is a DATETIME YEAR TO DAY beside an INTERVAL; the first operand has the fields that count.
        ("mdy(2, 28, 2024) + 1 units day", datetime.date(2024, 2, 29)),
        ("1 units day + mdy(2, 28, 2024)", datetime.date(2024, 2, 29)),
        ("datetime (2024-01-31) year to day - datetime (2024-01-30 10:00) year to minute", DAY),
        ("datetime (2024-01-31 10:00) year to minute - mdy(1, 30, 2024)", DAY + 10 * HOUR),
        ("interval (5) day to day + interval (3) hour to hour", 5 * DAY),
        ("interval (5) day to day * 1.5", 7 * DAY),
        ("case when interval (5) day to day / 2 = interval (2) day to day then 1 else 0 end", 1),
        ("case when interval (1 12) day to hour::interval day to day = 1 units day then 1 else 0 end", 1),
        ("current - current", datetime.timedelta(0)),
        (
            "case when extend(today, year to minute) = extend(datetime (00:00) hour to minute, year to minute) "
            "then 1 else 0 end",
            1,
        ),
        # numbers
        ("- -5", 5),
        ("- - -1.5", D("-1.5")),
        ("hex(-1)", "0xFFFFFFFF"),
        ("hex(4294967296)", "0x0000000100000000"),
        ("bitand(12, 10) * 10000 + bitor(12, 10) * 100 + bitxor(12, 10)", 81406),
        ("root(27, 3)", 3.0),
        ("nullif(1, 1)", None),
        # pieces of text
        ("substr('headrace', 0, 4) || substr('headrace', -4, 2)", "headra"),
        ("substring('headrace' from -1 for 4)", "he"),
        ("substring('headrace' from 0 for 2) || '|'", "h|"),
        ("left('headrace', 4) || right('headrace', 4) || reverse('ab')", "headraceba"),
        ("instr('abcabc', 'c', 1, 2) * 10 + charindex('b', 'abc')", 62),
        ("substring_index('www.example.com', '.', -2)", "example.com"),
        ("chr(65) || ascii('A')", "A65"),
        ("case when 'a*b' matches 'a\\*b' and not 'axb' matches 'a\\*b' then 1 else 0 end", 1),
        ("case when 'a-b' matches 'a[a-]b' and 'b' matches '[!-~]' then 1 else 0 end", 1),
        ("case when '50%' like '50z%' escape 'z' and not '500' like '50z%' escape 'z' then 1 else 0 end", 1),
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
        ("n in (select d / 2 + 3 from q)", []),
        ("n in (select d * 2 from q)", [3]),
        ("d * 2 in (select n from q)", [1]),
        ("n not in (select d * 2 from q where d is not null)", [1, 2, 4]),
        ("n not in (select d * 2 from q)", []),
        ("d in (select n from q where n > 100)", []),
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
        ("select n, d * 2 as k from q where n <> 3 order by k", [(2, D("-4.5")), (1, D(3)), (4, D(20))]),
        ("select cast(n as char(5)) || 'x' from q where n = 1", [("1    x",)]),
        ("select k from (select count(*) k from q) x where k > 3.5", [(4,)]),
        ("select count(*), count(t), count(distinct n / n) from q", [(4, 3, 1)]),
        ("select sum(n), avg(n), min(t), max(d) from q", [(10, D("2.5"), "four ", D("10.00"))]),
        ("select sum(d), avg(d) from q", [(D("9.25"), D("3.0833333333333333333333333333333"))]),
        ("select mod(n, 2), count(*), sum(n) from q group by 1 order by 1", [(0, 2, 6), (1, 2, 4)]),
        ("select n - n, sum(n) from q group by 1 having sum(n) > 5", [(0, 10)]),
        ("select distinct n / n from q", [(D(1),)]),
        ("select unique length(c) from q where c is not null", [(4,)]),
        ("select n from q where n < 3 union select n + 1 from q where n < 3 order by 1", [(1,), (2,), (3,)]),
        ("select n from q where n < 3 union all select 7 from q where n = 1 order by 1 desc", [(7,), (2,), (1,)]),
        # The limit of the first is that of all.
        ("select first 2 n from q where n = 4 union select n from q where n < 4 order by 1", [(1,), (2,)]),
        ("select skip 1 first 2 n from q where n = 4 union select n from q where n < 4 order by 1", [(2,), (3,)]),
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
        ("select count(*) from table(set{})", [(0,)]),
        ("select q.* from q where n = 3", [(3, None, None, None, None, None, None)]),
        ("select {a comment} n -- another\n from q /* and one more */ where n = 1", [(1,)]),
        ("select range(n), variance(n), stdev(n) from q where n < 4", [(D(2), D(1), D(1))]),
        ("select octet_length(c), char_length(c), length(c) from q where n = 1", [(8, 8, 4)]),
        ("select sum(i) from q where n < 3", [(DAY + 14 * HOUR,)]),
        ("select row_number() over (order by n desc), n from q where n < 3 order by n", [(2, 1), (1, 2)]),
        (
            "select n, sum(n) over (order by n), count(*) over () from q where n < 4 order by n",
            [(1, 1, 3), (2, 3, 3), (3, 6, 3)],
        ),
        (
            "select n, sum(d) over (order by n rows between 1 preceding and current row) from q order by n",
            [(1, D("1.5")), (2, D("-0.75")), (3, D("-2.25")), (4, D(10))],
        ),
        (
            "select n, lag(n) over (order by n), lead(n, 2, 0) over (order by n) from q where n < 4 order by n",
            [(1, None, 3), (2, 1, 0), (3, 2, 0)],
        ),
        (
            "select n, rank() over (order by mod(n, 2)) r, dense_rank() over (order by mod(n, 2)) from q order by n",
            [(1, 3, 2), (2, 1, 1), (3, 3, 2), (4, 1, 1)],
        ),
        (
            "select n, avg(d) over (partition by mod(n, 2)) from q where n in (2, 4) order by n",
            [(2, D("3.875")), (4, D("3.875"))],
        ),
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


def test_current_stands_still_while_a_statement_runs(connection: Any) -> None:
    found = rows(connection, "select distinct current year to fraction(5), sysdate from syscolumns a, syscolumns b")
    assert len(found) == 1


def test_a_datetime_without_its_first_fields_has_those_of_the_clock(connection: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("create temp table q_clock (a datetime year to minute)")
    cursor.execute("insert into q_clock values (datetime (10:20) hour to minute)")
    assert rows(connection, "select extend(a, year to day) - extend(today, year to day) from q_clock") == [
        (datetime.timedelta(0),)
    ]
    cursor.execute("drop table q_clock")


@pytest.mark.parametrize(
    "condition",
    [
        f"n in ({', '.join(str(n) for n in range(4000))})",
        " or ".join(f"n = {n}" for n in range(2000)),
        " and ".join(f"n <> {n}" for n in range(5, 2000)),
        f"{'(' * 100}n = n{')' * 100}",
    ],
    ids=["in", "or", "and", "brackets"],
)
def test_long_conditions_are_no_trouble(connection: Any, condition: str) -> None:
    assert rows(connection, f"select count(*) from q where {condition}") == [(4,)]


@pytest.mark.parametrize(
    "source",
    ["(select n, d * 2 k, upper(t) u from q) x", "x", "q_computed x"],
    ids=["derived table", "common table expression", "view"],
)
def test_what_a_query_computed_compares_and_sorts_as_what_it_is(connection: Any, source: str) -> None:
    cursor = connection.cursor()
    cursor.execute("create view q_computed (n, k, u) as select n, d * 2, upper(t) from q")
    start = "with x as (select n, d * 2 k, upper(t) u from q) " if source == "x" else ""
    for rest, numbers in (
        ("where k > 3", [4]),
        ("where k = 3", [1]),
        ("where k between -5 and 3 order by n", [1, 2]),
        ("where k is not null order by k", [2, 1, 4]),
        ("where n < 4 order by k desc", [1, 2, 3]),
        ("where u = 'FOUR'", [4]),
        ("where u in ('FOUR', 'ONE') order by u", [4, 1]),
        ("where u in (select upper(t) from q) order by n", [1, 2, 4]),
        ("where k in (select n from q)", [1]),
        ("where k = (select max(k) from (select d * 2 k from q) y)", [4]),
        (", q where x.k = q.n", [1]),
    ):
        assert rows(connection, f"{start}select x.n from {source} {rest}") == [(n,) for n in numbers], rest
    cursor.execute("drop view q_computed")


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
