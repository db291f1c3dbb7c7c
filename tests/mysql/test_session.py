"""The session: isolation, warnings, what the server reports of it, starting afresh."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import headrace.aio.mysql
import headrace.mysql
from headrace import errors
from served import Served, fresh

Conn = headrace.mysql.Connection[Any]


@pytest.mark.parametrize("level", ["read uncommitted", "read committed", "repeatable read", "serializable"])
def test_isolation_levels(my_server: Served, my: Conn, level: str) -> None:
    my.isolation_level = level
    assert my.isolation_level == level
    assert my.fetchval(f"select {my_server.isolation}").lower().replace("-", " ") == level
    my.isolation_level = None
    assert my.fetchval(f"select {my_server.isolation}") == "REPEATABLE-READ"


def test_modes(my: Conn) -> None:
    fresh(my, "table modes (n int) engine=innodb")
    my.read_only = True
    with pytest.raises(errors.ReadOnlySqlTransaction):
        my.execute("insert into modes values (1)")
    my.read_only = False
    my.execute("insert into modes values (1)")
    my.read_only = None
    with my.transaction(), pytest.raises(errors.ProgrammingError, match="inside a transaction"):
        my.read_only = True
    with pytest.raises(errors.ProgrammingError, match="isolation_level"):
        my.isolation_level = "none at all"


def test_statements_without_parameters_get_literals(my: Conn, my_url: str) -> None:
    with headrace.mysql.connect(my_url, autocommit=True) as other:
        for _ in range(2):
            my.execute("kill query ?", (other.thread_id,))
        assert other.fetchval("select 1") == 1
        my.execute("kill ?", (other.thread_id,))
        with pytest.raises(errors.OperationalError):
            other.fetchval("select 1")
    my.execute("create user if not exists ?@'%' identified by ?", ("made", "it's me"))
    my.execute("drop user ?@'%'", ("made",))


def test_a_trigger_that_follows_a_missing_one_is_no_idle_timeout(my_server: Served, my: Conn) -> None:
    fresh(my, "table triggered (n int)")
    with pytest.raises(errors.DatabaseError) as raised:
        my.execute("create trigger made before insert on triggered for each row follows missing set new.n = 1")
    assert not isinstance(raised.value, errors.IdleSessionTimeout)
    assert my.fetchval("select 1") == 1


def test_a_pipelined_text_that_fails_keeps_the_results_before_while_it_is_waited_for(my_url: str) -> None:
    with (
        headrace.mysql.connect(my_url, autocommit=True, multi_statements=True) as conn,
        pytest.raises(errors.UndefinedColumn) as raised,
        conn.pipeline(),
    ):
        cursor = conn.executescript("select 1; select nope")
        cursor.wait(30.0)
    assert raised.value.cursor is cursor
    assert cursor.fetchall() == [(1,)]


def test_warnings(my: Conn) -> None:
    cursor = my.execute("select 1 / 0, cast('12x' as signed)")
    assert cursor.warning_count == 2
    warnings = my.show_warnings()
    assert [warning.code for warning in warnings] == [1365, 1292]
    assert warnings[0].level == "Warning"
    assert warnings[0].message == "Division by 0"
    assert my.execute("select count(*) from information_schema.engines").warning_count == 0
    assert my.show_warnings() == []


ABOUT_WARNINGS = {
    "show warnings": [("Warning", 1264), ("Warning", 1265)],
    "SHOW /* all */ WARNINGS LIMIT ?": [("Warning", 1264)],
    "show count(*) warnings": [(2,)],
    "show errors": [],
    "select @@warning_count, @@session.error_count": [(2, 0)],
}


@pytest.mark.parametrize("way", ["prepared", "text", "pipeline", "stream", "on_server"])
def test_statements_about_warnings_are_about_the_statement_before_them(my: Conn, my_url: str, way: str) -> None:
    fresh(my, "table narrow (n tinyint, s varchar(2))")
    for sql, expected in ABOUT_WARNINGS.items():
        params = (1,) if "?" in sql else None
        with headrace.mysql.connect(my_url, autocommit=True, sql_mode="", prepared=way != "text") as conn:
            conn.execute("insert into narrow values (1000, 'abc')")
            if way in ("stream", "on_server"):
                rows = list(conn.stream(sql, params, on_server=way == "on_server"))
            else:
                with conn.pipeline() if way == "pipeline" else contextlib.nullcontext():
                    cursor = conn.execute(sql, params)
                rows = cursor.fetchall()
        assert [row[: len(expected[0])] for row in rows] == expected if expected else rows == [], sql
    with headrace.mysql.connect(my_url, autocommit=True, sql_mode="", prepared=way != "text") as conn:
        conn.execute("insert into narrow values (1000, 'abc')")
        conn.execute("get diagnostics condition 2 @code = mysql_errno")
        assert int(conn.fetchval("select @code")) == 1265


def test_show_and_other_texts(my: Conn) -> None:
    fresh(my, "table shown (n int)")
    cursor = my.execute("show create table shown")
    assert [column[0] for column in cursor.description or ()] == ["Table", "Create Table"]
    assert cursor.fetchall()[0][0] == "shown"
    assert ("shown",) in my.fetch("show tables like ?", "sho%")
    assert my.fetchrow("explain select * from shown") is not None
    assert my.execute("analyze table shown").fetchall()[0][2] == "status"


@pytest.mark.parametrize("prepared", [True, False], ids=["binary", "text"])
def test_lists_after_in(my_url: str, prepared: bool) -> None:
    with headrace.mysql.connect(my_url, autocommit=True, prepared=prepared) as conn:
        fresh(conn, "table listed (id int, name varchar(20))")
        conn.executemany("insert into listed values (?, ?)", [(1, "a'b"), (2, "b\\c"), (3, "č"), (4, "d")])
        query = "select id from listed where name in ? and id <> ? order by id"
        for _ in range(2):
            assert conn.fetch(query, ["a'b", "b\\c", "č"], 2) == [(1,), (3,)]
        assert conn.fetch("select id from listed where id not in %s order by id", (1, 2)) == [(3,), (4,)]
        assert conn.fetch("select id from listed where id in (?, ?) order by id", 1, 4) == [(1,), (4,)]
        with pytest.raises(errors.ProgrammingError, match="empty list"):
            conn.fetch(query, [], 2)
        with conn.pipeline():
            cursors = [
                conn.execute("select id from listed where name in %s", (names,)) for names in (["d"], ["č", "x"])
            ]
        assert [cursor.fetchall() for cursor in cursors] == [[(4,)], [(3,)]]
        conn.executemany("delete from listed where id in %s", [([1, 2],), ([3],)])
        assert conn.fetch("select id from listed") == [(4,)]


def test_several_statements_when_allowed(my: Conn, my_url: str) -> None:
    with pytest.raises(errors.SyntaxError):
        my.executescript("select 1; select 2")
    with headrace.mysql.connect(my_url, multi_statements=True) as several:
        cursor = several.executescript("select 1; create table s (n int); insert into s values (1), (2)")
        assert cursor.fetchall() == [(1,)]
        assert cursor.nextset()
        assert cursor.description is None
        assert cursor.nextset()
        assert cursor.rowcount == 2
        assert cursor.nextset() is None
        assert several.fetchval("select 42") == 42


def test_a_later_statement_that_fails_does_not_hide_the_results_before_it(my_url: str) -> None:
    with headrace.mysql.connect(my_url, multi_statements=True) as several:
        with pytest.raises(errors.UndefinedTable) as caught:
            several.executescript("select 1; select 2, 'x'; select * from missing; select 3")
        cursor = caught.value.cursor
        assert cursor.fetchall() == [(1,)]
        assert cursor.nextset()
        assert cursor.fetchall() == [(2, "x")]
        assert cursor.nextset() is None
        assert isinstance(pickle.loads(pickle.dumps(caught.value)), errors.UndefinedTable)
        with pytest.raises(errors.UndefinedTable) as caught:
            several.executescript("select * from missing; select 3")
        assert caught.value.cursor is None
        assert several.fetchval("select 42") == 42


def test_a_decimal_is_described_with_its_digits(my: Conn) -> None:
    fresh(my, "table digits (a decimal(10,2), b decimal(10,2) unsigned, c decimal(5), d decimal(65) unsigned not null)")
    described = my.execute("select * from digits").description or ()
    assert [tuple(column)[4:7] for column in described] == [
        (10, 2, True),
        (10, 2, True),
        (5, 0, True),
        (65, 0, False),
    ]


def test_results_of_a_procedure_before_its_error(my: Conn) -> None:
    fresh(my, "procedure late() begin select 1; signal sqlstate '45000' set message_text = 'late'; end")
    cursor = my.cursor()
    for run in (lambda: cursor.execute("call late()"), lambda: cursor.callproc("late")):
        with pytest.raises(errors.DatabaseError, match="late") as caught:
            run()
        assert caught.value.cursor is cursor
        assert cursor.fetchall() == [(1,)]


async def test_async_a_later_statement_that_fails(my_url: str) -> None:
    async with await headrace.aio.mysql.connect(my_url, multi_statements=True) as several:
        with pytest.raises(errors.UndefinedTable) as caught:
            await several.executescript("select 1; select * from missing")
        assert await caught.value.cursor.fetchall() == [(1,)]


def test_autocommit_is_off_from_the_first_statement_on(my: Conn, my_url: str) -> None:
    fresh(my, "table off (n int)")
    firsts: dict[str, Callable[[Conn], Any]] = {
        "execute": lambda conn: conn.execute("insert into off values (1)"),
        "known": lambda conn: conn.execute("insert into off values (?)", (1,)),
        "script": lambda conn: conn.executescript("insert into off values (1)"),
        "batch": lambda conn: conn.executemany("insert into off values (?)", [(1,), (2,)]),
        "cursor on the server": lambda conn: list(conn.stream("select * from off", on_server=True)),
        "a value too many": lambda conn: conn.execute("insert into off values (?)", (1, 2)),
        "a value of no type": lambda conn: conn.execute("insert into off values (?)", (my,)),
        "no rows": lambda conn: conn.executemany("insert into off values (?)", []),
        "reset": lambda conn: conn.reset("discard"),
        "wrong": lambda conn: conn.execute("select * from missing"),
        "in a block": lambda conn: conn.transaction().__enter__(),
    }
    for name, first in firsts.items():
        conn = headrace.mysql.connect(my_url)
        with contextlib.suppress(errors.ProgrammingError):
            first(conn)
        conn.executescript("insert into off values (3)")
        assert conn.fetchval("select @@autocommit") == 0, name
        conn.close()
        assert my.fetchval("select count(*) from off") == 0, name
    with headrace.mysql.connect(my_url) as conn:
        conn.commit()
        conn.autocommit = True
        conn.execute("insert into off values (1)")
        conn.rollback()
    assert my.fetchval("select count(*) from off") == 1


@pytest.mark.parametrize("autocommit", [True, False])
def test_autocommit_that_sql_has_changed_ends_with_the_reset(my: Conn, my_url: str, autocommit: bool) -> None:
    fresh(my, "table by_sql (n int) engine=innodb")
    with headrace.mysql.connect(my_url, autocommit=autocommit) as conn:
        conn.reset("rollback")
        assert conn.autocommit is autocommit
        for sql in (f"set autocommit={int(not autocommit)}", f"set @a = 1, autocommit = {int(not autocommit)}"):
            conn.execute(sql)
            assert conn.autocommit is not autocommit
            conn.execute("insert into by_sql values (1)")
            conn.reset("rollback")
            assert conn.autocommit is autocommit
            conn.execute("insert into by_sql values (2)")
            conn.rollback()
    assert my.fetch("select n from by_sql") == ([(2,), (2,)] if autocommit else [(1,), (1,)])


async def test_autocommit_that_sql_has_changed_ends_with_the_reset_on_a_loop(amy: Any) -> None:
    await amy.execute("set autocommit=0")
    assert amy.autocommit is False
    await amy.reset("rollback")
    assert amy.autocommit is True
    assert await amy.fetchval("select @@autocommit") == 1


def test_an_untouched_connection_costs_no_statement(my: Conn, my_url: str) -> None:
    def asked() -> int:
        return int(my.fetch("show global status like 'Questions'")[0][1])

    before = asked()
    headrace.mysql.connect(my_url).close()
    # COM_QUIT is counted where it comes; SHOW STATUS is.
    assert asked() - before <= 2


def test_what_the_server_reports_of_the_session(my: Conn, my_url: str) -> None:
    assert my.session_state.schema == my_url.rpartition("/")[2]
    my.select_db("mysql")
    assert my.session_state.schema == "mysql"
    my.execute("set time_zone = '+03:00'")
    assert my.session_state.variables["time_zone"] == "+03:00"
    my.execute("set session_track_transaction_info = 'STATE'")
    with my.transaction():
        assert (my.session_state.transaction_state or "").startswith("T")


def test_settings_of_the_session(my_server: Served, my_url: str) -> None:
    wanted = {
        "time_zone": "+05:30",
        "sql_mode": "ANSI_QUOTES",
        "collation": "utf8mb4_bin",
        "init_command": "set @a = 5",
    }
    query = "select @@time_zone, @@sql_mode, @@collation_connection, @a, @@character_set_results"
    with headrace.mysql.connect(my_url, **wanted, program_name="races") as conn:
        expected = ("+05:30", "ANSI_QUOTES", "utf8mb4_bin", 5, "utf8mb4")
        assert conn.fetchrow(query) == expected
        attribute = "select attr_value from performance_schema.session_connect_attrs where attr_name = 'program_name'"
        found = conn.fetchrow(f"{attribute} and processlist_id = connection_id()")
        # MariaDB keeps them only with performance_schema, which is off.
        assert found == (None if my_server.is_mariadb else ("races",))
        conn.execute("set time_zone = '+01:00'")
        conn.reset("discard")
        assert conn.fetchrow(query) == expected


def test_a_fresh_start_forgets_everything_but_the_settings(my_server: Served, my: Conn) -> None:
    my.isolation_level = "serializable"
    my.execute("set @mine = 1")
    my.execute("create temporary table gone (n int)")
    my.reset("discard")
    assert my.fetchval("select @mine") is None
    assert my.fetchval(f"select {my_server.isolation}") == "REPEATABLE-READ"
    assert my.isolation_level is None
    with pytest.raises(errors.UndefinedTable):
        my.execute("select * from gone")
    assert my.fetchval("select 'é'") == "é"


async def test_async(my_server: Served, amy: Any) -> None:
    await amy.set_isolation_level("read committed")
    assert await amy.fetchval(f"select {my_server.isolation}") == "READ-COMMITTED"
    await amy.set_read_only(True)
    await amy.set_read_only(None)
    await amy.execute("select 1 / 0")
    assert (await amy.show_warnings())[0].code == 1365
    await amy.select_db("mysql")
    assert amy.session_state.schema == "mysql"
