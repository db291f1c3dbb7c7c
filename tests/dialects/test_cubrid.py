"""``cubrid+headrace``: what users of an engine rely on."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, ClassVar

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

from headrace.sqlalchemy import cubrid as cub

from .conftest import Engines

META = sa.MetaData()
SEOUL = datetime.datetime(2024, 2, 3, 4, 5, 6, 7_000, tzinfo=datetime.timezone(datetime.timedelta(hours=9)))
AUTHORS = sa.Table(
    "alchemy_authors",
    META,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(40), nullable=False, server_default="nobody", comment="the whole name"),
    sa.Column("known", sa.Boolean),
    sa.Column("seen", sa.DateTime, server_default=sa.func.now()),
    sa.UniqueConstraint("name", "known", name="alchemy_known"),
    sa.Index("alchemy_seen", sa.desc("seen")),
)
BOOKS = sa.Table(
    "alchemy_books",
    META,
    sa.Column("id", sa.BigInteger, sa.Identity(start=100), primary_key=True),
    sa.Column("author", sa.ForeignKey("alchemy_authors.id", ondelete="CASCADE", name="alchemy_author")),
    sa.Column("value", sa.Numeric(10, 2)),
)


@pytest.fixture
def tables(cub_engines: Engines) -> Iterator[Engines]:
    cub_engines.connected(META.create_all)
    yield cub_engines
    cub_engines.connected(META.drop_all)


def test_inserts_return_the_numbers_that_the_server_generated(tables: Engines) -> None:
    def work(connection: sa.Connection) -> Any:
        first = connection.execute(AUTHORS.insert(), {"name": "Ann"}).inserted_primary_key
        second = connection.execute(AUTHORS.insert()).inserted_primary_key
        book = connection.execute(BOOKS.insert().values(author=1)).inserted_primary_key
        return first, second, book

    assert tables.connected(work) == ((1,), (2,), (100,))


def test_many_rows_are_one_batch(tables: Engines) -> None:
    rows = [{"name": f"n{n}", "known": n % 2 == 0} for n in range(2_000)]

    def work(connection: sa.Connection) -> Any:
        count = connection.execute(AUTHORS.insert(), rows).rowcount
        known = connection.scalar(sa.select(sa.func.count()).where(AUTHORS.c.known))
        return count, known, connection.scalar(sa.select(sa.func.count()).where(~AUTHORS.c.known))

    assert tables.connected(work) == (2_000, 1_000, 1_000)


VALUES: list[tuple[Any, Any]] = [
    (sa.String(20), "naïve ß"),
    (sa.Text, "long " * 10_000),
    (sa.LargeBinary, bytes(range(256)) * 100),
    (sa.Boolean, True),
    (sa.SmallInteger, -7),
    (sa.BigInteger, 2**40),
    (sa.Numeric(38, 10), Decimal("1234567890123456789012345678.0123456789")),
    (sa.Float, 0.1),
    (sa.Date, datetime.date(1, 1, 1)),
    (sa.DateTime, datetime.datetime(2024, 2, 29, 23, 59, 59, 123000)),
    (sa.DateTime(timezone=True), datetime.datetime(2024, 2, 29, 23, 59, 59, tzinfo=datetime.timezone.utc)),
    (sa.Time, datetime.time(23, 59, 59)),
    (sa.Interval, datetime.timedelta(days=12345)),
    (sa.JSON, {"a": [1, None, "ß"]}),
    (sa.Enum("red", "blue", "it's", name="colour"), "it's"),
    (sa.BLOB, bytes(range(256)) * 100),
    (sa.CLOB, "naïve ß " * 10_000),
    (cub.BIT(16), b"ab"),
    (cub.MONETARY, 1.5),
]


@pytest.mark.parametrize(("kind", "value"), VALUES, ids=lambda value: type(value).__name__)
def test_values_come_back_as_they_were_and_their_types_are_reflected(
    cub_engines: Engines, kind: Any, value: Any
) -> None:
    meta = sa.MetaData()
    table = sa.Table("alchemy_values", meta, sa.Column("n", sa.Integer, autoincrement=False), sa.Column("v", kind))

    def work(connection: sa.Connection) -> Any:
        meta.create_all(connection)
        connection.execute(table.insert(), [{"n": 1, "v": value}, {"n": 2, "v": None}])
        found = connection.scalars(sa.select(table.c.v).order_by(table.c.n)).all()
        reflected = sa.Table("alchemy_values", sa.MetaData(), autoload_with=connection)
        again = connection.scalars(sa.select(reflected.c.v).where(reflected.c.n == 1)).one()
        meta.drop_all(connection)
        return found, again

    found, again = cub_engines.connected(work)
    assert found == [value, None]
    assert again == value or isinstance(value, datetime.timedelta)


def test_reflection_finds_what_was_defined(tables: Engines) -> None:
    def work(connection: sa.Connection) -> Any:
        connection.exec_driver_sql("create view alchemy_view as select id, value from alchemy_books")
        connection.exec_driver_sql("create serial alchemy_sequence")
        look = sa.inspect(connection)
        columns = look.get_columns("alchemy_authors")
        found = {
            "tables": {"alchemy_authors", "alchemy_books"} <= set(look.get_table_names()),
            "views": "alchemy_view" in look.get_view_names(),
            "columns": [(one["name"], type(one["type"])) for one in look.get_columns("alchemy_view")],
            "definition": "alchemy_books" in look.get_view_definition("alchemy_view"),
            "sequences": "alchemy_sequence" in look.get_sequence_names(),
            "counted": [column["name"] for column in columns if column["autoincrement"]],
            "comments": [column["comment"] for column in columns],
            "key": look.get_pk_constraint("alchemy_authors")["constrained_columns"],
            "keys": look.get_foreign_keys("alchemy_books"),
            "indexes": [index for index in look.get_indexes("alchemy_authors") if not index["unique"]],
            "unique": [one["column_names"] for one in look.get_unique_constraints("alchemy_authors")],
        }
        connection.exec_driver_sql("drop view alchemy_view")
        connection.exec_driver_sql("drop serial alchemy_sequence")
        return found

    assert tables.connected(work) == {
        "tables": True,
        "views": True,
        "columns": [("id", sa.BIGINT), ("value", sa.NUMERIC)],
        "definition": True,
        "sequences": True,
        "counted": ["id"],
        "comments": [None, "the whole name", None, None],
        "key": ["id"],
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
            {"name": "alchemy_seen", "column_names": ["seen"], "unique": False, "column_sorting": {"seen": ("desc",)}}
        ],
        "unique": [["name", "known"]],
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


def test_objects_are_stored_and_found(cub_engines: Engines) -> None:
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

    assert cub_engines.connected(work, begin=False) == (("Ann", [1, 2, 3]), 0)


def test_streams_keep_their_rows_on_the_server(tables: Engines) -> None:
    def work(connection: sa.Connection) -> Any:
        connection.execute(AUTHORS.insert(), [{"name": f"n{n}"} for n in range(500)])
        result = connection.execute(sa.select(AUTHORS.c.id), execution_options={"yield_per": 200})
        sizes = []
        for part in result.partitions():
            # Other statements can be executed meanwhile.
            sizes.append((len(part), connection.scalar(sa.select(sa.func.count()).select_from(AUTHORS))))
        return sizes

    assert tables.connected(work) == [(200, 500), (200, 500), (100, 500)]


class Undescribed:
    """A cursor after a query of which a genuine server describes no columns."""

    description: ClassVar[list[Any]] = []

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


def test_results_that_the_server_does_not_describe_have_the_columns_of_the_query(tables: Engines) -> None:
    none = sa.union(*(sa.select(AUTHORS.c.id, AUTHORS.c.name.label("called")).where(sa.false()) for _ in range(2)))
    chosen = sa.select(AUTHORS.c.id, AUTHORS.c.name).where(AUTHORS.c.name == sa.bindparam("name"))

    def hide(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, executemany: bool) -> None:
        context.cursor = Undescribed(cursor)

    def found(connection: sa.Connection, query: Any, name: str) -> Any:
        result = connection.execute(query, {"name": name})
        return list(result.keys()), result.all(), connection.scalars(query, {"name": name}).all()

    def work(connection: sa.Connection) -> Any:
        connection.execute(AUTHORS.insert(), {"name": "Ann"})
        sa.event.listen(connection, "after_cursor_execute", hide)
        hidden = [found(connection, query, "nobody") for query in (none, chosen)]
        streamed = connection.execution_options(stream_results=True).scalars(none).all()
        objects = Session(connection).execute(none).mappings().all()
        sa.event.remove(connection, "after_cursor_execute", hide)
        connection.execution_options(stream_results=False)
        return hidden, streamed, objects, found(connection, none, ""), found(connection, chosen, "Ann")

    nothing: tuple[list[Any], list[Any]] = [], []
    assert tables.connected(work) == (
        [(["id", "called"], *nothing), (["id", "name"], *nothing)],
        [],
        [],
        (["id", "called"], *nothing),
        (["id", "name"], [(1, "Ann")], [1]),
    )


def test_changes_read_other_tables(tables: Engines) -> None:
    def work(connection: sa.Connection) -> Any:
        connection.execute(AUTHORS.insert(), [{"name": name} for name in ("Ann", "Ben", "Cid", "Dan")])
        connection.execute(BOOKS.insert(), [{"author": n, "value": n} for n in (1, 2, 3, 4)])
        connection.execute(
            BOOKS.update().where(BOOKS.c.author == AUTHORS.c.id, AUTHORS.c.name == "Ann").values(value=9)
        )
        connection.execute(BOOKS.delete().where(BOOKS.c.author == AUTHORS.c.id, AUTHORS.c.name == "Ben"))
        chosen = sa.select(AUTHORS.c.id).where(AUTHORS.c.name == "Cid").cte("chosen")
        connection.execute(BOOKS.update().where(BOOKS.c.author == chosen.c.id).values(value=8))
        late = sa.select(AUTHORS.c.id).where(AUTHORS.c.name.regexp_match("^d", flags="i")).cte("late")
        connection.execute(BOOKS.delete().where(BOOKS.c.author.in_(sa.select(late.c.id))))
        return connection.execute(sa.select(BOOKS.c.author, BOOKS.c.value).order_by(BOOKS.c.author)).all()

    assert tables.connected(work) == [(1, 9), (3, 8)]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (sa.literal("Abc").regexp_match("^a"), 0),
        (sa.literal("Abc").regexp_match("^a", flags="i"), 1),
        (sa.literal("abab").regexp_replace("b", "x"), "axax"),
        (sa.literal(5).bitwise_xor(3), 6),
        (sa.literal(5).bitwise_not(), -6),
        (sa.literal(3) / sa.literal(2), 1.5),
        (sa.literal(3) // sa.literal(2), 1),
        (sa.literal(3).is_distinct_from(sa.literal(2)), 1),
        (sa.literal(3).is_not_distinct_from(sa.null()), 0),
        (sa.tuple_(sa.literal(1), sa.literal(2)).in_([(1, 2), (3, 4)]), 1),
        (sa.literal(datetime.date(2024, 2, 29), literal_execute=True), datetime.date(2024, 2, 29)),
        (sa.literal(datetime.time(1, 2, 3), literal_execute=True), datetime.time(1, 2, 3)),
        (sa.literal(datetime.datetime(12, 2, 3, 4, 5, 6), literal_execute=True), datetime.datetime(12, 2, 3, 4, 5, 6)),
        (sa.literal(datetime.datetime(2024, 2, 3, 4), sa.Date, literal_execute=True), datetime.date(2024, 2, 3)),
        (sa.literal(SEOUL, sa.DateTime(timezone=True), literal_execute=True), SEOUL),
    ],
    ids=str,
)
def test_expressions(cub_engines: Engines, expression: Any, expected: Any) -> None:
    if isinstance(expression.type, sa.Boolean):
        expression = sa.case((expression, 1), else_=0)
    assert cub_engines.connected(lambda connection: connection.scalar(sa.select(expression))) == expected


@pytest.mark.parametrize("text", ["한'\"\\é", "\\\\한\\n'", "\\", "'\\é"])
def test_literals_have_no_backslash_before_a_character_of_several_bytes(cub_engines: Engines, text: str) -> None:
    # The lexer of a genuine server loses it after both kinds of quotes.
    query = sa.select(sa.literal(text)).compile(cub_engines.engine, compile_kwargs={"literal_binds": True})
    assert not re.search(r"\\[^\x00-\x7f]", str(query))

    def work(connection: sa.Connection) -> Any:
        table = sa.Table("alchemy_literals", sa.MetaData(), sa.Column("a", sa.Integer, comment=text))
        table.append_column(sa.Column("b", sa.String(20), server_default=text))
        table.create(connection)
        connection.execute(table.insert(), {"a": 1})
        stored = connection.scalar(sa.select(table.c.b).where(table.c.b == sa.literal(text, literal_execute=True)))
        comment = sa.inspect(connection).get_columns("alchemy_literals")[0]["comment"]
        table.drop(connection)
        return connection.exec_driver_sql(str(query)).scalar(), stored, comment

    assert cub_engines.connected(work) == (text,) * 3
    # A separator is a plain literal.
    both = sa.select(sa.func.aggregate_strings(sa.literal_column("name"), text)).select_from(sa.text("db_user"))
    assert "CONCAT('" not in str(both.compile(cub_engines.engine))


@pytest.mark.parametrize("way", ["typed", "untyped", "driver"])
def test_times_with_a_zone_keep_it_in_texts(cub_engines: Engines, way: str) -> None:
    # What is a column of no known type takes the instant, or the clock if it has no zones.
    columns = sa.Column("zoned", sa.DateTime(timezone=True)), sa.Column("plain", sa.DateTime)
    table = sa.Table("alchemy_zones", sa.MetaData(), *columns)
    expected = [(SEOUL, SEOUL.replace(tzinfo=None))] * 3

    def work(connection: sa.Connection) -> Any:
        table.create(connection)
        insert = sa.text("insert into alchemy_zones values (:zoned, :plain)")
        if way == "typed":
            insert = insert.bindparams(*(sa.bindparam(column.name, type_=column.type) for column in columns))
        for count in (1, 2):
            values = (SEOUL, SEOUL)
            if way == "driver":
                rows: Any = values if count == 1 else [values] * count
                connection.exec_driver_sql("insert into alchemy_zones values (?, ?)", rows)
            else:
                connection.execute(insert, [{"zoned": SEOUL, "plain": SEOUL}] * count)
        found = connection.execute(sa.select(table)).all()
        case = sa.text("select case when 1 = 1 then :zoned else null end")
        same = connection.scalar(case, {"zoned": SEOUL})
        table.drop(connection)
        return [tuple(row) for row in found], same

    assert cub_engines.connected(work) == (expected, SEOUL)


TRUE, FALSE, UNKNOWN = 1, 2, 3
IS: list[tuple[Any, list[int]]] = [
    (sa.column("b", sa.Boolean).is_(True), [TRUE]),
    (sa.column("b", sa.Boolean).is_(False), [FALSE]),
    (sa.column("b", sa.Boolean).is_(None), [UNKNOWN]),
    (sa.column("b", sa.Boolean).is_not(True), [FALSE, UNKNOWN]),
    (sa.column("b", sa.Boolean).is_not(None), [TRUE, FALSE]),
    (sa.column("b", sa.Boolean).is_(sa.literal(True)), [TRUE]),
    (~sa.column("b", sa.Boolean).is_(False), [TRUE, UNKNOWN]),
    ((sa.column("n") + sa.column("b") == 2).is_(True), [TRUE, FALSE]),
    ((sa.column("n") + sa.column("b") == 2).is_not(True), [UNKNOWN]),
    ((sa.column("n") + sa.column("b") == 3).is_(False), [TRUE, FALSE]),
]


@pytest.mark.parametrize(("condition", "expected"), IS, ids=str)
def test_is_compares_with_null_too(cub_engines: Engines, condition: Any, expected: list[int]) -> None:
    table = sa.Table("alchemy_is", sa.MetaData(), sa.Column("n", sa.Integer), sa.Column("b", sa.Boolean))

    def work(connection: sa.Connection) -> Any:
        table.create(connection)
        try:
            connection.execute(table.insert(), [{"n": 1, "b": True}, {"n": 2, "b": False}, {"n": 3, "b": None}])
            return connection.scalars(sa.select(table.c.n).where(condition).order_by(table.c.n)).all()
        finally:
            table.drop(connection)

    assert cub_engines.connected(work) == expected


def test_a_case_asks_for_the_value_of_a_column(tables: Engines) -> None:
    known = AUTHORS.c.known
    rows = [{"name": name, "known": value} for name, value in (("a", True), ("b", False), ("c", None))]
    cases = [
        (sa.case((known, "yes"), (~known, "no"), else_="unknown"), ["yes", "no", "unknown"]),
        (sa.case((sa.and_(known, AUTHORS.c.id > 0), 1), (sa.true(), 2)), [1, 2, 2]),
        (sa.case((sa.false(), 1), (sa.func.coalesce(known, True), 2), else_=3), [2, 3, 2]),
        (sa.case((True, 1), (False, 2), value=known), [1, 2, None]),
    ]

    def work(connection: sa.Connection) -> Any:
        connection.execute(AUTHORS.insert(), rows)
        return [list(connection.scalars(sa.select(case).order_by(AUTHORS.c.id))) for case, _ in cases]

    assert tables.connected(work) == [expected for _, expected in cases]


def test_fetch_is_a_limit(tables: Engines) -> None:
    ordered = sa.select(AUTHORS.c.id).order_by(AUTHORS.c.id)

    def work(connection: sa.Connection) -> Any:
        connection.execute(AUTHORS.insert(), [{"name": name} for name in ("Ann", "Ben", "Cid")])
        return connection.scalars(ordered.fetch(2)).all(), connection.scalars(ordered.offset(1).fetch(1)).all()

    assert tables.connected(work) == ([1, 2], [2])
    with pytest.raises(sa.exc.CompileError, match="TIES"):
        ordered.fetch(2, with_ties=True).compile(dialect=cub.dialect())


def test_a_truth_value_is_no_index_of_json(cub_engines: Engines) -> None:
    element = sa.literal({"a": 1}, sa.JSON)[True]
    with pytest.raises(sa.exc.StatementError, match="names and numbers"):
        cub_engines.connected(lambda connection: connection.scalar(sa.select(element)))


def test_a_condition_needs_no_table(cub_engines: Engines) -> None:
    query = sa.select(sa.literal(1)).where(sa.literal(2) == 2)
    assert cub_engines.connected(lambda connection: connection.scalar(query)) == 1


def test_paths_into_json(cub_engines: Engines) -> None:
    table = sa.Table("alchemy_json", sa.MetaData(), sa.Column("d", sa.JSON))
    document = {"a": [1, {"b c": "x"}], "t": True, "n": None, "f": 1.5}

    def work(connection: sa.Connection) -> Any:
        table.create(connection)
        connection.execute(table.insert(), {"d": document})
        d = table.c.d
        found = connection.execute(
            sa.select(
                d["a"][0],
                d["a", 1, "b c"].as_string(),
                d["a", 0].as_integer(),
                d["t"].as_boolean(),
                d["n"].as_string(),
                d["f"].as_numeric(6, 3),
                d["no"],
            )
        ).one()
        table.drop(connection)
        return tuple(found)

    assert cub_engines.connected(work) == (1, "x", 1, True, None, Decimal("1.500"), None)


def test_names_with_quotes_and_comments_are_reflected(cub_engines: Engines) -> None:
    table = sa.Table("it's", sa.MetaData(), sa.Column("a", sa.Integer, primary_key=True), comment="no view's")

    def work(connection: sa.Connection) -> Any:
        table.create(connection)
        connection.exec_driver_sql("""create view "view's" as select a from "it's" """)
        look = sa.inspect(connection)
        found = (
            [column["name"] for column in look.get_columns("it's")],
            look.get_pk_constraint("it's")["constrained_columns"],
            look.get_table_comment("it's")["text"],
            "select" in look.get_view_definition("view's"),
            # CUBRID cannot tell them of a view.
            look.get_foreign_keys("view's"),
        )
        connection.exec_driver_sql("""drop view "view's" """)
        table.drop(connection)
        return found

    assert cub_engines.connected(work) == (["a"], ["a"], "no view's", True, [])


def test_reflected_tables_have_unique_indexes_once(tables: Engines) -> None:
    def work(connection: sa.Connection) -> Any:
        table = sa.Table("alchemy_authors", sa.MetaData(), autoload_with=connection)
        constraints = [one for one in table.constraints if isinstance(one, sa.UniqueConstraint)]
        return constraints, [index.name for index in table.indexes if index.unique]

    assert tables.connected(work) == ([], ["alchemy_known"])


def test_a_table_whose_rows_refer_to_one_another_is_dropped(cub_engines: Engines) -> None:
    table = sa.Table(
        "alchemy_tree",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("up", sa.ForeignKey("alchemy_tree.id")),
    )

    def work(connection: sa.Connection) -> bool:
        table.create(connection)
        connection.execute(table.insert(), [{"id": 1, "up": None}, {"id": 2, "up": 1}])
        table.drop(connection)
        return sa.inspect(connection).has_table("alchemy_tree")

    assert not cub_engines.connected(work)


@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def test_levels_are_those_of_the_server(cub_engines: Engines, level: str) -> None:
    def work(connection: sa.Connection) -> Any:
        connection.execution_options(isolation_level=level)
        driver: Any = connection.connection.dbapi_connection
        return connection.get_isolation_level(), driver.isolation_level

    assert cub_engines.connected(work, begin=False) == (level, level.lower())


def test_options_may_be_those_of_another_dialect_of_the_same_name(monkeypatch: pytest.MonkeyPatch) -> None:
    registry: Any = sa.Table._kw_registry
    monkeypatch.setitem(registry, "cubrid", {})
    table = sa.Table("t", sa.MetaData(), sa.Column("a", sa.Integer))
    assert "OID" not in str(sa.schema.CreateTable(table).compile(dialect=cub.dialect()))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: sa.ForeignKeyConstraint(["a"], ["t.a"], onupdate="CASCADE"),
        lambda: sa.ForeignKeyConstraint(["a"], ["t.a"], initially="DEFERRED"),
        lambda: sa.Column("b", sa.Integer, sa.Computed("a + 1")),
    ],
    ids=["on_update", "deferred", "computed"],
)
def test_what_cubrid_has_not_is_refused_before_the_server_sees_it(wrong: Any) -> None:
    table = sa.Table("t", sa.MetaData(), sa.Column("a", sa.Integer, primary_key=True), wrong())
    with pytest.raises(sa.exc.CompileError, match="CUBRID"):
        sa.schema.CreateTable(table).compile(dialect=cub.dialect())
