"""What the test server does not do, cannot say, or was asked wrongly: the error that a server has for it, and where."""

from __future__ import annotations

import datetime
from typing import Any

import informix_db
import pytest

import headrace.informix
from headrace.testing import InformixServer

from .sample import rows


@pytest.mark.parametrize(
    ("expression", "sqlcode"),
    [
        # what cannot be said with the fields or digits that there are
        ("9223372036854775807 + 1", -1284),
        ("2147483647 + 1", -1215),
        ("1e125 * 1e125", -1200),
        ("1e-100 * 1e-100", -1201),
        ("1e200", -1200),
        ("'1e2000000000' + 1", -1213),
        ("power(10, 308) * 10", -1226),
        ("12345::char(3)", -1207),
        ("today + 2000000000", -1210),
        ("mdy(12, 31, 9999) + 1", -1210),
        ("mdy(1, 15, 2024) + 36 units hour", -1266),
        ("datetime (2024-01-31 10:00) year to minute + 90 units second", -1266),
        ("datetime (10:00) hour to minute + 15 units hour", -1267),
        ("datetime (9999-12-31) year to day + 1 units day", -1267),
        ("interval (3) hour to hour + interval (5) day to day", -1266),
        ("interval (1) day to day + interval (1) month to month", -1266),
        ("interval (1) day to day / 0", -1202),
        ("interval (1 24:00) day to minute", -1263),
        ("datetime (2024-01-01 10) year to day", -1264),
        # not a number
        ("trunc(current - current)", -1260),
        ("abs(current)", -1260),
        ("case when current = 5 then 1 end", -1260),
        ("case when interval (1) day to day = interval (1) month to month then 1 end", -1266),
        ("case when today > interval (1) day to day then 1 end", -1266),
        ("year(datetime (10:00) hour to minute)", -1268),
        ("2::boolean", -9648),
        # formats
        ("to_char(today, '%Q')", -1276),
        ("to_char(today, 'YYYY')", -999),
        ("to_char(1.5, '#.##')", -999),
        ("to_date('2024-02-30', '%Y-%m-%d')", -1263),
        ("to_date('x', '%Y-%m-%d')", -1277),
        # names of SQLite's
        ("typeof(1)", -674),
        ("0x41", -201),
        ("'abc'[0,1]", -201),
        ("substr('abc', 2, -1)", -999),
    ],
)
def test_no_value(connection: Any, expression: str, sqlcode: int) -> None:
    with pytest.raises(informix_db.Error) as caught:
        rows(connection, f"select {expression} from table(set{{1}})")
    assert caught.value.sqlcode == sqlcode


def test_dates_as_text_are_refused_where_their_form_is_another(server: InformixServer, monkeypatch: Any) -> None:
    monkeypatch.setenv("DBDATE", "DMY4.")
    address = {name: value for name, value in server.parameters().items() if name != "port"}
    with headrace.informix.connect(**address, port=server.port) as other:
        cursor = other.cursor()
        cursor.execute("create temp table q_dates (d date)")
        cursor.execute("insert into q_dates values (?)", (datetime.date(2024, 3, 2),))
        assert cursor.execute("select d from q_dates").fetchall() == [(datetime.date(2024, 3, 2),)]
        for sql, values in (
            ("insert into q_dates values ('02.03.2024')", ()),
            ("insert into q_dates values (?)", ("02.03.2024",)),
            ("select d::char(10) from q_dates", ()),
        ):
            with pytest.raises(headrace.informix.Error) as caught:
                cursor.execute(sql, values).fetchall()
            assert "-999" in str(caught.value)


