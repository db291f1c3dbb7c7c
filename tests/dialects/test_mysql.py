"""``mysql+headrace`` and ``mariadb+headrace``: what users of an engine rely on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects.mysql import TIME

from .conftest import Engines

ROWS = 20_000
META = sa.MetaData()
STREAMED = sa.Table(
    "streamed",
    META,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("text", sa.String(200)),
)
QUERY = sa.select(STREAMED).order_by(STREAMED.c.id)


SPANNED = sa.Table(
    "spanned",
    META,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("span", TIME(fsp=6)),
)
SPANS = [timedelta(hours=-5, microseconds=7), timedelta(), timedelta(hours=1), timedelta(hours=25, microseconds=1)]


@pytest.fixture(autouse=True)
def _table(my: Engines) -> Iterator[None]:
    rows = [{"id": n, "text": str(n) * 20} for n in range(ROWS)]
    my.connected(META.create_all)
    my.connected(lambda connection: connection.execute(STREAMED.insert(), rows))
    yield
    my.connected(META.drop_all)


@pytest.fixture(params=[False, True], ids=["received", "on_server"])
def on_server(request: pytest.FixtureRequest) -> bool:
    """Where rows are that were not fetched yet."""
    return bool(request.param)


def received(connection: sa.Connection) -> int:
    """Bytes that the server has sent to this session."""
    (_, count) = connection.exec_driver_sql("show session status like 'Bytes_sent'").one()
    return int(count)


def test_stream_results_returns_every_row_in_order(my: Engines, on_server: bool) -> None:
    def work(connection: sa.Connection) -> list[Any]:
        rows = connection.execution_options(stream_results=True, mysql_on_server=on_server, max_row_buffer=70)
        result = rows.execute(QUERY)
        assert result.cursor.itersize == 70  # type: ignore[union-attr]
        return list(result)

    assert my.connected(work) == [(n, str(n) * 20) for n in range(ROWS)]


def test_yield_per_returns_parts_of_that_size(my: Engines, on_server: bool) -> None:
    def work(connection: sa.Connection) -> list[int]:
        options = {"yield_per": 3_000, "mysql_on_server": on_server}
        return [len(part) for part in connection.execute(QUERY, execution_options=options).partitions()]

    assert my.connected(work) == [3_000] * 6 + [2_000]


def test_a_result_without_rows_has_its_columns(my: Engines, on_server: bool) -> None:
    def work(connection: sa.Connection) -> Any:
        streaming = connection.execution_options(stream_results=True, mysql_on_server=on_server)
        result = streaming.execute(QUERY.where(STREAMED.c.id < 0))
        return list(result.keys()), result.all()

    assert my.connected(work) == (["id", "text"], [])


def test_a_select_into_a_variable_has_no_rows(my: Engines) -> None:
    def work(connection: sa.Connection) -> Any:
        streaming = connection.execution_options(stream_results=True)
        assert not streaming.execute(sa.text("select 7 into @seven")).returns_rows
        return connection.scalar(sa.text("select @seven"))

    assert my.connected(work) == 7


def test_rows_that_are_not_fetched_are_not_received(my: Engines) -> None:
    def work(connection: sa.Connection) -> int:
        options = {"stream_results": True, "mysql_on_server": True, "max_row_buffer": 10}
        before = received(connection)
        result = connection.execute(QUERY, execution_options=options)
        assert [row.id for row in result.fetchmany(10)] == list(range(10))
        # Other statements are executed while the result is open.
        after = received(connection)
        assert result.fetchone() == (10, "10" * 20)
        result.close()
        return after - before

    # All rows are about 2 MB.
    assert my.connected(work) < 50_000


def test_other_statements_are_refused_while_a_stream_is_received(my: Engines) -> None:
    def work(connection: sa.Connection) -> Any:
        result = connection.execution_options(stream_results=True).execute(QUERY)
        with pytest.raises(sa.exc.InterfaceError, match="stream is being read"):
            connection.scalar(sa.select(1))
        assert len(result.all()) == ROWS
        return connection.scalar(sa.select(1))

    assert my.connected(work) == 1


@pytest.mark.parametrize("end", ["commit", "rollback", "close"])
def test_a_stream_that_is_not_read_to_its_end_leaves_its_connection_usable(
    my: Engines, on_server: bool, end: str
) -> None:
    kept: list[Any] = []

    def connect(connection: sa.Connection) -> int:
        thread: int = connection.scalar(sa.select(sa.func.connection_id()))
        streaming = connection.execution_options(stream_results=True, mysql_on_server=on_server)
        kept.append(streaming.execute(QUERY))
        assert kept[-1].fetchone() == (0, "0" * 20)
        if end != "close":
            getattr(connection.get_transaction(), end)()
        return thread

    def look(connection: sa.Connection) -> Any:
        return connection.scalar(sa.select(sa.func.connection_id())), connection.scalar(sa.select(42))

    thread = my.connected(connect)
    # The same one: the pool did not have to replace it.
    assert my.connected(look) == (thread, 42)


def test_a_stream_that_its_transaction_has_ended_raises(my: Engines) -> None:
    def work(connection: sa.Connection) -> None:
        result = connection.execution_options(stream_results=True).execute(QUERY)
        assert result.fetchone() == (0, "0" * 20)
        connection.commit()
        # What is in the buffer of the result may still be fetched; then it has not ended, it is lost.
        with pytest.raises(sa.exc.InterfaceError, match="cursor is closed"):
            result.all()

    my.connected(work, begin=False)


def test_a_stream_whose_connection_is_killed_raises(my: Engines, on_server: bool) -> None:
    # Without a cursor on the server, more than is under way at that time.
    other = STREAMED.alias()
    query = QUERY if on_server else sa.select(STREAMED.c.text, other.c.text).join(other, sa.true())

    def work(connection: sa.Connection) -> Any:
        thread = connection.scalar(sa.select(sa.func.connection_id()))
        streaming = connection.execution_options(stream_results=True, mysql_on_server=on_server, max_row_buffer=10)
        result = streaming.execute(query)
        assert result.fetchone() is not None
        killer = sa.create_engine(my.url)
        with killer.connect() as other:
            other.exec_driver_sql(f"kill {thread}")
        killer.dispose()
        with pytest.raises(sa.exc.DBAPIError) as caught:
            for _ in result:
                pass
        assert caught.value.connection_invalidated
        assert connection.invalidated
        connection.get_transaction().rollback()  # type: ignore[union-attr]

    my.connected(work)
    assert my.connected(lambda connection: connection.scalar(sa.select(42))) == 42


def test_what_is_decided_for_the_next_transaction_is_not_for_the_next_user(my: Engines) -> None:
    one = my.made(pool_size=1, max_overflow=0)
    thread = sa.select(sa.func.connection_id())

    def decide(connection: sa.Connection) -> Any:
        found = connection.scalar(thread)
        connection.rollback()
        connection.execute(sa.text("set transaction read only"))
        return found

    def write(connection: sa.Connection) -> Any:
        connection.execute(sa.text("delete from mysql.time_zone_leap_second where 1 = 0"))
        return connection.scalar(thread)

    assert one.connected(decide, begin=False) == one.connected(write)
    one.dispose()


def test_a_span_is_found_in_a_column_of_times(my: Engines) -> None:
    span, ids = SPANNED.c.span, sa.select(SPANNED.c.id).order_by(SPANNED.c.id)

    def work(connection: sa.Connection) -> None:
        for number, value in enumerate(SPANS):
            connection.exec_driver_sql("INSERT INTO spanned VALUES (?, ?)", (number, value))

        def found(*conditions: Any) -> list[int]:
            return list(connection.scalars(ids.where(*conditions)))

        for number, value in enumerate(SPANS):
            before = list(range(number))
            assert found(span == value) == found(sa.literal(value) == span) == [number]
            assert found(span < value) == found(span.in_(SPANS[:number])) == before
            assert found(span.not_in(SPANS[number:])) == before
            assert found(span.between(value, value)) == [number]
            assert found(sa.tuple_(SPANNED.c.id, span).in_([(number, value)])) == [number]
            case = sa.case({value: 1}, value=span, else_=0)
            assert sum(connection.scalars(sa.select(case).select_from(SPANNED))) == 1

    my.connected(work)
