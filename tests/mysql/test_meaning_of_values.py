"""A value means the same sent as a parameter, written into the text by headrace, and written by hand."""

from __future__ import annotations

import datetime as dt
import decimal
import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow
import pymysql
import pytest
import sqlalchemy as sa

import headrace.aio.mysql
import headrace.mysql
from headrace import errors
from long import every
from served import Served, fresh

from .literals import literal

Conn = headrace.mysql.Connection[Any]
D = decimal.Decimal
DAY = dt.date(2024, 2, 29)
INSTANT = dt.datetime(2024, 2, 29, 13, 14, 15, 678901)
HOURS = dt.timedelta(hours=30, minutes=5, seconds=6)
VALUES: list[Any] = [
    1, -7, 2**63, True, 1.5, -0.25, 1e300, D("1.50"), D("123456789.123456789"), D("12345678901234567890.12"), "abc",
    "2024-02-29", "2024-02-29 13:14:15.5", "13:14:15", "12", "1.50", "äö😀", "a\\b", "", DAY,
    INSTANT.replace(microsecond=0), INSTANT, HOURS, dt.timedelta(hours=3, seconds=6, microseconds=700_000), b"abc",
    b"12", b"\xff\0", None,
]  # fmt: skip
EXPRESSIONS = """
? | ? + 1 | ? - 0.1 | ? * 2 | ? / 3 | ? div 2 | ? % 3 | -? | ? || 1 | concat(?, 'x') | concat(1, ?) | upper(?) |
lower(?) | length(?) | char_length(?) | hex(?) | coalesce(?, 5) | coalesce(?, 'z') | ifnull(?, 1.5) | ifnull(?, 0) |
if(?, 'y', 'n') | if(1, ?, 'n') | if(1, ?, 5) | case when 1 then ? else 'x' end | nullif(?, 'q') | greatest(?, 1) |
greatest(?, 'b') | least(?, 2.5) | ? = 1 | ? = '1' | ? > 'a' | ? in (1, 2) | ? in ('abc', 'x') | ? between 0 and 100 |
? like '%1%' | ? regexp '^[0-9]' | ? is null | not ? | date(?) | time(?) | year(?) | hour(?) | minute(?) |
microsecond(?) | to_days(?) | unix_timestamp(?) | from_unixtime(?) | date_add(?, interval 1 day) |
date_add(?, interval 90 minute) | ? + interval 1 month | ? - interval 1 second |
date_format(?, '%Y/%m/%d %H:%i:%s.%f') | time_format(?, '%H:%i:%s') | addtime(?, '01:00:00') |
subtime(?, '01:00:00') | timediff(?, '01:00:00') |
timediff('2024-02-29 14:00:00', ?) | datediff(?, '2024-02-01') | timestampdiff(minute, ?, '2024-03-01') |
timestampadd(hour, 2, ?) | timestamp(?) | timestamp(?, '01:00:00') | time_to_sec(?) | sec_to_time(?) |
maketime(?, 1, 2) | makedate(2024, ?) | str_to_date(?, '%Y-%m-%d') | convert_tz(?, '+00:00', '+02:00') | last_day(?) |
week(?) | quarter(?) | extract(hour from ?) | extract(day_microsecond from ?) | cast(? as char) | cast(? as signed) |
cast(? as decimal(20, 4)) | cast(? as date) | cast(? as datetime(6)) | cast(? as time(6)) | cast(? as binary) |
round(?) | round(?, 1) | round(1.2345, ?) | floor(?) | ceil(?) | abs(?) | sign(?) | truncate(?, 1) | format(?, 2) |
sqrt(abs(?)) | conv(?, 10, 16) | bin(?) | oct(?) | ascii(?) | lpad(?, 6, '-') | repeat(?, 2) | substring(?, 2) |
left(?, 2) | replace(?, '1', 'Q') | trim(?) | reverse(?) | instr(?, '1') | locate('1', ?) | find_in_set(?, '1,2') |
md5(?) | crc32(?) | elt(?, 'a', 'b') | field(?, 1, 2) | field(?, 'abc', 'x') | interval(?, 1, 10) |
json_object('k', ?) | json_array(?) | json_quote(?) | json_set('{}', '$.a', ?) | cast(? as json) | ? & 7 | ? | 8 |
~? | ? << 2 | bit_count(?) | sum(?) | max(?) | avg(?) | count(?) | group_concat(?) | inet_aton(?) | quote(?) |
convert(? using latin1) | convert(? using utf8mb4) | (?) collate utf8mb4_bin | binary ? | ord(?) | soundex(?) |
strcmp(?, 'abc') | mod(?, 2) | bit_length(?) | row(?, 1) = row(1, 1) | ? <=> null | ? xor 1 |
exists(select 1 where ? = 1) | (select ?) | (select max(x) from (select ? as x union all select 5) q) |
(select min(x) from (select 'b' as x union all select ?) q) | (select ? union select '1' limit 1) |
(with c as (select ? as n) select n from c) | coalesce(cast('13:14:15' as time), ?) |
(select x from (select ? as x) q where x = ?) | concat(?, ' to ', ?) | coalesce(null, ?, ?) | greatest(?, ?) |
case ? when 1 then 'one' else ? end | (? = ?) + 0
"""
SEVERAL = re.compile(r"\s\|\s(?!8)")
"""What is between two expressions."""
COLUMNS = {
    "i int": ["1", "2", "20240229", "0"],
    "bi bigint unsigned": ["18446744073709551615", "1", "9007199254740993"],
    "de decimal(30,10)": ["1.1", "0.1", "12345678901234567890.0123456789"],
    "fl float": ["1.1", "0.5"],
    "db double": ["1.1", "0.1", "1e20"],
    "vc varchar(40)": [
        "'1'", "'01'", "'1.0'", "'abc'", "'ABC'", "'abc '", "'é'", "'2024-02-29'", "'2024-02-29 13:14:15.678901'",
        "'1e0'", "''", "'30:00:00'",
    ],
    "l1 varchar(20) character set latin1": ["'é'", "'E'", "'1'", "'abc'"],
    "vb varbinary(30)": ["'abc'", "'1'", "x'c3a9'", "'2024-02-29'"],
    "bn varchar(20) collate utf8mb4_bin": ["'abc'", "'ABC'", "'é'"],
    "d date": ["'2024-02-29'", "'2024-03-01'"],
    "dt datetime(6)": ["'2024-02-29 00:00:00'", "'2024-02-29 13:14:15.678901'"],
    "ts timestamp(3) null": ["'2024-02-29 13:14:15.678'", "'2024-02-29 00:00:00'"],
    "t time(6)": ["'13:14:15.678901'", "'30:00:00'", "'-01:00:00'"],
    "y year": ["2024", "1901"],
    "en enum('1','2','abc')": ["'1'", "'abc'", "'2'"],
    "st set('a','b','1')": ["'a,b'", "'1'"],
    "js json": ["'1'", "'\"abc\"'", "'{\"a\":1}'", "'[1]'", "'true'", "'1.1'"],
    "bt bit(9)": ["b'1'", "b'110001'", "b'1100001'"],
}  # fmt: skip
CONDITIONS = [
    "{c} = ?", "{c} > ?", "{c} <= ?", "{c} <> ?", "{c} <=> ?", "{c} in (?)", "{c} in (?, ?)", "{c} in (?, 'zzz')",
    "{c} not in (?, ?)", "{c} between ? and ?", "{c} like ?", "? = {c}", "concat({c}, ?) = concat(?, ?)",
    "1 = ?", "? <= 2.5", "49 in (?)", "coalesce({c}, ?) = ?", "case when {c} = ? then 1 else 0 end = 1",
]  # fmt: skip
COMPARED: list[Any] = [
    1, 0, 2, 49, True, 20240229, 2**64 - 1, 9007199254740993, 1.1, 0.1, 0.5, 1e20, 1.0, D("1.1"), D("0.1"),
    D("12345678901234567890.0123456789"), D("1.10"), D("1"), "1", "01", "1.0", "1.1", "abc", "ABC", "abc ", "é", "E",
    "", "2024-02-29", "2024-02-29 00:00:00", "2024-02-29 13:14:15.678901", "13:14:15.678901", "30:00:00", "a,b", "true",
    '{"a":1}', "[1]", '"abc"', b"abc", b"1", "é".encode(), b"2024-02-29", DAY, dt.datetime(2024, 2, 29), INSTANT,
    dt.timedelta(hours=30), dt.time(13, 14, 15, 678901), dt.timedelta(hours=-1), None,
]  # fmt: skip


