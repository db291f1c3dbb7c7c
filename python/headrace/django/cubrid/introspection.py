"""The catalogue of CUBRID, read for Django."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

import re
from typing import Any, ClassVar, Final

from django.db.backends.base.introspection import BaseDatabaseIntrospection
from django.db.models import Index

from ...cubrid.catalog import DESCENDING, foreign_keys, indexes, primary_key, schema_info
from ..described import FieldInfo, TableInfo, constraint

_COUNTED: Final = {
    "IntegerField": "AutoField",
    "BigIntegerField": "BigAutoField",
    "SmallIntegerField": "SmallAutoField",
}
_DECLARED: Final = re.compile(r"([A-Z ]+?)\s*(?:\((\d+)(?:\s*,\s*(\d+))?\))?$", re.IGNORECASE)
_LONGEST: Final = 1_073_741_823
"""Characters of a VARCHAR without a length, and of a STRING."""


class DatabaseIntrospection(BaseDatabaseIntrospection):
    """What inspectdb, migrations and the test runner ask."""

    data_types_reverse: ClassVar[dict[Any, str]] = {
        "BIGINT": "BigIntegerField",
        "BIT": "BinaryField",
        "BIT VARYING": "BinaryField",
        "BLOB": "BinaryField",
        "CHAR": "CharField",
        "CLOB": "TextField",
        "DATE": "DateField",
        "DATETIME": "DateTimeField",
        "DATETIMELTZ": "DateTimeField",
        "DATETIMETZ": "DateTimeField",
        "DECIMAL": "DecimalField",
        "DOUBLE": "FloatField",
        "FLOAT": "FloatField",
        "INT": "IntegerField",
        "INTEGER": "IntegerField",
        "JSON": "JSONField",
        "MONETARY": "FloatField",
        "NUMERIC": "DecimalField",
        "SHORT": "SmallIntegerField",
        "SMALLINT": "SmallIntegerField",
        "STRING": "TextField",
        "TIME": "TimeField",
        "TIMESTAMP": "DateTimeField",
        "TIMESTAMPLTZ": "DateTimeField",
        "TIMESTAMPTZ": "DateTimeField",
        "VARCHAR": "CharField",
    }

    def get_field_type(self, data_type: Any, description: Any) -> str:
        """Returns the name of the field of a column."""
        field: str = super().get_field_type(data_type, description)
        if field == "CharField" and description.internal_size == _LONGEST:
            return "TextField"
        return _COUNTED.get(field, field) if description.is_autofield else field

    def identifier_converter(self, name: str) -> str:
        """Names are lower case, whether they are in quotes or not."""
        return name.lower()

    def get_table_list(self, cursor: Any) -> list[Any]:
        """Returns the tables and views of the user."""
        cursor.execute(
            "SELECT class_name, class_type, comment FROM db_class "
            "WHERE is_system_class = 'NO' AND owner_name = CURRENT_USER"
        )
        return [TableInfo(name, "t" if kind == "CLASS" else "v", said or "") for name, kind, said in cursor.fetchall()]

    def get_table_description(self, cursor: Any, table_name: str) -> list[Any]:
        """Returns the columns of a table or view."""
        quoted = self.connection.ops.quote_name(table_name)
        remarks = {row[0]: row[-1] for row in self._info("columns", table_name)}
        cursor.execute(f"SHOW COLUMNS FROM {quoted}")
        found = []
        for name, declared, null, _, default, extra in cursor.fetchall():
            match = _DECLARED.match(declared.strip())
            kind = match[1].upper() if match else declared.partition("(")[0].upper()
            length, scale = (match[2], match[3]) if match else (None, None)
            numbers = [None if number is None else int(number) for number in (length, scale)]
            found.append(
                FieldInfo(
                    name,
                    kind,
                    numbers[0],
                    numbers[0],
                    numbers[0],
                    (numbers[1] or 0) if kind in ("NUMERIC", "DECIMAL") else numbers[1],
                    null == "YES",
                    None if default in ("null", "NULL") else default,
                    None,
                    "auto_increment" in (extra or ""),
                    remarks.get(name) or "",
                )
            )
        return found

    def _info(self, kind: str, table: str) -> list[Any]:
        self.connection.ensure_connection()
        with self.connection.wrap_database_errors:
            return schema_info(self.connection.connection, kind, table.lower())

    def get_sequences(self, cursor: Any, table_name: str, table_fields: Any = ()) -> list[dict[str, Any]]:
        """Returns the columns with AUTO_INCREMENT."""
        return [
            {"table": table_name, "column": column.name}
            for column in self.get_table_description(cursor, table_name)
            if column.is_autofield
        ]

    def get_relations(self, cursor: Any, table_name: str) -> dict[str, tuple[str, str]]:
        """Returns the foreign keys of a table: by each column, the column and table that it refers to."""
        return {
            column: (referred, key.table)
            for key in foreign_keys(self._info("foreign_keys", table_name))
            for column, referred in zip(key.columns, key.referred, strict=True)
        }

    def get_primary_key_columns(self, cursor: Any, table_name: str) -> list[str] | None:
        """Returns the columns of the primary key."""
        key = primary_key(self._info("primary_key", table_name))
        return key[1] if key else None

    def get_constraints(self, cursor: Any, table_name: str) -> dict[str, dict[str, Any]]:
        """Returns the keys, unique constraints and indexes of a table by their names."""
        found: dict[str, dict[str, Any]] = {}
        key = primary_key(self._info("primary_key", table_name))
        if key:
            found[key[0]] = constraint(key[1], primary_key=True, unique=True, index=True, orders=["ASC"] * len(key[1]))
        keys = foreign_keys(self._info("foreign_keys", table_name))
        for foreign in keys:
            referred = (foreign.table, foreign.referred[0])
            found[foreign.name] = constraint(foreign.columns, foreign_key=referred)
        cursor.execute(f"{DESCENDING}%s AND owner_name = CURRENT_USER", [table_name.lower()])
        descending = set(cursor.fetchall())
        for index in indexes(self._info("constraints", table_name), [key.name for key in keys]):
            orders = ["DESC" if (index.name, column) in descending else "ASC" for column in index.columns]
            found[index.name] = constraint(
                index.columns, unique=index.is_unique, index=True, orders=orders, type=Index.suffix
            )
        return found
