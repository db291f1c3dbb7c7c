"""Definitions that foreign keys refer to are changed, with rows on both sides."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import headrace.cubrid
from headrace.cubrid import Connection
from headrace.errors import IntegrityError
from headrace.rows import Row


@pytest.fixture
def family(cubrid_served: str) -> Iterator[Connection[Row]]:
    """A connection to a database with a table of parents and one of children."""
    with headrace.cubrid.connect(cubrid_served, autocommit=True) as conn:
        for name in ("k_child", "k_parent", "k_elders"):
            conn.execute(f"DROP TABLE IF EXISTS {name}")
        conn.execute("CREATE TABLE k_parent (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(10)) COMMENT = 'old'")
        conn.execute("CREATE TABLE k_child (id INT PRIMARY KEY, parent INT)")
        conn.execute(
            "ALTER TABLE k_child ADD CONSTRAINT k_fk FOREIGN KEY (parent) REFERENCES k_parent (id) ON DELETE RESTRICT"
        )
        conn.execute("INSERT INTO k_parent (name) VALUES ('x')")
        conn.execute("INSERT INTO k_child VALUES (1, 1)")
        yield conn


def referred(conn: Connection[Row]) -> list[tuple[str, str]]:
    """The tables and columns that the keys of the child refer to."""
    conn.schema_info("tables", "db_root").fetchall()
    rows = conn.schema_info("foreign_keys", "k_child").fetchall()
    return [(parent.rpartition(".")[2], column) for parent, column, *_ in rows]


def test_rows_of_others_still_refer_to_a_table_that_was_altered(family: Connection[Row]) -> None:
    family.execute("ALTER TABLE k_parent MODIFY COLUMN name VARCHAR(20) NOT NULL")
    family.execute("ALTER TABLE k_parent ADD COLUMN more INT")
    assert family.fetch("SELECT name, more FROM k_parent") == [("x", None)]
    with pytest.raises(IntegrityError):
        family.execute("DELETE FROM k_parent")


def test_keys_follow_a_table_and_a_column_that_are_renamed(family: Connection[Row]) -> None:
    assert referred(family) == [("k_parent", "id")]
    family.execute("RENAME TABLE k_parent TO k_elders")
    family.execute("ALTER TABLE k_elders RENAME COLUMN id AS number")
    assert referred(family) == [("k_elders", "number")]
    family.execute("ALTER TABLE k_child DROP FOREIGN KEY k_fk")
    family.execute("DROP TABLE k_elders")


def test_keys_to_a_table_are_dropped_with_it(family: Connection[Row]) -> None:
    family.execute("DROP TABLE k_parent CASCADE CONSTRAINTS")
    assert referred(family) == []
    family.execute("INSERT INTO k_child VALUES (2, 7)")


def test_column_that_becomes_one_of_generated_numbers_goes_on_where_it_is_told(family: Connection[Row]) -> None:
    family.execute("CREATE TABLE k_elders (id INT PRIMARY KEY, name VARCHAR(10))")
    family.execute("INSERT INTO k_elders VALUES (4, 'a')")
    family.execute("ALTER TABLE k_elders MODIFY COLUMN id BIGINT AUTO_INCREMENT NOT NULL")
    family.execute("ALTER TABLE k_elders AUTO_INCREMENT = 5")
    family.execute("INSERT INTO k_elders (name) VALUES ('b')")
    assert family.fetch("SELECT id FROM k_elders ORDER BY id") == [(4,), (5,)]


def test_catalogue_has_the_comment_of_a_table(family: Connection[Row]) -> None:
    assert family.fetch("SELECT comment FROM db_class WHERE class_name = 'k_parent'") == [("old",)]


def test_path_of_a_document_is_looked_for(family: Connection[Row]) -> None:
    sql = "SELECT JSON_CONTAINS_PATH(?, 'one', '$.a'), JSON_CONTAINS_PATH(?, 'all', '$.a', '$.b') FROM db_root"
    document = '{"a": null}'
    assert family.fetch(sql, document, document) == [(1, 0)]