def shown(value: Any) -> Any:
    """A value with its type. Dates that do not exist are text, with or without a fraction of zeros; whole numbers are
    ``int`` or ``Decimal``, which MariaDB decides otherwise for a parameter."""
    if isinstance(value, str) and value.startswith("0000-"):
        return re.sub(r"\.0+$", "", value)
    if isinstance(value, D) and value.as_tuple().exponent == 0:
        value = int(value)
    return type(value).__name__, value


def outcome(run: Callable[[], Any]) -> Any:
    """The rows with their types, or the number of the error."""
    try:
        return [tuple(shown(one) for one in row) for row in run()]
    except (errors.Error, pymysql.Error) as error:
        return getattr(error, "sqlcode", None) or error.args[0]


class Compared:
    """The three ways, on connections of their own."""

    def __init__(self, served: Served, database: str) -> None:
        settings: dict[str, Any] = {"autocommit": True, "unrepresentable": "text", "json_text": True}
        self.bound: Conn = headrace.mysql.connect(served.url(database), **settings)
        self.text: Conn = headrace.mysql.connect(served.url(database), prepared=False, **settings)
        self.other = pymysql.connect(**served.where, database=database, autocommit=True)

    def by_hand(self, sql: str) -> Any:
        cursor = self.other.cursor()
        cursor.execute(sql)
        return cursor.fetchall()

    def differs(self, sql: str, value: Any) -> str | None:
        """What differs, in a line."""
        params = (value,) * sql.count("?")
        first = outcome(lambda: [*self.bound.execute(sql, params)])
        second = outcome(lambda: [*self.text.execute(sql, params)])
        third = outcome(lambda: self.by_hand(sql.replace("?", literal(value))))
        if "json" in sql and (value is None or isinstance(value, bytes)):
            # PyMySQL does not always decode it, and it may be no text.
            third = second
        if first == second == third:
            return None
        return f"{sql} {value!r}: {first}, as text {second}, by hand {third}"

    def close(self) -> None:
        for conn in (self.bound, self.text, self.other):
            conn.close()


