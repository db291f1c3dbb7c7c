"""``postgresql+headrace``: what users of an engine rely on."""

from __future__ import annotations

import datetime
import decimal
import enum
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg

from .conftest import Engines

META = sa.MetaData()
ITEMS = sa.Table(
    "items",
    META,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(20)),
    sa.Column("price", sa.Numeric(10, 2)),
    sa.Column("data", pg.JSONB),
    sa.Column("day", sa.Date),
    sa.Column("span", pg.INT4RANGE),
    sa.Column("tags", pg.ARRAY(sa.String)),
)


class Mood(enum.Enum):
    SAD = "happy"
    HAPPY = "sad"


class Word(str, enum.Enum):
    """Text by itself."""

    A = "a"


class Rate(decimal.Decimal, enum.Enum):
    """A number by itself."""

    HALF = "0.5"


MOODS = sa.Table("moods", META, sa.Column("id", sa.Integer, primary_key=True), sa.Column("mood", sa.Enum(Mood)))


@pytest.fixture(autouse=True)
def _tables(postgres: Engines) -> Any:
    postgres.connected(META.create_all)
    yield
    postgres.connected(META.drop_all)


def test_rows_come_back_as_they_went(postgres: Engines) -> None:
    row = {
        "id": 1, "name": "a%s", "price": decimal.Decimal("1.50"), "data": {"a": [1, None]},
        "day": datetime.date(2024, 2, 29), "span": pg.Range(1, 5), "tags": ["x", "y"],
    }  # fmt: skip

    def work(connection: sa.Connection) -> Any:
        connection.execute(ITEMS.insert(), row)
        return connection.execute(sa.select(ITEMS).where(ITEMS.c.name == "a%s")).mappings().one()

    assert dict(postgres.connected(work)) == row


def test_a_statement_is_prepared_once_whatever_its_values(postgres: Engines) -> None:
    def work(connection: sa.Connection) -> Any:
        for value in (1, None, 2**31 - 1):
            connection.execute(sa.select(ITEMS.c.name).where(ITEMS.c.id == value, ITEMS.c.price == value))
        prepared = sa.text("select count(*) from pg_prepared_statements where statement like 'SELECT items.name%'")
        return connection.scalar(prepared)

    assert postgres.connected(work) == 2  # "= $1" and "IS NULL"


def test_a_batch_is_one_statement_and_counts_its_rows(postgres: Engines) -> None:
    def work(connection: sa.Connection) -> Any:
        counting = connection.execution_options(preserve_rowcount=True)
        inserted = counting.execute(ITEMS.insert(), [{"id": i, "name": str(i)} for i in range(2000)])
        updated = connection.execute(
            ITEMS.update().where(ITEMS.c.id == sa.bindparam("key")), [{"key": 1, "name": "x"}, {"key": -1, "name": "y"}]
        )
        return inserted.rowcount, updated.rowcount

    assert postgres.connected(work) == (2000, 1)


def test_stream_results_holds_few_rows_also_in_autocommit(postgres: Engines) -> None:
    def work(connection: sa.Connection) -> Any:
        rows = connection.execution_options(stream_results=True, max_row_buffer=10).execute(
            sa.text("select generate_series(1, 1000)")
        )
        assert getattr(rows.cursor, "name", None) or rows.cursor.server_side  # type: ignore[union-attr]
        return sum(rows.scalars())

    assert postgres.connected(work) == 500_500
    alone = postgres.made(isolation_level="AUTOCOMMIT")
    assert alone.connected(work) == 500_500
    alone.dispose()


def test_a_number_is_not_rounded_as_the_column_beside_it(postgres: Engines) -> None:
    factor = decimal.Decimal("1.0825")

    def work(connection: sa.Connection) -> Any:
        connection.execute(ITEMS.insert(), [{"id": 1, "price": 100}, {"id": 2, "price": decimal.Decimal("0.01")}])
        connection.execute(ITEMS.update().values(price=ITEMS.c.price * factor).where(ITEMS.c.id == 1))
        price = connection.scalar(sa.select(ITEMS.c.price).where(ITEMS.c.id == 1))
        half = connection.scalar(sa.select(sa.literal(decimal.Decimal("0.006"), sa.Numeric(10, 2))))
        length = sa.literal(datetime.timedelta(milliseconds=111), sa.Interval(second_precision=1))
        below = connection.scalars(sa.select(ITEMS.c.id).where(ITEMS.c.price <= decimal.Decimal("0.006"))).all()
        real = connection.scalar(sa.select(sa.literal(0.1, sa.Float(3))))
        return price, half, connection.scalar(sa.select(length)), list(below), real

    expected = (
        decimal.Decimal("108.25"), decimal.Decimal("0.006"), datetime.timedelta(milliseconds=111), [], 0.1
    )  # fmt: skip
    assert postgres.connected(work) == expected


