"""``informix+headrace``: what users of an engine rely on. On the test server; no genuine Informix was there."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

from headrace.sqlalchemy import informix as ifx

from .conftest import Engines

META = sa.MetaData()
AUTHORS = sa.Table(
    "alchemy_authors",
    META,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(40), nullable=False, server_default="nobody"),
    sa.Column("known", sa.Boolean),
    sa.Column("seen", sa.DateTime, server_default=sa.func.now()),
    sa.UniqueConstraint("name", "known", name="alchemy_known"),
    sa.CheckConstraint("name <> ''", name="alchemy_named"),
    sa.Index("alchemy_seen", sa.desc("seen")),
    informix_lock_mode="row",
)
BOOKS = sa.Table(
    "alchemy_books",
    META,
    sa.Column("id", sa.BigInteger, primary_key=True),
    sa.Column("author", sa.ForeignKey("alchemy_authors.id", ondelete="CASCADE", name="alchemy_author")),
    sa.Column("Mixed Case", sa.Numeric(10, 2)),
)


@pytest.fixture
def tables(ifx_engines: Engines) -> Iterator[Engines]:
    ifx_engines.connected(META.create_all)
    yield ifx_engines
    ifx_engines.connected(META.drop_all)


def test_inserts_return_the_numbers_that_the_server_generated(tables: Engines) -> None:
    def work(connection: sa.Connection) -> Any:
        first = connection.execute(AUTHORS.insert(), {"name": "Ann"}).inserted_primary_key
        second = connection.execute(AUTHORS.insert()).inserted_primary_key
        book = connection.execute(BOOKS.insert().values(author=1)).inserted_primary_key
        return first, second, book

    assert tables.connected(work) == ((1,), (2,), (1,))


def test_many_rows_are_one_batch(tables: Engines) -> None:
    rows = [{"name": f"n{n}", "known": n % 2 == 0} for n in range(2_000)]

    def work(connection: sa.Connection) -> Any:
        count = connection.execute(AUTHORS.insert(), rows).rowcount
        known = connection.scalar(sa.select(sa.func.count()).where(AUTHORS.c.known))
        return count, known, connection.scalar(sa.select(sa.func.count()).where(~AUTHORS.c.known))

    assert tables.connected(work) == (2_000, 1_000, 1_000)


VALUES: list[tuple[Any, Any]] = [
    (sa.String(20), "naïve ß"),
    (sa.String(1000), "x" * 1000),
    (sa.Text, "long " * 10_000),
    (sa.LargeBinary, bytes(range(256)) * 100),
    (sa.Boolean, True),
    (sa.SmallInteger, -7),
    (sa.BigInteger, 2**40),
    (sa.Numeric(32, 10), Decimal("1234567890123456789012.0123456789")),
    (sa.Float, 0.1),
    (sa.Date, datetime.date(1, 1, 1)),
    (sa.DateTime, datetime.datetime(2024, 2, 29, 23, 59, 59, 123450)),
    (sa.Time, datetime.time(23, 59, 59, 123450)),
    (sa.Interval, datetime.timedelta(days=-12345, microseconds=10)),
    (sa.Uuid, uuid.UUID(int=5)),
    (sa.JSON, {"a": [1, None, "ß"]}),
    (sa.Enum("red", "blue", name="colour"), "red"),
    (ifx.MONEY(10, 2), Decimal("1.50")),
    (ifx.LVARCHAR(3000), "y" * 3000),
    (ifx.INT8, -(2**40)),
    (ifx.DATETIME("YEAR", "MINUTE"), datetime.datetime(2024, 1, 2, 3, 4)),
    (ifx.INTERVAL("HOUR", "SECOND", 4), datetime.timedelta(hours=1234)),
    (ifx.SMALLFLOAT, 0.5),
]


@pytest.mark.parametrize(("kind", "value"), VALUES, ids=lambda value: type(value).__name__)
def test_values_come_back_as_they_were_and_their_types_are_reflected(
    ifx_engines: Engines, kind: Any, value: Any
) -> None:
    meta = sa.MetaData()
    table = sa.Table("alchemy_values", meta, sa.Column("n", sa.Integer, autoincrement=False), sa.Column("v", kind))

    def work(connection: sa.Connection) -> Any:
        meta.create_all(connection)
        connection.execute(table.insert(), [{"n": 1, "v": value}, {"n": 2, "v": None}])
        found = connection.scalars(sa.select(table.c.v).order_by(table.c.n)).all()
        reflected = sa.Table("alchemy_values", sa.MetaData(), autoload_with=connection)
        again = connection.scalars(sa.select(reflected.c.v).where(reflected.c.n == 1)).one()
        declared = reflected.c.v.type.compile(connection.dialect)
        meta.drop_all(connection)
        return found, again, declared == table.c.v.type.compile(connection.dialect)

    found, again, same_type = ifx_engines.connected(work)
    assert found == [value, None]
    assert same_type
    assert again == value or isinstance(kind, (sa.Uuid, sa.Enum)) or kind is sa.Uuid


def test_reflection_finds_what_was_defined(tables: Engines) -> None:
    def work(connection: sa.Connection) -> Any:
        connection.exec_driver_sql("create view alchemy_view as select id from alchemy_books")
        connection.exec_driver_sql("create synonym alchemy_synonym for alchemy_books")
        connection.exec_driver_sql("create sequence alchemy_sequence")
        look = sa.inspect(connection)
        found = {
            "tables": {"alchemy_authors", "alchemy_books"} <= set(look.get_table_names()),
            "views": look.get_view_names(),
            "definition": look.get_view_definition("alchemy_view"),
            "sequences": look.get_sequence_names(),
            "synonym": [column["name"] for column in look.get_columns("alchemy_synonym")],
            "serials": [column["name"] for column in look.get_columns("alchemy_authors") if column["autoincrement"]],
            "keys": look.get_foreign_keys("alchemy_books"),
            "indexes": look.get_indexes("alchemy_authors"),
            "unique": look.get_unique_constraints("alchemy_authors"),
            "checks": look.get_check_constraints("alchemy_authors"),
            "options": look.get_table_options("alchemy_authors"),
        }
        for what in ("view alchemy_view", "synonym alchemy_synonym", "sequence alchemy_sequence"):
            connection.exec_driver_sql(f"drop {what}")
        return found

    assert tables.connected(work) == {
        "tables": True,
        "views": ["alchemy_view"],
        "definition": "create view alchemy_view as select id from alchemy_books",
        "sequences": ["alchemy_sequence"],
        "synonym": ["id", "author", "Mixed Case"],
        "serials": ["id"],
        "keys": [
            {
                "name": "alchemy_author",
                "constrained_columns": ["author"],
                "referred_schema": None,
                "referred_table": "alchemy_authors",
                "referred_columns": ["id"],
                "options": {"ondelete": "CASCADE"},
            }
        ],
        "indexes": [
            {
                "name": "alchemy_seen",
                "column_names": ["seen"],
                "unique": False,
                "column_sorting": {"seen": ("desc",)},
            }
        ],
        "unique": [{"name": "alchemy_known", "column_names": ["name", "known"]}],
        "checks": [{"name": "alchemy_named", "sqltext": "name <> ''"}],
        "options": {"informix_lock_mode": "row"},
    }


class Base(DeclarativeBase):
    pass


class Parent(Base):
    __tablename__ = "alchemy_parents"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(30))
    children: Mapped[list[Child]] = relationship(back_populates="parent", cascade="all, delete-orphan")


class Child(Base):
    __tablename__ = "alchemy_children"
    id: Mapped[int] = mapped_column(primary_key=True)
    parent_id: Mapped[int] = mapped_column(sa.ForeignKey("alchemy_parents.id"))
    parent: Mapped[Parent] = relationship(back_populates="children")


def test_objects_are_stored_and_found(ifx_engines: Engines) -> None:
    def work(connection: sa.Connection) -> Any:
        Base.metadata.create_all(connection)
        with Session(connection) as session:
            session.add(Parent(name="Ann", children=[Child() for _ in range(3)]))
            session.commit()
            parent = session.scalars(sa.select(Parent).where(Parent.children.any()).limit(1).offset(0)).one()
            found = parent.name, sorted(child.id for child in parent.children)
            session.delete(parent)
            session.commit()
            left = session.scalar(sa.select(sa.func.count()).select_from(Child))
        Base.metadata.drop_all(connection)
        return found, left

    assert ifx_engines.connected(work, begin=False) == (("Ann", [1, 2, 3]), 0)


def test_limits_are_where_informix_has_them(tables: Engines) -> None:
    def work(connection: sa.Connection) -> Any:
        connection.execute(AUTHORS.insert(), [{"name": f"n{n}"} for n in range(6)])
        two = sa.select(AUTHORS.c.id).order_by(AUTHORS.c.id).limit(2).offset(1)
        return (
            connection.scalars(two).all(),
            connection.scalars(sa.select(AUTHORS.c.id).where(AUTHORS.c.id.in_(two)).order_by(AUTHORS.c.id)).all(),
            connection.scalars(sa.union(two, sa.select(AUTHORS.c.id)).order_by("id").limit(3)).all(),
            connection.scalar(sa.select(sa.func.count()).select_from(two.subquery())),
            connection.scalars(sa.select(AUTHORS.c.id).where(AUTHORS.c.id.in_([]))).all(),
        )

    assert tables.connected(work) == ([2, 3], [2, 3], [1, 2, 3], 2, [])


def test_streams_read_from_a_cursor_on_the_server(tables: Engines) -> None:
    def work(connection: sa.Connection) -> Any:
        connection.execute(AUTHORS.insert(), [{"name": f"n{n}"} for n in range(500)])
        options = {"yield_per": 200}
        result = connection.execute(sa.select(AUTHORS.c.id), execution_options=options)
        return [len(part) for part in result.partitions()]

    assert tables.connected(work) == [200, 200, 100]


@pytest.mark.parametrize(
    ("level", "own"),
    [
        ("READ UNCOMMITTED", "read uncommitted"),
        ("LAST COMMITTED", "last committed"),
        ("CURSOR STABILITY", "cursor stability"),
        ("SERIALIZABLE", "serializable"),
    ],
)
def test_levels_are_those_of_the_server(ifx_engines: Engines, level: str, own: str) -> None:
    def work(connection: sa.Connection) -> Any:
        before = connection.get_isolation_level()
        connection.execution_options(isolation_level=level)
        driver: Any = connection.connection.dbapi_connection
        return before, connection.get_isolation_level(), driver.isolation_level

    assert ifx_engines.connected(work, begin=False) == ("READ COMMITTED", level, own)


def test_options_are_written_into_create_table() -> None:
    table = sa.Table(
        "t",
        sa.MetaData(),
        sa.Column("n", ifx.SERIAL(1000), primary_key=True),
        informix_in="dbs1",
        informix_extent_size=64,
        informix_next_size=32,
        informix_lock_mode="row",
    )
    text = " ".join(str(sa.schema.CreateTable(table).compile(dialect=ifx.dialect())).split())
    assert text == (
        "CREATE TABLE t ( n SERIAL(1000), PRIMARY KEY (n) ) IN dbs1 EXTENT SIZE 64 NEXT SIZE 32 LOCK MODE ROW"
    )


COMPILED = [
    (sa.select(sa.column("a") % 3), "SELECT MOD(a, CAST(? AS INTEGER)) AS anon_1"),
    (sa.select(sa.literal("x")), "SELECT CAST(? AS LVARCHAR) AS anon_1"),
    (sa.select(sa.func.now()), "SELECT CURRENT YEAR TO FRACTION(5) AS now_1"),
    (sa.select(sa.func.current_date()), "SELECT TODAY AS current_date_1"),
    (sa.select(sa.extract("hour", sa.column("t"))), "SELECT CAST(CAST(EXTEND(t, HOUR TO HOUR) AS CHAR(2)) AS INTEGER)"),
]


@pytest.mark.parametrize(("query", "text"), COMPILED, ids=lambda value: str(value)[:20])
def test_expressions_are_written_as_informix_has_them(query: Any, text: str) -> None:
    assert " ".join(str(query.compile(dialect=ifx.dialect())).split()).startswith(text)


FLAG: Any = sa.column("b", sa.Boolean)
IS: list[tuple[Any, list[int]]] = [
    (FLAG.is_(True), [1]),
    (FLAG.is_(False), [2]),
    (FLAG.is_(None), [3]),
    (FLAG.is_not(True), [2, 3]),
    (FLAG.is_not(None), [1, 2]),
    (FLAG.is_(sa.literal(True)), [1]),
    (~FLAG.is_(False), [1, 3]),
    ((sa.column("m") == 5).is_(True), [1]),
    ((sa.column("m") == 5).is_not(True), [2, 3]),
    ((sa.column("m") == 5).is_(False), [2]),
]


def test_a_case_asks_for_the_value_of_a_column() -> None:
    query = sa.select(sa.case((FLAG, FLAG), (~FLAG, sa.column("c")), (sa.true(), sa.column("d"))))
    text = " ".join(str(query.compile(dialect=ifx.dialect())).split())
    assert text.startswith("SELECT CASE WHEN b = 't' THEN b WHEN b = 'f' THEN c WHEN 1 = 1 THEN d END AS"), text


@pytest.mark.parametrize(("condition", "expected"), IS, ids=str)
def test_is_compares_with_null_too(ifx_engines: Engines, condition: Any, expected: list[int]) -> None:
    columns = (sa.Column("n", sa.Integer), sa.Column("m", sa.Integer), sa.Column("b", sa.Boolean))
    table = sa.Table("alchemy_is", sa.MetaData(), *columns)
    rows = [{"n": 1, "m": 5, "b": True}, {"n": 2, "m": 6, "b": False}, {"n": 3, "m": None, "b": None}]

    def work(connection: sa.Connection) -> Any:
        table.create(connection)
        try:
            connection.execute(table.insert(), rows)
            return connection.scalars(sa.select(table.c.n).where(condition).order_by(table.c.n)).all()
        finally:
            table.drop(connection)

    assert ifx_engines.connected(work) == expected


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: sa.ForeignKeyConstraint(["a"], ["t.a"], ondelete="SET NULL"),
        lambda: sa.ForeignKeyConstraint(["a"], ["t.a"], onupdate="CASCADE"),
        lambda: sa.ForeignKeyConstraint(["a"], ["t.a"], initially="DEFERRED"),
        lambda: sa.Column("b", sa.Integer, sa.Computed("a + 1")),
    ],
    ids=["set_null", "on_update", "deferred", "computed"],
)
def test_what_informix_has_not_is_refused_before_the_server_sees_it(wrong: Any) -> None:
    table = sa.Table("t", sa.MetaData(), sa.Column("a", sa.Integer, primary_key=True), wrong())
    with pytest.raises(sa.exc.CompileError, match="Informix"):
        sa.schema.CreateTable(table).compile(dialect=ifx.dialect())


def test_a_value_is_not_cut_as_the_column_beside_it(tables: Engines) -> None:
    factor, tail = Decimal("1.0825"), "x" * 60

    def work(connection: sa.Connection) -> Any:
        connection.execute(AUTHORS.insert(), {"id": 1, "name": "Ann"})
        connection.execute(BOOKS.insert(), {"id": 1, "author": 1, "Mixed Case": 100})
        price = BOOKS.c["Mixed Case"]
        return connection.execute(
            sa.select(price * factor, AUTHORS.c.name + tail).where(BOOKS.c.author == AUTHORS.c.id)
        ).one()

    assert tuple(tables.connected(work)) == (Decimal("108.25"), "Ann" + tail)
