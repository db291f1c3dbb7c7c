"""The types of columns of the matrix, by the driver's name."""

from __future__ import annotations

from typing import Final, NamedTuple


class Column(NamedTuple):
    """The type of a column."""

    name: str
    """As the table of differences has it."""
    sql: str = ""
    """As CREATE TABLE has it, if that is something else."""
    shown: str = "{v}"
    """The expression whose value shows what is stored, whole."""
    bounds: str = ""
    """The type of ranges of it."""

    @property
    def type(self) -> str:
        """As CREATE TABLE has it."""
        return self.sql or self.name

    def of(self, expression: str) -> str:
        """The expression that shows another one."""
        return self.shown.format(v=expression)


def _postgres(name: str, bounds: str = "") -> Column:
    return Column(name, shown="({v})::text", bounds=bounds)


def _bytes(name: str) -> Column:
    return Column(name, shown="hex({v})")


def _text(name: str, sql: str = "") -> Column:
    return Column(name, sql, "concat({v})")


POSTGRESQL: Final = [
    *map(_postgres, ("smallint", "numeric(10,2)", "real", "double precision", "text", "varchar(60)", "char(5)", "name",
                     "bytea", "bool", "timestamp(3)", "time", "timetz", "interval", "uuid", "json", "jsonb", "inet",
                     "cidr", "bit(3)", "varbit", "int[]", "text[]", "numeric[]", "point", "polygon", "path", "box",
                     "circle", "int4range", "daterange", "int4multirange", "matrix_color", "matrix_pair", "money",
                     "oid")),
    _postgres("int", "int4range"), _postgres("bigint", "int8range"), _postgres("numeric", "numrange"),
    _postgres("date", "daterange"), _postgres("timestamp", "tsrange"), _postgres("timestamptz", "tstzrange"),
]  # fmt: skip
MYSQL: Final = [
    *map(_text, ("tinyint", "tinyint unsigned", "smallint", "int", "int unsigned", "bigint", "bigint unsigned",
                 "decimal(30,10)", "decimal(10,2)", "date", "datetime", "datetime(6)",
                 "time", "time(6)", "year", "json")),
    *(_text(name, f"{name} character set utf8mb4") for name in ("varchar(60)", "char(10)", "text")),
    _text("varchar of latin1", "varchar(60) character set latin1"), _text("timestamp(6)", "timestamp(6) null"),
    _text("enum", "enum('a', '1', 'red', 'text')"), _text("set", "set('a', 'b', 'red', '1')"),
    Column("float", shown="concat({v} + 0e0)"), Column("double", shown="concat({v} + 0e0)"),
    *map(_bytes, ("binary(5)", "varbinary(60)", "blob", "bit(9)")),
]  # fmt: skip
# Not JSON: the test server takes every text for one.
INFORMIX: Final = [
    Column(name) for name in
    ("smallint", "int", "bigint", "int8", "smallfloat", "float", "decimal(10,2)", "decimal(32)", "money(16,2)",
     "char(7)", "varchar(60)", "nvarchar(60)", "lvarchar(500)", "boolean", "date", "datetime year to second",
     "datetime year to fraction(5)", "datetime hour to fraction(3)", "datetime year to day",
     "interval day(5) to fraction(5)", "interval year(4) to month", "byte", "text",
     "list(int not null)", "row(n int, x varchar(20))")
]  # fmt: skip
CUBRID: Final = [
    Column(name) for name in
    ("short", "int", "bigint", "float", "double", "numeric(15,4)", "numeric(38,0)", "monetary", "char(7)",
     "varchar(60)", "string", "bit(16)", "bit varying(800)", "date", "time", "timestamp", "datetime", "datetimetz",
     "datetimeltz", "enum('a', '1', 'red', 'text')", "set(int)", "list(int)", "list(varchar(20))", "json")
]  # fmt: skip
COLUMNS: Final = {"postgresql": POSTGRESQL, "mysql": MYSQL, "informix": INFORMIX, "cubrid": CUBRID}
PREPARING: Final = {
    "postgresql": (
        "drop type if exists matrix_color cascade; create type matrix_color as enum ('red', 'a', 'text')",
        "drop type if exists matrix_pair cascade; create type matrix_pair as (n int, x text)",
        # The zone of the sessions is not that of this process.
        "do $$ begin execute format('alter database %I set timezone to %L', current_database(), 'America/New_York'); "
        "end $$",
    ),
    # A commit is not to wait for the disk.
    "mysql": ("set global innodb_flush_log_at_trx_commit = 2", "set global sync_binlog = 0"),
}
"""What is made before the tables."""