@pytest.mark.parametrize(
    "sql",
    [
        f"select {'(' * 5000}1{')' * 5000} from q",
        f"select n from q where {'not ' * 5000}n = 1",
        f"select {'- ' * 5000}n from q",
        f"select {'case when 1 = 1 then ' * 5000}1{' end' * 5000} from q",
        f"select * from {'(select * from ' * 5000}q{')' * 5000}",
        f"select * from {'(' * 5000}q{')' * 5000}",
        f"create table q_deep (a {'set(' * 5000}int{')' * 5000})",
        f"select {' + '.join(['1'] * 5000)} from q",
        f"select n from q where {'exists (select 1 from q where ' * 5000}1 = 1{')' * 5000}",
    ],
    ids=["brackets", "not", "minus", "case", "queries", "tables", "types", "sum", "exists"],
)
def test_a_statement_too_deep_is_refused_and_the_server_lives(connection: Any, sql: str) -> None:
    with pytest.raises(informix_db.Error) as caught:
        rows(connection, sql)
    assert caught.value.sqlcode == -999
    assert rows(connection, "select count(*) from q") == [(4,)]


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
        ("update q set w = '29.02.2024'", -1206),
        ("update q set i = 'x'", -1262),
        ("update systables set tabname = 'x'", -511),
        ("drop table systables", -511),
        ("rename table systables to q_tables", -511),
        ("rename column systables.tabname to q_name", -511),
        ("create index q_i on systables (tabname)", -511),
        ("drop nonsense q", -201),
        ("select nvl(n, 1,) from q", -201),
        ("insert into q (n) values (1,)", -201),
        ("select 'x' in n from q", -9650),
        ("merge into q using q as b on 1 = 1", -999),
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
        ("select * from q where n in (select n, t from q)", -999),
        ("select (select n, t from q where n = 1) from q", -999),
        ("select n from q union select t from q", -308),
        ("with a (x) as (select n, t from q) select * from a", -201),
        ("select distinct n from q for update", -201),
        ("select max(n) from q for update", -201),
        ("select n, n from q into temp q_bad", -328),
        ("select n + 1 from q into temp q_bad", -249),
        ("insert into q (n, n) values (1, 2)", -201),
        ("select * from q, lateral (select 1 from q) x", -999),
        ("select a.n from q a, outer (q b, q c) where a.n = b.n", -999),
        ("lock table q in exclusive mode", -255),
        ("lock table q_nowhere in share mode", -206),
        ("grant select on q_nowhere to public", -206),
        ("grant nonsense", -201),
        ("update statistics for table q_nowhere", -206),
        ("set constraints all disabled", -999),
        ("set indexes q_nowhere disabled", -999),
        ("set session authorization to 'x'", -999),
        ("set role q_nowhere", -999),
        ("set transaction read only", -999),
        ("set transaction isolation level read committed, read only", -999),
        ("select n from q where row_number() over (order by n) = 1", -999),
        ("select row_number() from q", -201),
        ("select count(distinct n) over () from q", -999),
    ],
)
def test_refusal(connection: Any, sql: str, sqlcode: int) -> None:
    with pytest.raises(informix_db.Error) as caught:
        rows(connection, sql)
    assert caught.value.sqlcode == sqlcode
    assert "sqlite" not in str(caught.value).lower()
    assert rows(connection, "select count(*) from q") == [(4,)]


@pytest.mark.parametrize(
    ("sql", "sqlcode", "offset"),
    [
        ("selec n from q", -201, 1),
        ("select n frm q", -201, 14),
        ("select n, from q", -201, 11),
        ("select n from q where n = 1 and", -201, 32),
        ("select nowhere from q", -217, 8),
        ("select n from nowhere", -206, 15),
        ("select n from q where nowhere(n) = 1", -674, 23),
        ("select n from q order by nowhere", -217, 26),
        ("update q set nowhere = 1", -217, 14),
        ("delete from q where t = 'x", -282, 25),
        ("select n # from q", -202, 10),
    ],
)
def test_a_mistake_is_shown_where_it_is(connection: Any, sql: str, sqlcode: int, offset: int) -> None:
    with pytest.raises(informix_db.Error) as caught:
        rows(connection, sql)
    assert (caught.value.sqlcode, caught.value.offset) == (sqlcode, offset)