@pytest.fixture(scope="module")
def compared(my_server: Served, my_url: str) -> Iterator[Compared]:
    made = Compared(my_server, my_url.rpartition("/")[2])
    yield made
    made.close()


def test_expressions(compared: Compared) -> None:
    cases = [(expression, value) for expression in SEVERAL.split(EXPRESSIONS.strip()) for value in VALUES]
    found = [compared.differs(f"select {expression}", value) for expression, value in cases[:: every(7)]]
    assert [line for line in found if line] == []


@pytest.mark.parametrize("column", COLUMNS)
def test_conditions(compared: Compared, column: str) -> None:
    name = column.split()[0]
    fresh(compared.bound, f"table compared (id int auto_increment primary key, {column})")
    for written in COLUMNS[column]:
        compared.bound.executescript(f"insert into compared ({name}) values ({written})")
    cases = [(condition, value) for condition in CONDITIONS for value in COMPARED]
    found = []
    for condition, value in cases[:: every(7)]:
        found.append(compared.differs(f"select id from compared where {condition.format(c=name)} order by id", value))
    assert [line for line in found if line] == []


STORED: list[tuple[str, Any]] = [
    ("insert into kept (s) values (cast(? as char))", HOURS),
    ("insert into kept (s) values (cast(? as char))", INSTANT),
    ("insert into kept (s) select cast(? as char)", INSTANT),
    ("insert into kept (s) values (concat('took ', ?))", HOURS),
    ("insert into kept (b) values (cast(? as binary))", HOURS),
    ("insert into kept (b) values (convert(? using latin1))", HOURS),
    ("insert into kept (s) values (coalesce(?, 0))", "abc"),
    ("insert into kept (s) values (ifnull(?, 0))", "2024-02-29"),
    ("insert into kept (s) values (time(?))", INSTANT),
    ("insert into kept (s) values (timestamp(?))", INSTANT),
    ("insert into kept set s = if(? > 0, 1, 2)", "1"),
    ("insert into kept (id, s) values (1, 'x') on duplicate key update s = concat('was ', ?)", HOURS),
    ("update kept set s = cast(? as char)", HOURS),
    ("update kept set s = concat(s, ?)", INSTANT),
    ("replace into kept (id, s) values (1, -?)", D("12345678901234567890.12")),
]
STRATEGIES = ("auto", "bulk", "joined", "pipelined")