def test_members_of_an_enumeration_are_their_names_where_no_column_is_known(postgres: Engines) -> None:
    def work(connection: sa.Connection) -> Any:
        connection.execute(MOODS.insert(), [{"id": 1, "mood": Mood.SAD}, {"id": 2, "mood": None}])
        of_nothing = sa.func.coalesce(MOODS.c.mood, Mood.HAPPY)
        of_case = sa.case((MOODS.c.id == 1, Mood.HAPPY), else_=MOODS.c.mood)
        found = [connection.scalars(sa.select(each).order_by(MOODS.c.id)).all() for each in (of_nothing, of_case)]
        values = {"one": Mood.SAD, "many": [Mood.HAPPY], "word": Word.A, "rate": Rate.HALF}
        return found, connection.execute(
            sa.text("select cast(:one as text), cast(:many as text[]), cast(:word as text), cast(:rate as numeric)"),
            values,
        ).one()

    found, texts = postgres.connected(work)
    assert found == [[Mood.SAD, Mood.HAPPY], [Mood.HAPPY, None]]
    assert tuple(texts) == ("SAD", ["HAPPY"], "a", decimal.Decimal("0.5"))


def test_members_of_an_enumeration_are_their_names_in_columns_of_text(postgres: Engines) -> None:
    words = sa.Table(
        "words", sa.MetaData(), sa.Column("id", sa.Integer), sa.Column("a", sa.String(20)), sa.Column("b", sa.Text),
        sa.Column("c", sa.CHAR(5)), sa.Column("d", pg.ARRAY(sa.Text)), prefixes=["TEMPORARY"],
    )  # fmt: skip

    def work(connection: sa.Connection) -> Any:
        words.create(connection)
        member = {"a": Mood.SAD, "b": Mood.HAPPY, "c": Mood.SAD, "d": [Mood.HAPPY, None, Word.A]}
        rows = [{"id": 1, **member}, {"id": 2, "a": Word.A, "b": None, "c": "t", "d": ["t"]}]
        connection.execute(words.insert(), rows)
        connection.execute(words.insert(), {"id": 3, **member})
        found = connection.execute(sa.select(words).order_by(words.c.id)).all()
        same = words.c.a.in_([Mood.SAD, Word.A]) & (words.c.b == Mood.HAPPY) & words.c.d.contains([Mood.HAPPY])
        return [tuple(row)[1:] for row in found], connection.scalars(sa.select(words.c.id).where(same)).all()

    (first, second, third), same = postgres.connected(work)
    assert first == third == ("SAD", "HAPPY", "SAD  ", ["HAPPY", None, "a"])
    assert second == ("a", None, "t    ", ["t"])
    assert sorted(same) == [1, 3]


TEXTS: list[tuple[str, dict[str, Any], Any]] = [
    ("select :a", {"a": 5}, 5),
    ("select :a", {"a": True}, True),
    ("select :a + :b", {"a": 1, "b": 2}, 3),
    ("select greatest(:a, :b)", {"a": 9, "b": 10}, 10),
    ("select abs(:a)", {"a": -5}, 5),
    ("select case when :a is null or :a > 1 then 1 end", {"a": 2}, 1),
    ("select 2 * :a", {"a": 1.5}, 3.0),
    ("select jsonb_build_object('k', :a)", {"a": 5}, {"k": 5}),
    ("select date '2024-01-01' + :a", {"a": 3}, datetime.date(2024, 1, 4)),
    ("select array_length(:a, 1)", {"a": [datetime.date(2024, 1, 1), None]}, 2),
    ("select :a + jsonb_array_length(:b)", {"a": 1, "b": [1, 2]}, 3),
    ('select jsonb \'{"a": 1, "b": 2}\' @> :a and :b', {"a": {"a": 1}, "b": True}, True),
    ("select array[1, 70000] @> :a and :b", {"a": [1], "b": True}, True),
    ("select array[1, 70000] @> :a and :b", {"a": np.array([1]), "b": True}, True),
    ("select array[0.5, 1]::real[] @> :a and :b", {"a": [0.5], "b": True}, True),
    ("select array[0.5, 1]::real[] @> :a", {"a": [0.5]}, True),
    ("select jsonb '{\"a\": 1}' @> :a", {"a": {"a": 1}}, True),
    ("select cast(:a as date)", {"a": "2024-01-01"}, datetime.date(2024, 1, 1)),
    ("select cast(:a as int)", {"a": None}, None),
    ("select id from items where id = :a and name = :b", {"a": 1, "b": "one"}, 1),
]
"""Texts whose parameters the server could tell no types, or others than those of the values."""


