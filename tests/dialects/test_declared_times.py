"""Columns and casts of times are written as SQLAlchemy's own dialects of MySQL and MariaDB write them."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.dialects.mysql import mysqldb
from sqlalchemy.schema import CreateTable

from headrace.sqlalchemy.mysql import MySQLDialect_headrace


class Declared(sa.types.TypeDecorator[Any]):
    impl = sa.TIMESTAMP
    cache_ok = True


@pytest.mark.parametrize(
    "of",
    [
        sa.TIMESTAMP(),
        sa.TIMESTAMP(timezone=True),
        mysql.TIMESTAMP(fsp=3),
        Declared(),
        sa.DateTime(),
        mysql.DATETIME(fsp=6),
        sa.DateTime().with_variant(mysql.DATETIME(fsp=4), "mysql"),
        mysql.TIME(fsp=3),
        sa.Time(),
        sa.Interval(second_precision=6),
        sa.Date(),
    ],
    ids=repr,
)
@pytest.mark.parametrize("nullable", [True, False])
def test_times_are_declared_and_cast_as_elsewhere(of: Any, nullable: bool) -> None:
    table = sa.Table("t", sa.MetaData(), sa.Column("at", of, nullable=nullable))
    own, other = (
        [str(each.compile(dialect=dialect)) for each in (CreateTable(table), sa.select(sa.cast(table.c.at, of)))]
        for dialect in (MySQLDialect_headrace(), mysqldb.dialect())
    )
    assert own == other
