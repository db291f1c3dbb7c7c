"""What a user of headrace.informix relies on: statements, transactions, results."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import pytest

import headrace.aio.informix
from headrace import errors, testing
from headrace.rows import dict_row, namedtuple_row
from headrace.testing import InformixServer
from headrace.types import TransactionStatus
from headrace_lab.roundtrips import CountingRelay, through

Connection = headrace.aio.informix.AsyncConnection[Any]


async def connect(ifx: InformixServer, **settings: Any) -> Connection:
    return await headrace.aio.informix.connect(**{**ifx.parameters(), **settings})


async def test_session_says_what_it_is(aconn: Connection) -> None:
    assert "Informix" in aconn.server_version
    assert aconn.encoding == "ISO-8859-1"
    assert aconn.logging == "logged"
    assert aconn.transaction_status is TransactionStatus.IDLE
    await aconn.ping()


async def test_insert_and_select_with_parameters(aconn: Connection, table: str) -> None:
    await aconn.execute(f"create table {table} (a int, b varchar(20), c decimal(8,2))")
    cursor = await aconn.execute(f"insert into {table} values (?, ?, ?)", (1, "one", Decimal("1.50")))
    assert cursor.rowcount == 1
    assert cursor.description is None
    await aconn.execute(f"insert into {table} values (:1, :2, :3)", (2, "zwei", None))
    cursor = await aconn.execute(f"select a, b, c from {table} where a >= ? order by a", (1,))
    assert await cursor.fetchone() == (1, "one", Decimal("1.50"))
    assert await cursor.fetchall() == [(2, "zwei", None)]
    assert await cursor.fetchone() is None
    assert cursor.rowcount == 2
    assert cursor.description is not None
    assert [column[0] for column in cursor.description] == ["a", "b", "c"]
    await aconn.commit()


async def test_numbered_parameters_repeat_and_leave_literals_alone(aconn: Connection) -> None:
    sql = "select first 1 :2::int, ':1', :1::int, :2::int, '10:30' from systables {:1} -- :1"
    assert await (await aconn.execute(sql, (1, 2))).fetchall() == [(2, ":1", 1, 2, "10:30")]


async def test_fetch_helpers(aconn: Connection) -> None:
    assert await aconn.fetchval("select first 1 tabname from systables where tabid = ?", 1) == "systables"
    assert await aconn.fetchrow("select tabname from systables where tabid = ?", -5) is None
    assert await aconn.fetch("select first 2 tabid from systables order by tabid") == [(1,), (2,)]


async def test_update_and_delete_count_rows(aconn: Connection, table: str) -> None:
    await aconn.execute(f"create table {table} (a int)")
    await aconn.executemany(f"insert into {table} values (?)", [(n,) for n in range(10)])
    assert (await aconn.execute(f"update {table} set a = a + 1 where a < ?", (5,))).rowcount == 5
    assert (await aconn.execute(f"update {table} set a = 0 where a > ?", (1000,))).rowcount == 0
    assert (await aconn.execute(f"delete from {table} where a > ?", (5,))).rowcount == 4
    assert await aconn.fetchval(f"select count(*) from {table}") == 6


async def test_lastrowid_is_the_serial_value(aconn: Connection, table: str) -> None:
    await aconn.execute(f"create table {table}_s (id serial, a int)")
    await aconn.execute(f"create table {table}_8 (id serial8, a int)")
    await aconn.execute(f"create table {table}_b (id bigserial, a int)")
    for kind in "s8b":
        values = [(await aconn.execute(f"insert into {table}_{kind} (a) values (?)", (n,))).lastrowid for n in range(3)]
        assert values == [1, 2, 3], kind
        assert (await aconn.execute(f"insert into {table}_{kind} values (0, 9)")).lastrowid == 4
    assert (await aconn.execute(f"select id from {table}_s order by id")).lastrowid is None


async def test_row_factories(aconn: Connection) -> None:
    cursor = aconn.cursor(row_factory=dict_row)
    assert await (await cursor.execute("select tabid, tabname from systables where tabid = 1")).fetchone() == {
        "tabid": 1,
        "tabname": "systables",
    }
    row: Any = await (
        await aconn.cursor(row_factory=namedtuple_row).execute("select tabid from systables where tabid = 1")
    ).fetchone()
    assert row.tabid == 1


async def test_statements_are_prepared_once(aconn: Connection) -> None:
    for n in range(1, 4):
        assert await aconn.fetchval("select tabid from systables where tabid = ?", n) == n
    assert aconn._core.wire.prepared_statements() == 1


async def test_evicted_statements_are_released_on_the_server(ifx: InformixServer) -> None:
    async with await connect(ifx, statement_cache_size=3) as conn:
        for n in range(20):
            assert await conn.fetchval(f"select tabid + {n} from systables where tabid = ?", 1) == n + 1
        assert conn._core.wire.prepared_statements() == 3


async def test_two_results_are_read_side_by_side(aconn: Connection) -> None:
    first = await aconn.execute("select tabid from systables where tabid <= 3 order by tabid")
    second = await aconn.execute("select tabid from systables where tabid <= 3 order by tabid desc")
    assert [(await first.fetchone(), await second.fetchone()) for _ in range(3)] == [
        ((1,), (3,)),
        ((2,), (2,)),
        ((3,), (1,)),
    ]


async def test_large_results_arrive_whole(aconn: Connection, table: str) -> None:
    rows = [(n, f"row {n} " + "x" * (n % 90)) for n in range(30_000)]
    await aconn.execute(f"create table {table} (a int, b varchar(120))")
    await aconn.executemany(f"insert into {table} values (?, ?)", rows)
    assert await aconn.fetch(f"select a, b from {table} order by a") == rows
    assert await aconn.fetch(f"select first 100 a, b from {table} order by a") == rows[:100]


@pytest.mark.parametrize("text", ["", " ", "a", "ab", "äöü", 'it\'s "q"', "x" * 255])
async def test_text_comes_back(aconn: Connection, table: str, text: str) -> None:
    await aconn.execute(f"create table {table} (a varchar(255), b lvarchar(300), c nvarchar(255))")
    await aconn.execute(f"insert into {table} values (?, ?, ?)", (text, text, text))
    assert await aconn.fetchrow(f"select a, b, c from {table}") == (text, text, text)


async def test_text_outside_of_the_code_set_is_refused(aconn: Connection, table: str) -> None:
    await aconn.execute(f"create table {table} (a varchar(10))")
    with pytest.raises(errors.DataError, match="code set"):
        await aconn.execute(f"insert into {table} values (?)", ("\N{SNOWMAN}",))
    with pytest.raises(errors.ProgrammingError, match="code set"):
        await aconn.execute(f"insert into {table} values ('\N{SNOWMAN}')")
    assert await aconn.fetchval("select count(*) from systables where tabid = 1") == 1


async def test_text_that_is_too_long_is_refused_not_cut(aconn: Connection, table: str) -> None:
    await aconn.execute(f"create table {table} (a varchar(4), b char(4), c lvarchar(4))")
    insert = f"insert into {table} values (?, ?, ?)"
    for value in [("12345", "x", "x"), ("x", "12345", "x"), ("x", "x", "12345")]:
        with pytest.raises(errors.DataError, match="does not fit"):
            await aconn.execute(insert, value)
        with pytest.raises(errors.DataError, match="does not fit") as caught:
            await aconn.executemany(insert, [("1", "2", "3"), value])
        assert getattr(caught.value, "row", None) == 1
    await aconn.execute(insert, ("1234", "12", "1234"))
    await aconn.executemany(insert, [("1234", "12", "1234")])
    assert await aconn.fetch(f"select a, b, c from {table}") == [("1234", "12  ", "1234")] * 2


async def test_wrong_number_of_parameters(aconn: Connection) -> None:
    for params in [(), (1, 2)]:
        with pytest.raises(errors.ProgrammingError, match="1 parameter"):
            await aconn.execute("select tabid from systables where tabid = ?", params)
    await aconn.ping()


@pytest.mark.parametrize(
    ("sql", "sqlcode", "isamcode", "kind"),
    [
        ("select * from nowhere", -206, -111, errors.UndefinedTable),
        ("slect 1 from systables", -201, None, errors.SyntaxError),
        ("select nothing from systables", -217, None, errors.UndefinedColumn),
        (
            "select 1 from systables where tabid = (select tabid from systables)",
            -284,
            None,
            errors.CardinalityViolation,
        ),
        ("select nosuch(1) from systables", -674, None, errors.UndefinedFunction),
        ("select 'open from systables", -282, None, errors.SyntaxError),
    ],
)
async def test_errors_have_codes_and_classes(
    aconn: Connection, sql: str, sqlcode: int, isamcode: int | None, kind: type[Exception]
) -> None:
    with pytest.raises(kind) as caught:
        await aconn.execute(sql)
    assert isinstance(caught.value, errors.Error)
    assert (caught.value.sqlcode, caught.value.isamcode, caught.value.statement) == (sqlcode, isamcode, sql)
    assert str(sqlcode) in str(caught.value)
    assert await aconn.fetchval("select tabname from systables where tabid = 1") == "systables"


async def test_constraints(aconn: Connection, table: str) -> None:
    await aconn.execute(f"create table {table} (a int primary key, b int not null, c int check (c > 0))")
    await aconn.execute(f"create table {table}_2 (a int references {table} (a))")
    await aconn.execute(f"insert into {table} values (1, 1, 1)")
    await aconn.commit()
    for sql, kind, codes in [
        (f"insert into {table} values (1, 1, 1)", errors.UniqueViolation, (-268, -239)),
        (f"insert into {table} values (2, null, 1)", errors.NotNullViolation, (-391,)),
        (f"insert into {table} values (2, 1, -1)", errors.CheckViolation, (-530,)),
        (f"insert into {table}_2 values (77)", errors.ForeignKeyViolation, (-691,)),
    ]:
        with pytest.raises(kind) as caught:
            await aconn.execute(sql)
        assert isinstance(caught.value, errors.Error)
        assert caught.value.sqlcode in codes, sql
    with pytest.raises(errors.DataError) as wrong:
        await aconn.execute(f"insert into {table}_2 values (?)", ("x",))
    assert wrong.value.sqlcode == -1213
    assert await aconn.fetchval(f"select count(*) from {table}") == 1


async def test_offset_of_a_syntax_error(aconn: Connection) -> None:
    with pytest.raises(errors.SyntaxError) as caught:
        await aconn.execute("select 1 frm systables wher tabid = 1")
    assert caught.value.position is not None
    assert 0 < caught.value.position <= 37


# transactions


async def test_nothing_is_kept_without_commit(ifx: InformixServer, aconn: Connection, table: str) -> None:
    await aconn.execute(f"create table {table} (a int)")
    await aconn.commit()
    await aconn.execute(f"insert into {table} values (1)")
    assert aconn.transaction_status is TransactionStatus.INTRANS
    await aconn.rollback()
    assert aconn.transaction_status is TransactionStatus.IDLE
    await aconn.execute(f"insert into {table} values (2)")
    await aconn.commit()
    async with await connect(ifx) as other:
        assert await other.fetch(f"select a from {table}") == [(2,)]


async def test_autocommit(ifx: InformixServer, table: str) -> None:
    async with await connect(ifx, autocommit=True) as conn:
        await conn.execute(f"create table {table} (a int)")
        await conn.execute(f"insert into {table} values (1)")
        assert conn.transaction_status is TransactionStatus.IDLE
        await conn.rollback()
        assert await conn.fetch(f"select a from {table}") == [(1,)]
        await conn.set_autocommit(False)
        await conn.execute(f"insert into {table} values (2)")
        with pytest.raises(errors.ProgrammingError, match="inside a transaction"):
            await conn.set_autocommit(True)
        await conn.rollback()
        assert await conn.fetch(f"select a from {table}") == [(1,)]


async def test_begin_and_commit_as_sql_are_followed(ifx: InformixServer, table: str) -> None:
    async with await connect(ifx, autocommit=True) as conn:
        await conn.execute(f"create table {table} (a int)")
        await conn.execute("begin work")
        assert conn.transaction_status is TransactionStatus.INTRANS
        await conn.execute(f"insert into {table} values (1)")
        await conn.rollback()
        assert await conn.fetchval(f"select count(*) from {table}") == 0
        await conn.execute("begin work")
        await conn.execute(f"insert into {table} values (1)")
        await conn.execute("commit work")
        assert conn.transaction_status is TransactionStatus.IDLE
        assert await conn.fetchval(f"select count(*) from {table}") == 1


async def test_transaction_blocks_and_savepoints(ifx: InformixServer, table: str) -> None:
    async with await connect(ifx, autocommit=True) as conn:
        await conn.execute(f"create table {table} (a int primary key)")
        async with conn.transaction():
            await conn.execute(f"insert into {table} values (1)")
            with pytest.raises(errors.IntegrityError):
                async with conn.transaction():
                    await conn.execute(f"insert into {table} values (2)")
                    await conn.execute(f"insert into {table} values (1)")
            async with conn.transaction():
                await conn.execute(f"insert into {table} values (3)")
            async with conn.transaction():
                await conn.execute(f"insert into {table} values (4)")
                raise headrace.informix.Rollback
        assert conn.transaction_status is TransactionStatus.IDLE
        assert await conn.fetch(f"select a from {table} order by a") == [(1,), (3,)]
        with pytest.raises(ZeroDivisionError):
            async with conn.transaction():
                await conn.execute(f"insert into {table} values (5)")
                raise ZeroDivisionError
        assert await conn.fetch(f"select a from {table} order by a") == [(1,), (3,)]


async def test_context_manager_commits_or_rolls_back(ifx: InformixServer, table: str) -> None:
    async with await connect(ifx) as conn:
        await conn.execute(f"create table {table} (a int)")
        await conn.execute(f"insert into {table} values (1)")
    with pytest.raises(ZeroDivisionError):
        async with await connect(ifx) as conn:
            await conn.execute(f"insert into {table} values (2)")
            raise ZeroDivisionError
    async with await connect(ifx) as conn:
        assert await conn.fetch(f"select a from {table}") == [(1,)]


# batches


@pytest.mark.parametrize("autocommit", [True, False])
@pytest.mark.parametrize(("count", "bad"), [(100, 0), (1000, 500), (100, 99), (20_000, 15_000)])
async def test_failed_batch_names_its_row_and_leaves_nothing(
    ifx: InformixServer, table: str, autocommit: bool, count: int, bad: int
) -> None:
    async with await connect(ifx, autocommit=autocommit) as conn:
        await conn.execute(f"create table {table} (a int primary key, b varchar(20))")
        await conn.execute(f"insert into {table} values (-1, 'there')")
        await conn.commit()
        if not autocommit:
            await conn.execute(f"insert into {table} values (-2, 'before')")
        rows = [(-1 if n == bad else n, f"row {n}") for n in range(count)]
        with pytest.raises(errors.UniqueViolation) as caught:
            await conn.executemany(f"insert into {table} values (?, ?)", rows)
        assert caught.value.row == bad
        assert await conn.fetchval(f"select count(*) from {table}") == (1 if autocommit else 2)
        assert await conn.fetchval("select tabname from systables where tabid = ?", 1) == "systables"
        good = [(n, f"row {n}") for n in range(count)]
        assert (await conn.executemany(f"insert into {table} values (?, ?)", good)).rowcount == count
        await conn.commit()
        assert await conn.fetchval(f"select count(*) from {table} where a >= 0") == count
    async with await connect(ifx) as conn:
        assert await conn.fetchval(f"select count(*) from {table} where a >= 0") == count


@pytest.mark.parametrize("bad", [0, 500, 999])
async def test_value_that_does_not_fit_names_its_row(aconn: Connection, table: str, bad: int) -> None:
    await aconn.execute(f"create table {table} (a int, b varchar(5))")
    rows = [(n, "too long" if n == bad else "ok") for n in range(1000)]
    with pytest.raises(errors.DataError) as caught:
        await aconn.executemany(f"insert into {table} values (?, ?)", rows)
    assert caught.value.row == bad
    assert await aconn.fetchval(f"select count(*) from {table}") == 0


async def test_iterator_that_raises_ends_the_batch(aconn: Connection, table: str) -> None:
    await aconn.execute(f"create table {table} (a int)")

    def rows() -> Any:
        for n in range(5000):
            if n == 3000:
                raise ZeroDivisionError
            yield (n,)

    with pytest.raises(ZeroDivisionError):
        await aconn.executemany(f"insert into {table} values (?)", rows())
    assert await aconn.fetchval(f"select count(*) from {table}") == 0


async def test_batch_of_updates_and_deletes(aconn: Connection, table: str) -> None:
    await aconn.execute(f"create table {table} (a int, b int)")
    await aconn.executemany(f"insert into {table} values (?, 0)", [(n,) for n in range(500)])
    cursor = await aconn.executemany(f"update {table} set b = ? where a = ?", [(n * 2, n) for n in range(500)])
    assert cursor.rowcount == 500
    assert await aconn.fetchval(f"select sum(b) from {table}") == sum(range(0, 1000, 2))
    assert (
        await aconn.executemany(f"delete from {table} where a = ?", [(n,) for n in range(0, 600, 2)])
    ).rowcount == 250


async def test_empty_batch(aconn: Connection, table: str) -> None:
    await aconn.execute(f"create table {table} (a int)")
    await aconn.executemany(f"insert into {table} values (?)", [])
    assert await aconn.fetchval(f"select count(*) from {table}") == 0


async def test_batch_of_queries_is_refused(aconn: Connection) -> None:
    with pytest.raises(errors.ProgrammingError, match="rows"):
        await aconn.executemany("select tabid from systables where tabid = ?", [(1,), (2,)])
    await aconn.ping()


# pipelines


async def test_pipeline(aconn: Connection, table: str) -> None:
    await aconn.execute(f"create table {table} (a int)")
    async with aconn.pipeline():
        for n in range(10):
            await aconn.execute(f"insert into {table} values (?)", (n,))
        total = await aconn.execute(f"select sum(a) from {table}")
        wrong = await aconn.execute("select * from nowhere")
        after = await aconn.execute(f"select count(*) from {table}")
        assert await total.fetchone() == (45,)
        with pytest.raises(errors.UndefinedTable):
            await wrong.fetchone()
        assert await after.fetchone() == (10,)
    assert await aconn.fetchval(f"select count(*) from {table}") == 10


async def test_queries_of_a_pipeline_share_round_trips_and_nothing_else(url: str, table: str) -> None:
    parts = urlsplit(url)
    with CountingRelay(str(parts.hostname), parts.port or 9088) as relay:
        conn = await headrace.aio.informix.connect(through(url, relay.port), autocommit=True)
        await conn.execute(f"create table {table} (a int, b varchar(200), t text)")
        await conn.executemany(
            f"insert into {table} values (?, ?, ?)", [(n, "x" * 200, f"text {n}") for n in range(1000)]
        )
        few, long = f"select a from {table} where a < ? order by a", f"select a, b from {table} order by a"
        named = f"select t from {table} where a < ? order by a"
        for length in (200, 1):
            before = relay.trips
            async with conn.pipeline():
                asked = [await conn.execute(few, (n % 7,)) for n in range(600)]
                behind = await conn.execute(long)
                texts = [await conn.execute(named, (n % 3,)) for n in range(20)]
                await conn.execute(f"update {table} set b = 'y'")
                after = await conn.execute(f"select count(*) from {table} where b = 'y'")
            trips = relay.trips - before
            assert [await cursor.fetchall() for cursor in asked] == [[(a,) for a in range(n % 7)] for n in range(600)]
            assert [len(row[1]) for row in await behind.fetchall()] == [length] * 1000
            assert [await cursor.fetchall() for cursor in texts] == [
                [(f"text {a}",) for a in range(n % 3)] for n in range(20)
            ]
            assert await after.fetchone() == (1000,)
        assert trips < 200, "one for each of 622 queries, if they waited for one another"
        await conn.close()


async def test_a_transaction_begins_with_its_first_statement(url: str, table: str) -> None:
    parts = urlsplit(url)
    insert = f"insert into {table} values (?)"
    with CountingRelay(str(parts.hostname), parts.port or 9088) as relay:
        async with await headrace.aio.informix.connect(through(url, relay.port), autocommit=True) as conn:
            await conn.execute(f"create table {table} (a int)")
            await conn.execute(insert, (0,))
            before = relay.trips
            async with conn.transaction():
                assert conn.transaction_status is TransactionStatus.INTRANS
                assert relay.trips == before
                await conn.execute(insert, (1,))
            assert relay.trips == before + 2
            async with conn.transaction(), conn.transaction():
                await conn.execute(insert, (2,))
            with pytest.raises(errors.UndefinedTable):
                async with conn.transaction():
                    await conn.execute(insert, (3,))
                    await conn.execute("select * from nowhere")
            before = relay.trips
            async with conn.transaction():
                pass
            assert relay.trips == before
            assert await conn.fetch(f"select a from {table} order by a") == [(0,), (1,), (2,)]


async def test_a_pipeline_outlives_a_change_of_its_table(aconn: Connection, url: str, table: str) -> None:
    await aconn.set_autocommit(True)
    await aconn.execute(f"create table {table} (a int)")
    await aconn.execute(f"insert into {table} values (1)")
    query = f"select * from {table}"
    for n in range(3):
        async with aconn.pipeline():
            asked = [await aconn.execute(query) for _ in range(50)]
        assert {tuple(await cursor.fetchall()) for cursor in asked} == {((1, *[None] * n),)}
        async with await headrace.aio.informix.connect(url, autocommit=True) as other:
            await other.execute(f"alter table {table} add (b{n} int)")


async def test_pipeline_raises_its_first_error_at_the_end(aconn: Connection) -> None:
    with pytest.raises(errors.UndefinedTable):
        async with aconn.pipeline():
            await aconn.execute("select * from nowhere")
            await aconn.execute("select nothing from systables")
    await aconn.ping()


# sharing, cancelling, ending


async def test_timeout_interrupts_the_statement(aconn: Connection, slow: str) -> None:
    with pytest.raises(TimeoutError, match=r"0\.2 s"):
        await aconn.cursor().execute(slow, timeout=0.2)
    assert await aconn.fetchval("select tabname from systables where tabid = 1") == "systables"


async def test_cancel_of_an_idle_connection_harms_nothing(aconn: Connection) -> None:
    await aconn.cancel()
    assert await aconn.fetchval("select tabname from systables where tabid = 1") == "systables"


async def test_stale_statement_is_prepared_again(ifx: InformixServer, table: str) -> None:
    async with await connect(ifx, autocommit=True) as conn, await connect(ifx, autocommit=True) as other:
        await conn.execute(f"create table {table} (a int)")
        await conn.execute(f"insert into {table} values (1)")
        assert await conn.fetch(f"select * from {table}") == [(1,)]
        await other.execute(f"alter table {table} add b int")
        assert await conn.fetch(f"select * from {table}") == [(1, None)]
        await other.execute(f"drop table {table}")
        with pytest.raises(errors.ProgrammingError):
            await conn.fetch(f"select * from {table}")
        await conn.ping()


async def test_temp_tables(aconn: Connection) -> None:
    await aconn.execute("create temp table mine (a int) with no log")
    await aconn.executemany("insert into mine values (?)", [(1,), (2,)])
    assert await aconn.fetchval("select sum(a) from mine") == 3
    await aconn.execute("select a from mine where a > 1 into temp others")
    assert await aconn.fetch("select a from others") == [(2,)]


async def test_database_statement_changes_the_database(ifx: InformixServer, aconn: Connection, table: str) -> None:
    await aconn.close()
    async with await connect(ifx, autocommit=True) as aconn:
        await aconn.execute(f"create database db_{table} with log")
        assert aconn.logging == "logged"
        await aconn.execute(f"database {ifx.database}")
        assert await aconn.fetchval("select tabname from systables where tabid = ?", 1) == "systables"
        await aconn.execute(f"drop database db_{table}")
    with pytest.raises(errors.InvalidCatalogName) as caught:
        await connect(ifx, database=f"db_{table}")
    assert caught.value.sqlcode == -329


async def test_sessions_without_a_database(ifx: InformixServer) -> None:
    async with await connect(ifx, database=None, autocommit=True) as conn:
        assert conn.logging == "none"
        with pytest.raises(errors.ProgrammingError) as caught:
            await conn.execute("select 1 from systables")
        assert caught.value.sqlcode == -349
        await conn.execute(f"database {ifx.database}")
        assert conn.logging == "logged"
        assert await conn.fetchval("select tabname from systables where tabid = 1") == "systables"


async def test_a_begin_that_fails_in_a_pipeline_begins_nothing() -> None:
    with testing.informix(mode="unlogged") as server:
        async with await headrace.aio.informix.connect(**server.parameters(), autocommit=True) as conn:
            await conn.execute("create table t (a int)")
            with pytest.raises(errors.NotSupportedError):
                async with conn.pipeline():
                    await conn.execute("begin work")
                    for _ in range(3):
                        await conn.execute("insert into t values (1)")
                    asked = [await conn.execute("select a from t") for _ in range(3)]
            assert [await cursor.fetchall() for cursor in asked] == [[(1,)] * 3] * 3
            await conn.commit()