def piped(conn: Conn, sql: str, value: Any) -> list[Any]:
    """The rows of the second of two executions."""
    with conn.pipeline():
        conn.execute(sql, (value,))
        cursor = conn.execute(sql, (value,))
    return cursor.fetchall()


def batch(conn: Conn, sql: str, value: Any, strategy: str) -> None:
    """A batch of one row."""
    conn._wait(conn._core.wire.execute_batch(sql, [(value,)], strategy=strategy), None)


@pytest.mark.parametrize(("sql", "value"), STORED)
def test_what_is_stored(compared: Compared, sql: str, value: Any) -> None:
    ways: dict[str, Callable[[], Any]] = {
        "by hand": lambda: compared.by_hand(sql.replace("?", literal(value))),
        "as text": lambda: compared.text.execute(sql, (value,)),
        "execute": lambda: compared.bound.execute(sql, (value,)),
    }
    for strategy in STRATEGIES:
        ways[strategy] = functools.partial(batch, compared.bound, sql, value, strategy)
    stored = {}
    for way, run in ways.items():
        fresh(compared.bound, "table kept (id int auto_increment primary key, s varchar(80), b varbinary(200))")
        compared.bound.execute("insert into kept (s) values ('before')")
        run()
        stored[way] = compared.bound.fetch("select * from kept order by id")
    assert stored == dict.fromkeys(ways, stored["by hand"])


def nothing_of(run: Callable[[], Any]) -> list[Any]:
    """Runs it, for its error."""
    run()
    return []


SHORTENED: list[tuple[str, Any]] = [
    ("insert into kept (s) values (cast(? as char(3)))", 2**64 - 1),
    ("insert into kept (s) values (convert(?, char(3)))", 1e300),
    ("insert into kept (b) select cast(? as binary(3))", D("12345.6")),
    ("update kept set s = cast(coalesce(?, s) as char(3))", HOURS),
    ("insert into kept (s) values (cast(? as signed))", dt.timedelta(hours=-30)),
]


@pytest.mark.parametrize("sql_mode", ["", "STRICT_ALL_TABLES"])
@pytest.mark.parametrize(("sql", "value"), SHORTENED)
def test_what_a_cast_cuts_is_refused_as_its_literal_is(compared: Compared, sql: str, value: Any, sql_mode: str) -> None:
    ways: dict[str, Callable[[], Any]] = {
        "by hand": lambda: compared.by_hand(sql.replace("?", literal(value))),
        "as text": lambda: compared.text.execute(sql, (value,)),
        "execute": lambda: compared.bound.execute(sql, (value,)),
    }
    for strategy in STRATEGIES:
        ways[strategy] = functools.partial(batch, compared.bound, sql, value, strategy)
    stored = {}
    setting = f"set sql_mode = '{sql_mode}'"
    try:
        for conn in (compared.bound, compared.text):
            conn.execute(setting)
        compared.by_hand(setting)
        for way, run in ways.items():
            fresh(compared.bound, "table kept (id int auto_increment primary key, s varchar(80), b varbinary(200))")
            compared.bound.execute("insert into kept (s) values ('before')")
            refused = outcome(functools.partial(nothing_of, run))
            stored[way] = (refused, compared.bound.fetch("select s, b from kept order by id"))
    finally:
        for conn in (compared.bound, compared.text):
            conn.execute("set sql_mode = default")
        compared.by_hand("set sql_mode = default")
    assert stored == dict.fromkeys(ways, stored["by hand"])


