"""``informix+headrace``: SQLAlchemy's dialects of IBM Informix, and the types that only it has."""

from .._engines import register
from .engine import InformixDialect_headrace, InformixDialectAsync_headrace
from .types import (
    BIGINT,
    BIGSERIAL,
    BLOB,
    BOOLEAN,
    BYTE,
    CHAR,
    CLOB,
    COLLECTION,
    DATE,
    DATETIME,
    DECIMAL,
    FLOAT,
    INT8,
    INTEGER,
    INTERVAL,
    JSON,
    LVARCHAR,
    MONEY,
    NCHAR,
    NVARCHAR,
    SERIAL,
    SERIAL8,
    SMALLFLOAT,
    SMALLINT,
    TEXT,
    VARCHAR,
)

__all__ = [
    "BIGINT",
    "BIGSERIAL",
    "BLOB",
    "BOOLEAN",
    "BYTE",
    "CHAR",
    "CLOB",
    "COLLECTION",
    "DATE",
    "DATETIME",
    "DECIMAL",
    "FLOAT",
    "INT8",
    "INTEGER",
    "INTERVAL",
    "JSON",
    "LVARCHAR",
    "MONEY",
    "NCHAR",
    "NVARCHAR",
    "SERIAL",
    "SERIAL8",
    "SMALLFLOAT",
    "SMALLINT",
    "TEXT",
    "VARCHAR",
    "InformixDialectAsync_headrace",
    "InformixDialect_headrace",
    "dialect",
    "dialect_async",
]

dialect = InformixDialect_headrace
dialect_async = InformixDialectAsync_headrace

register("informix", __name__)