@pytest.mark.parametrize(("text", "values", "expected"), TEXTS)
def test_parameters_of_texts_have_the_types_of_their_values(
    postgres: Engines, text: str, values: dict[str, Any], expected: Any
) -> None:
    def work(connection: sa.Connection) -> Any:
        connection.execute(ITEMS.insert(), {"id": 1, "name": "one"})
        alone = connection.execute(sa.text(text), values).scalar()
        within = connection.execute(sa.text(text).columns(sa.column("found")), values).scalar()
        streamed = connection.execute(sa.text(text).execution_options(stream_results=True), values).scalar()
        connection.execute(sa.text(f"select ({text}) where :z"), [{**values, "z": True}, {**values, "z": False}])
        return alone, within, streamed

    found = postgres.connected(work)
    assert found == (expected, expected, expected)
    assert {type(one) for one in found} == {type(expected)}


def test_rows_for_a_text_have_the_types_of_their_values(postgres: Engines) -> None:
    def work(connection: sa.Connection) -> Any:
        connection.execute(sa.text("create temporary table rated (id int, n numeric)"))
        rows = [{"id": 1, "n": 1}, {"id": 2, "n": 2.5}, {"id": 3, "n": decimal.Decimal("1.50")}, {"id": 4, "n": None}]
        connection.execute(sa.text("insert into rated values (:id, :n)"), rows)
        factors = [{"id": 1, "f": 1.5}, {"id": 2, "f": 2}]
        connection.execute(sa.text("update rated set id = id * :f * 10 where id = :id"), factors)
        return connection.execute(sa.text("select id, cast(n as text) from rated order by id")).all()

    assert postgres.connected(work) == [(3, "1.50"), (4, None), (15, "1"), (40, "2.5")]


@pytest.mark.parametrize(
    "text",
    [
        "select :a, ':b'",
        "select :a where 'x' like '%:b%'",
        "select :a -- :b",
        'select :a, ":b" from (select 1 as "$2") t',
    ],
)
def test_a_parameter_within_quotes_is_an_error(postgres: Engines, text: str) -> None:
    for rows in ({"a": 1, "b": "x"}, [{"a": 1, "b": "x"}] * 2):
        with pytest.raises(sa.exc.DBAPIError):
            postgres.connected(lambda connection, rows=rows: connection.execute(sa.text(text), rows))  # type: ignore[misc]


def test_parameters_of_columns_have_their_types_beside_others(postgres: Engines) -> None:
    exact = sa.Table(
        "exact", sa.MetaData(), sa.Column("n", sa.Integer), sa.Column("price", sa.Numeric), sa.Column("name", sa.Text),
        sa.Column("day", sa.Date), prefixes=["TEMPORARY"],
    )  # fmt: skip
    price, day = 0.12345678901234568, datetime.date(2024, 1, 1)

    def work(connection: sa.Connection) -> Any:
        exact.create(connection)
        insert = exact.insert().values(price=price, name=sa.func.lower(Mood.SAD), day=day)
        connection.execute(insert.values(n=1))
        with pytest.raises(sa.exc.DBAPIError), connection.begin_nested():
            connection.execute(insert.values(n=1.5))
        connection.execute(
            exact.insert().values(name=sa.func.lower(sa.bindparam("m"))),
            [{"n": n, "price": price, "m": Mood.SAD} for n in (2, 3)],
        )
        typed = sa.text("select :p, :d").bindparams(sa.bindparam("p", type_=sa.Numeric))
        found = connection.execute(typed, {"p": price, "d": day}).one()
        return connection.execute(sa.select(exact).order_by(exact.c.n)).all(), found

    rows, found = postgres.connected(work)
    number = decimal.Decimal(repr(price))
    assert rows == [(1, number, "sad", day), (2, number, "sad", None), (3, number, "sad", None)]
    assert found == (number, day)


def test_a_default_that_executes_a_statement_leaves_the_types_of_the_row(postgres: Engines) -> None:
    at = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)

    def default(context: Any) -> Any:
        return context.connection.scalar(sa.select(sa.literal(7)).where(sa.literal(at, sa.DateTime()).is_not(None)))

    made = sa.Table(
        "made",
        sa.MetaData(),
        sa.Column("n", sa.Integer, default=default),
        sa.Column("m", sa.Integer),
        prefixes=["TEMPORARY"],
    )
    seen: list[tuple[str, bool, bool]] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        seen.append((statement.split()[0], context.types_times, context.types_values))

    def work(connection: sa.Connection) -> Any:
        made.create(connection)
        sa.event.listen(connection, "before_cursor_execute", note)
        connection.execute(made.insert(), {"m": 1})
        return connection.execute(sa.select(made)).all()

    assert postgres.connected(work) == [(7, 1)]
    assert seen == [("SELECT", True, False), ("INSERT", False, False), ("SELECT", False, False)]
