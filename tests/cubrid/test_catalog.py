"""The catalogue, plans, and the keys that an INSERT generates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import headrace.aio.cubrid
import headrace.cubrid
from headrace import errors
from headrace.types import TransactionStatus
from live import CUBRID_URL


@pytest.fixture(scope="module")
def tables(url: str) -> Iterator[None]:
    """Two tables, with a foreign key and an index."""
    with headrace.cubrid.connect(url, autocommit=True) as admin:
        admin.execute("drop table if exists hr_line")
        admin.execute("drop table if exists hr_head")
        admin.execute("create table hr_head (id int auto_increment primary key, name varchar(40) not null)")
        admin.execute(
            "create table hr_line (id int primary key, head int, price numeric(10,2) default 1.5,"
            " constraint fk_head foreign key (head) references hr_head (id))"
        )
        admin.execute("create index i_price on hr_line (price)")
        yield
        admin.execute("drop table hr_line")
        admin.execute("drop table hr_head")


def named(cursor: Any) -> list[dict[str, Any]]:
    """The rows by the names of their columns."""
    names = [column.name for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def bare(name: str) -> str:
    """The name of a table without its owner."""
    return name.rpartition(".")[2].lower()


def test_tables_and_columns(conn: Any, tables: None) -> None:
    found = {bare(row["NAME"]): row["TYPE"] for row in named(conn.schema_info("tables", "%hr_%"))}
    assert found["hr_head"] == found["hr_line"] == 2
    columns = named(conn.schema_info("columns", "hr_line"))
    assert [row["ATTR_NAME"] for row in columns] == ["id", "head", "price"]
    assert (columns[2]["PRECISION"], columns[2]["SCALE"]) == (10, 2)
    assert [row["ATTR_NAME"] for row in named(conn.schema_info("columns", "hr_line", "p%"))] == ["price"]


def test_keys_and_indexes(conn: Any, tables: None) -> None:
    (key,) = named(conn.schema_info("primary_key", "hr_line"))
    assert (key["ATTR_NAME"], key["KEY_SEQ"]) == ("id", 1)
    (foreign,) = named(conn.schema_info("foreign_keys", "hr_line"))
    assert (bare(foreign["PKTABLE_NAME"]), foreign["FKCOLUMN_NAME"]) == ("hr_head", "head")
    (referring,) = named(conn.schema_info("referencing_keys", "hr_head"))
    assert bare(referring["FKTABLE_NAME"]) == "hr_line"
    assert "i_price" in {row["NAME"] for row in named(conn.schema_info("constraints", "hr_line"))}
    assert named(conn.schema_info("primary_key", "nonesuch")) == []


def test_a_query_of_the_catalogue_leaves_no_transaction_open(url: str, tables: None) -> None:
    with headrace.cubrid.connect(url, autocommit=True) as conn:
        for _ in range(3):
            assert named(conn.schema_info("columns", "hr_line"))
            assert conn.fetchval("select 1") == 1
        assert conn.transaction_status is TransactionStatus.IDLE


def test_there_is_no_other_kind(conn: Any) -> None:
    with pytest.raises(errors.ProgrammingError, match="not one of tables, views"):
        conn.schema_info("sequences")


def test_types_of_parameters(conn: Any, tables: None) -> None:
    key, price = conn.parameter_types("insert into hr_line (id, price) values (?, ?)")
    assert (key.name, key.type_code) == ("1", "INT")
    assert (price.name, price.type_code, price.precision, price.scale) == ("2", "NUMERIC", 10, 2)
    # A number is compared with any type.
    found = conn.parameter_types("select * from hr_head where name = :2 and id = :1")
    assert (found[0].type_code, len(found)) == ("VARCHAR", 2)
    assert conn.parameter_types("select 1") == []
    with pytest.raises(errors.ProgrammingError):
        conn.parameter_types("select nonesuch from hr_line")
    assert conn.fetchval("select count(*) from hr_line") == 0


def test_types_of_parameters_leave_no_transaction_open(url: str, tables: None) -> None:
    with headrace.cubrid.connect(url, autocommit=True) as conn:
        for _ in range(3):
            (only,) = conn.parameter_types("delete from hr_head where name = ?")
            assert only.type_code == "VARCHAR"
        assert conn.transaction_status is TransactionStatus.IDLE


ATTEMPTS = 10
UNREPORTED = "did not report"


def keys_of(conn: Any, sql: str, params: Any = None) -> list[Any]:
    """The keys of an INSERT. A genuine CAS takes some rows for objects of another class, and does not report their
    keys: the rows of the next attempt are in other places.
    """
    for _ in range(ATTEMPTS if CUBRID_URL else 0):
        try:
            return list(conn.generated_keys(sql, params))
        except errors.DatabaseError as error:
            if UNREPORTED not in str(error):
                raise
    return list(conn.generated_keys(sql, params))


def test_keys_of_all_rows(conn: Any, tables: None, numbers: str) -> None:
    first, second = keys_of(conn, "insert into hr_head (name) values (?), (?)", ("a", "b"))
    assert second == first + 1
    assert conn.fetch("select name from hr_head where id in (?, ?) order by id", first, second) == [("a",), ("b",)]
    many = keys_of(conn, "insert into hr_head (name) select name from hr_head, numbers where n < 100")
    assert len(many) == len(set(many)) >= 200
    conn.rollback()


def test_keys_in_autocommit(url: str, tables: None) -> None:
    with headrace.cubrid.connect(url, autocommit=True) as conn, headrace.cubrid.connect(url) as other:
        (key,) = keys_of(conn, "insert into hr_head (name) values (?)", ("kept",))
        assert other.fetchval("select name from hr_head where id = ?", key) == "kept"
        with pytest.raises(errors.IntegrityError):
            conn.generated_keys("insert into hr_head (name) values (null)")
        with pytest.raises(errors.ProgrammingError, match="generates no keys"):
            conn.generated_keys("select 1")
        assert conn.fetchval("select 1") == 1


def test_a_plan_executes_nothing(conn: Any, tables: None) -> None:
    plan = conn.plan("select * from hr_line where price > 1")
    assert isinstance(plan, str)
    conn.plan("delete from hr_head")
    with pytest.raises(errors.ProgrammingError):
        conn.plan("select nonesuch from hr_line")
    assert conn.fetchval("select 1") == 1


async def test_on_asyncio(url: str, tables: None) -> None:
    async with await headrace.aio.cubrid.connect(url) as conn:
        assert len(await (await conn.schema_info("columns", "hr_head")).fetchall()) == 2
        sql = "insert into hr_head (name) values ('x'), ('y'), ('z')"
        for _ in range(ATTEMPTS if CUBRID_URL else 1):
            try:
                assert len(await conn.generated_keys(sql)) == len("xyz")
                break
            except errors.DatabaseError as error:
                if UNREPORTED not in str(error):
                    raise
        else:
            pytest.fail("no keys were reported")
        assert isinstance(await conn.plan("select 1"), str)
        assert len(await conn.parameter_types("select * from hr_head where name = ? or name = ?")) == 2