REPORTS: list[tuple[str, tuple[Any, ...]]] = [
    ("select date_format(d, ?) m, sum(n) from report group by date_format(d, ?) order by 1", ("%Y", "%Y")),
    ("select n div ?, count(*) from report group by n div ? order by 1", (2, 2)),
    (
        "select case when n > ? then ? else ? end k, count(*) from report "
        "group by case when n > ? then ? else ? end order by 1",
        (1, "big", "small", 1, "big", "small"),
    ),
    ("select coalesce(s, ?) k from report group by coalesce(s, ?) order by coalesce(s, ?)", ("x", "x", "x")),
    ("select distinct substr(s, ?) from report order by substr(s, ?)", (1, 1)),
    ("select distinct concat(s, ?) from report order by concat(s, ?)", ("!", "!")),
    ("select concat(s, ?) from report group by s, concat(s, ?) order by 1", ("!", "!")),
    ("select n + ? k from report group by k order by k", (1,)),
    ("select s from report order by ?", (1,)),
    ("select n, s from report order by ? desc", (1,)),
    ("select s, count(*) from report group by ? order by 1", (1,)),
    ("select s from report order by field(id, ?, ?, ?)", (3, 1, 2)),
    ("select sum(n) from report group by year(d) having sum(n) > ? order by 1", (0,)),
    ("select s, count(*) from report where s = ?", ("a",)),
    ("select s, n, max(d) from report where s = ? and n = ? group by id", ("a", 2)),
    ("select (select max(n) from report where s = ?) k, count(*) from report group by k", ("a",)),
    ("select distinct if(n > ?, ?, ?) from report order by 1", (1, b"more", b"one")),
    ("select case when n > 1 then ? else ? end k, count(*) from report group by k order by k", (b"big", b"small")),
    ("select distinct coalesce(nullif(s, 'a'), ?) from report order by 1", (b"x",)),
    ("select distinct k from (select concat(s, ?) k from report) q order by k", (b"!",)),
]


REPORTED: dict[str, Any] = {"d": sa.Date(), "n": sa.Integer(), "s": sa.String(20)}


@pytest.mark.parametrize(("query", "params"), REPORTS)
def test_reports(compared: Compared, query: str, params: tuple[Any, ...]) -> None:
    fresh(compared.bound, "table report (id int primary key, d date, n int, s varchar(20))")
    compared.bound.executescript(
        "insert into report values (1, '2023-01-05', 3, 'c'), (2, '2024-01-06', 1, 'b'), (3, '2024-02-07', 2, 'a')"
    )
    written = query
    for value in params:
        written = written.replace("?", literal(value), 1)
    expected = outcome(lambda: compared.by_hand(written))
    assert isinstance(expected, list)
    for _ in range(2):
        assert outcome(lambda: [*compared.bound.execute(query, params)]) == expected


def test_reports_of_sqlalchemy(my_url: str) -> None:
    scheme, _, where = my_url.partition("://")
    table = sa.table("report", *(sa.column(name, kind) for name, kind in REPORTED.items()))
    created = sa.func.date_format(table.c.d, "%Y")
    found = []
    for driver in ("headrace", "pymysql"):
        engine = sa.create_engine(f"{scheme}+{driver}://{where}")
        with engine.connect() as conn:
            conn.exec_driver_sql("drop table if exists report")
            conn.exec_driver_sql("create table report (d date, n int, s varchar(20))")
            rows = [{"d": DAY, "n": 3, "s": "c"}, {"d": dt.date(2023, 1, 1), "n": 1, "s": None}]
            conn.execute(sa.insert(table), rows)
            for key in (
                created,
                sa.case((table.c.n > 1, "big"), else_="small"),
                sa.func.coalesce(table.c.s, "x"),
                table.c.n / 2,
                table.c.s + "!",
                sa.cast(sa.literal(INSTANT.replace(microsecond=0)), sa.String(40)),
            ):
                found.append(conn.execute(sa.select(key, sa.func.sum(table.c.n)).group_by(key).order_by(key)).all())
                found.append(conn.execute(sa.select(key).distinct().order_by(key)).all())
        engine.dispose()
    half = len(found) // 2
    assert found[:half] == found[half:]


DEFINED: list[tuple[str, tuple[Any, ...], str]] = [
    ("trigger defined before insert on held for each row set new.a = concat(new.a, ?)", ("!",), "insert"),
    ("function defined() returns int deterministic return ?", (5,), "select defined()"),
    ("procedure defined() select ?", (5,), "call defined()"),
    ("view defined as select * from held where id > ?", (0,), "select count(*) from defined"),
    (
        "table defined (a varchar(10) default ?, b int comment ? check (b <> ?))",
        ("q", "it's", 3),
        "select * from defined",
    ),
    ("table defined as select ? as a, ? as b", ("x", INSTANT), "select * from defined"),
    (
        "event defined on schedule every 1 day do insert into held values (?, ?)",
        (7, "e"),
        "select event_definition from information_schema.events where event_name = 'defined'",
    ),
]


