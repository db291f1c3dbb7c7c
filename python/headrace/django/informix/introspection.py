"""The system catalog of Informix, read for Django."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

import re
from typing import Any, ClassVar, Final

from django.db.backends.base.introspection import BaseDatabaseIntrospection
from django.db.models import Index

from ...informix.catalog import (
    CHECKS,
    COLUMN_NAMES,
    COLUMNS,
    CONSTRAINTS,
    FIRST_OWN,
    INDEXES,
    KIND,
    LONGEST_VARCHAR,
    NOT_NULL,
    REFERENCES,
    SERIALS,
    WITH_BINARY,
    Indexes,
    checks,
    indexes,
)
from ..described import FieldInfo, TableInfo, constraint

_DECIMAL, _MONEY, _DATETIME, _VARCHAR, _NVARCHAR, _LVARCHAR = 5, 8, 10, 13, 16, 43
_NO_SCALE: Final = 0xFF
_HOUR: Final = 6
"""The first unit of a DATETIME that is a time of day."""
_FIELDS: Final = {
    0: "CharField",
    1: "SmallIntegerField",
    2: "IntegerField",
    3: "FloatField",
    4: "FloatField",
    _DECIMAL: "DecimalField",
    6: "IntegerField",
    7: "DateField",
    _MONEY: "DecimalField",
    _DATETIME: "DateTimeField",
    11: "BinaryField",
    12: "TextField",
    _VARCHAR: "CharField",
    15: "CharField",
    _NVARCHAR: "CharField",
    17: "BigIntegerField",
    18: "BigIntegerField",
    _LVARCHAR: "CharField",
    45: "BooleanField",
    52: "BigIntegerField",
    53: "BigIntegerField",
}
"""By ``syscolumns.coltype``."""
_NAMED: Final = {
    "blob": "BinaryField",
    "boolean": "BooleanField",
    "clob": "TextField",
    "json": "JSONField",
    "lvarchar": "CharField",
}
_COUNTED: Final = {"IntegerField": "AutoField", "BigIntegerField": "BigAutoField"}
TEXT_LENGTH: Final = 8000
"""Bytes of the LVARCHAR of a TextField."""


class DatabaseIntrospection(BaseDatabaseIntrospection):
    """What inspectdb, migrations and the test runner ask."""

    data_types_reverse: ClassVar[dict[Any, str]] = {name: name for name in (*_FIELDS.values(), *_NAMED.values())} | {
        "TimeField": "TimeField"
    }

    def get_field_type(self, data_type: Any, description: Any) -> str:
        """Returns the name of the field of a column."""
        field: str = super().get_field_type(data_type, description)
        return _COUNTED.get(field, field) if description.is_autofield else field

    def get_table_list(self, cursor: Any) -> list[Any]:
        """Returns the tables and views."""
        cursor.execute(f"SELECT tabname, tabtype FROM systables WHERE tabid >= {FIRST_OWN} AND tabtype IN ('T', 'V')")
        return [TableInfo(name, "t" if kind == "T" else "v", "") for name, kind in cursor.fetchall()]

    def _rows(self, cursor: Any, sql: str, *params: Any) -> list[Any]:
        cursor.execute(sql.replace("?", "%s"), params)
        rows: list[Any] = cursor.fetchall()
        return rows

    def _number(self, cursor: Any, table: str) -> int:
        rows = self._rows(cursor, "SELECT tabid FROM systables WHERE tabname = ?", table)
        number: int = rows[0][0] if rows else 0
        return number

    def get_table_description(self, cursor: Any, table_name: str) -> list[Any]:
        """Returns the columns of a table or view."""
        number = self._number(cursor, table_name)
        if not number:
            # The server's error is that it is not there.
            cursor.execute(f"SELECT * FROM {self.connection.ops.quote_name(table_name)} WHERE 1 = 0")
        return [_column(*row) for row in self._rows(cursor, COLUMNS, number)]

    def get_sequences(self, cursor: Any, table_name: str, table_fields: Any = ()) -> list[dict[str, Any]]:
        """Returns the columns whose numbers the server generates."""
        return [
            {"table": table_name, "column": column.name}
            for column in self.get_table_description(cursor, table_name)
            if column.is_autofield
        ]

    def _indexes(self, cursor: Any, number: int) -> Indexes:
        names: dict[int, str] = {at: name for at, name in self._rows(cursor, COLUMN_NAMES, number)}  # noqa: C416
        return indexes(names, self._rows(cursor, INDEXES, number))

    def _references(self, cursor: Any, number: int) -> dict[int, tuple[str, list[str]]]:
        """The foreign keys by their numbers: the other table and its columns."""
        found = {}
        for key, _, parent, table, _, index in self._rows(cursor, REFERENCES, number):
            found[key] = table, [column for column, _ in self._indexes(cursor, parent)[index][1]]
        return found

    def get_relations(self, cursor: Any, table_name: str) -> dict[str, tuple[str, str]]:
        """Returns the foreign keys of a table: by each column, the column and table that it refers to."""
        number = self._number(cursor, table_name)
        own, references = self._indexes(cursor, number), self._references(cursor, number)
        found = {}
        for key, _, kind, index in self._rows(cursor, CONSTRAINTS, number):
            if kind == "R":
                table, referred = references[key]
                columns = [column for column, _ in own[index][1]]
                found.update({column: (to, table) for column, to in zip(columns, referred, strict=True)})
        return found

    def get_primary_key_columns(self, cursor: Any, table_name: str) -> list[str] | None:
        """Returns the columns of the primary key."""
        number = self._number(cursor, table_name)
        own = self._indexes(cursor, number)
        for _, _, kind, index in self._rows(cursor, CONSTRAINTS, number):
            if kind == "P":
                return [column for column, _ in own[index][1]]
        return None

    def get_constraints(self, cursor: Any, table_name: str) -> dict[str, dict[str, Any]]:
        """Returns the keys, unique constraints, conditions and indexes of a table by their names."""
        number = self._number(cursor, table_name)
        own, references = self._indexes(cursor, number), self._references(cursor, number)
        names = [name for _, name in self._rows(cursor, COLUMN_NAMES, number)]
        texts = checks(self._rows(cursor, CHECKS, number))
        found: dict[str, dict[str, Any]] = {}
        of_constraints = set()
        for key, name, kind, index in self._rows(cursor, CONSTRAINTS, number):
            of_constraints.add(index)
            if kind == "C":
                words = set(re.findall(r"\w+", texts.get(key, "")))
                found[name] = constraint([column for column in names if column in words], check=True)
                continue
            columns = [column for column, _ in own[index][1]]
            what: dict[str, Any] = {"primary_key": kind == "P", "unique": kind in "PU", "type": Index.suffix}
            what["orders"] = ["ASC"] * len(columns)
            if kind == "R":
                table, referred = references[key]
                what["foreign_key"] = (table, referred[0])
            found[name] = constraint(columns, **what)
        for name, (kind, parts) in own.items():
            # The server's own names, of the indexes that constraints have, begin with a blank.
            if name not in of_constraints and not name.startswith(" ") and parts:
                found[name] = constraint(
                    [column for column, _ in parts],
                    unique=kind.upper() == "U",
                    index=True,
                    orders=["DESC" if down else "ASC" for _, down in parts],
                    type=Index.suffix,
                )
        return found


def _column(name: str, kind: int, length: int, extended: str | None, how: str | None, text: str | None) -> FieldInfo:
    number, length = kind & KIND, length & 0xFFFF
    field = _NAMED.get(extended or "") or _FIELDS.get(number, "TextField")
    precision = scale = size = None
    if number in (_DECIMAL, _MONEY):
        precision, scale = length >> 8, length & 0xFF
        scale = 0 if scale == _NO_SCALE else scale
    elif number == _DATETIME and length >> 4 & 0xF == _HOUR:
        field = "TimeField"
    elif field == "CharField":
        size = length & LONGEST_VARCHAR if number in (_VARCHAR, _NVARCHAR) else length
        if size == TEXT_LENGTH:
            field = "TextField"
    default = None
    if how == "L" and text is not None:
        default = text.rstrip(" ") if field in ("CharField", "TextField") else WITH_BINARY.sub("", text.rstrip(" "))
    counted = number in SERIALS
    return FieldInfo(
        name, field, size, size, precision, scale, not kind & NOT_NULL, default, None, counted, ""
    )  # fmt: skip