@pytest.mark.parametrize(("what", "params", "check"), DEFINED)
def test_definitions(compared: Compared, what: str, params: tuple[Any, ...], check: str) -> None:
    kind, written, found = what.split()[0], what, []
    for value in params:
        written = written.replace("?", literal(value), 1)
    for define in (
        lambda: compared.bound.execute(f"create {what}", params),
        lambda: compared.by_hand(f"create {written}"),
    ):
        fresh(compared.bound, "table held (id int, a varchar(20))")
        compared.bound.executescript(f"drop {kind} if exists defined")
        define()
        if check == "insert":
            compared.bound.executescript("insert into held values (1, 'x')")
            found.append(compared.bound.fetch("select a from held"))
        else:
            found.append(compared.bound.executescript(check).fetchall())
        compared.bound.executescript(f"drop {kind} defined")
    assert found[0] == found[1]


EXPECTED = "30:05:06"
QUERY = "select cast(? as char) as a"


def test_each_way_to_a_value(my: Conn, my_server: Served) -> None:
    assert my.fetchval(QUERY, HOURS) == EXPECTED
    assert my.fetchrow(QUERY, HOURS) == (EXPECTED,)
    assert my.fetch(QUERY, HOURS) == [(EXPECTED,)]
    assert piped(my, QUERY, HOURS) == [(EXPECTED,)]
    assert my.fetchmany(QUERY, [(HOURS,), (HOURS,)]) == [(EXPECTED,)] * 2
    assert list(my.stream(QUERY, (HOURS,))) == [(EXPECTED,)]
    assert pyarrow.table(my.fetch_arrow(QUERY, HOURS)).to_pylist() == [{"a": EXPECTED}]


GUESSED = ("concat(?, '')", "hex(?)", "abs(?)", "-?", "coalesce(?, 1)", "truncate(?, 2)", "concat(a, ?)")
TABLES = (
    "select q.x from (select {} as x from src order by a limit 2) q",
    "select lag({}) over (order by a) from src",
    "select first_value({}) over w from src window w as (order by a)",
    "with c as (select {} as x from src limit 2) select x from c",
    "select x from (select max(x) as x from (select {} as x from src limit 2) q) r",
)
"""Queries for which the server makes tables of its own, with ``{}`` for an expression."""
CUT = [INSTANT, HOURS, dt.timedelta(microseconds=5), 2**64 - 1, 1e300, D("123456789012345678.123456789"), "äö😀", None]


@pytest.mark.parametrize("table", TABLES)
def test_tables_of_the_server_s_own_do_not_cut_values(compared: Compared, table: str) -> None:
    fresh(compared.bound, "table src (a varchar(60))")
    compared.bound.executescript("insert into src values ('x'), ('y')")
    found = [compared.differs(table.format(guessed), value) for guessed in GUESSED for value in CUT]
    assert [line for line in found if line] == []


@pytest.mark.parametrize("guessed", GUESSED)
def test_a_table_that_is_read_while_it_is_written_to_stores_whole_values(compared: Compared, guessed: str) -> None:
    fresh(compared.bound, "table src (a varchar(60))")
    found = []
    for value in CUT:
        for conn in (compared.bound, compared.text):
            conn.executescript("truncate src")
            conn.executescript("insert into src values ('x')")
            sql = f"insert into src select {guessed.replace('a,', 'b,')} from src, (select 'y' as b) other"
            refused = outcome(functools.partial(conn.execute, sql, (value,)))
            found.append((refused, conn.executescript("select hex(a) from src order by 1").fetchall()))
    assert found[::2] == found[1::2]


@pytest.mark.parametrize(
    "sql",
    [
        "select a from src order by a limit ?",
        "select a from src limit 1 offset ?",
        "select a from src order by a fetch first ? rows only",
        "select a from src order by a offset ? rows fetch next ? rows only",
    ],
)
def test_a_number_of_rows_is_a_whole_number(compared: Compared, sql: str) -> None:
    fresh(compared.bound, "table src (a varchar(60))")
    compared.bound.executescript("insert into src values ('x'), ('y'), ('z')")
    for value in (1, "1", "abc", -1, 1, None, D("1.5"), 2**64 - 1, 0, 2):
        executes: tuple[Any, ...] = (compared.bound.execute, compared.text.execute)
        ways: list[Any] = [functools.partial(way, sql, (value,)) for way in executes]
        ways.append(functools.partial(compared.bound.stream, sql, (value,), on_server=True))
        found = [outcome(way) for way in ways]
        assert isinstance(found[1], list) or not any(isinstance(rows, list) for rows in found), (value, found)
        assert not isinstance(found[1], list) or found[0] == found[1] == found[2], (value, found)


@pytest.mark.parametrize("guessed", GUESSED)
def test_cursors_on_the_server_do_not_cut_values(compared: Compared, guessed: str) -> None:
    fresh(compared.bound, "table src (a varchar(60))")
    compared.bound.executescript("insert into src values ('x')")
    sql = f"select {guessed} from src"
    for value in CUT:
        by_hand = functools.partial(compared.bound.stream, sql.replace("?", literal(value)), on_server=True)
        bound = functools.partial(compared.bound.stream, sql, (value,), on_server=True)
        first = outcome(bound)
        # What is prepared for one is not taken for the other.
        outcome(functools.partial(compared.bound.execute, sql, (value,)))
        assert first == outcome(bound) == outcome(by_hand)


@pytest.mark.parametrize("value", [HOURS, "a'b\\c", b"\xff\0'", None, 1.5])
def test_cursors_on_the_server_read_block_by_block(my: Conn, my_server: Served, value: Any) -> None:
    query = f"select concat(?, '') as a, seq from {my_server.series(5)}"
    expected = [(my.fetchval("select concat(?, '')", value), n) for n in range(1, 6)]
    for _ in range(2):
        stream = my.stream(query, (value,), fetch_size=1, on_server=True)
        assert next(stream) == expected[0]
        # The rows are still on the server: another statement is answered in between.
        assert my.fetchval("select 7") == 7
        assert [*stream] == expected[1:]


async def test_on_a_loop(amy: Any) -> None:
    assert await amy.fetchval(QUERY, HOURS) == EXPECTED
    assert [row async for row in amy.stream(QUERY, (HOURS,), on_server=True)] == [(EXPECTED,)]
    async with amy.pipeline():
        cursors = [await amy.execute(QUERY, (HOURS,)) for _ in range(2)]
    assert [await cursor.fetchall() for cursor in cursors] == [[(EXPECTED,)]] * 2


def executed(conn: Conn) -> tuple[int, int]:
    """How many statements the server has prepared for the session, and executed of them."""
    found = dict(conn.executescript("show session status like 'Com_stmt%'").fetchall())
    return int(found["Com_stmt_prepare"]), int(found["Com_stmt_execute"])


USUAL: list[tuple[str, tuple[Any, ...]]] = [
    ("select * from usual where id = ?", (1,)),
    ("select u.a from usual u where u.id in (?, ?, ?) order by u.id limit ? offset ?", (1, 2, 3, 10, 0)),
    ("select a from usual where (a = ? or a like ?) and made between ? and ?", ("x", "y%", DAY, INSTANT)),
    ("select count(*) from (select id from usual where a = ?) q", ("x",)),
    ("insert into usual (a, made) values (?, ?)", ("x", INSTANT)),
    ("insert into usual (id, a) values (?, ?) on duplicate key update a = ?", (1, "x", "y")),
    ("replace into usual (id, a, made) values (?, ?, now())", (1, "x")),
    ("update usual set a = ?, made = ? where id = ?", ("x", DAY, 1)),
    ("delete from usual where id = ? and a <> ?", (1, "x")),
]


@pytest.mark.parametrize(("sql", "params"), USUAL)
def test_usual_statements_stay_prepared(my: Conn, sql: str, params: tuple[Any, ...]) -> None:
    fresh(my, "table usual (id int auto_increment primary key, a varchar(20), made datetime(6))")
    before = executed(my)
    for _ in range(3):
        my.execute(sql, params)
    after = executed(my)
    assert (after[0] - before[0], after[1] - before[1]) == (1, 3)


def test_only_mysql_prepares_queries_within_a_condition(my: Conn, my_server: Served) -> None:
    fresh(my, "table usual (id int auto_increment primary key, a varchar(20), made datetime(6))")
    before = executed(my)
    for _ in range(3):
        my.execute("select 1 from usual where exists (select 1 from usual v where v.a = ?) limit ?, ?", ("x", 0, 1))
    after = executed(my)
    expected = (0, 0) if my_server.is_mariadb else (1, 3)
    assert (after[0] - before[0], after[1] - before[1]) == expected


def test_what_goes_as_text_is_not_prepared_at_all(my: Conn, my_server: Served) -> None:
    before = executed(my)
    for _ in range(3):
        assert my.fetchval("select hour(time(?))", INSTANT) == 13
    assert executed(my) == before
