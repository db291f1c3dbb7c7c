"""The catalogue of CUBRID, read for SQLAlchemy: by SCHEMA_INFO, as CUBRID's own drivers do, and ``SHOW COLUMNS``."""

# The base classes are typed in part only.
# mypy: disable-error-code="no-untyped-call"
# pyright: basic, reportIncompatibleMethodOverride=false

from __future__ import annotations

from typing import Any

from sqlalchemy import exc, util
from sqlalchemy.engine import default, reflection
from sqlalchemy.engine.reflection import ReflectionDefaults
from sqlalchemy.sql import sqltypes

from ...cubrid.catalog import DESCENDING, foreign_keys, indexes, primary_key, schema_info
from .types import reflected


class CubridReflection(default.DefaultDialect):
    """What an Inspector asks."""

    def _info(self, connection: Any, kind: str, name: str, schema: str | None) -> list[Any]:
        return schema_info(connection.connection.dbapi_connection, kind, name, schema)

    @reflection.cache
    def _kind(self, connection: Any, table_name: str, schema: str | None = None, **keywords: Any) -> str:
        sql = "SELECT class_type FROM db_class WHERE class_name = ?"
        parameters: tuple[str, ...] = (table_name.lower(),)
        if schema is not None:
            sql, parameters = f"{sql} AND owner_name = ?", (*parameters, schema.upper())
        return connection.exec_driver_sql(sql, parameters).scalar() or ""

    def _check(self, connection: Any, table_name: str, schema: str | None, **keywords: Any) -> None:
        if not self._kind(connection, table_name, schema, **keywords):
            raise exc.NoSuchTableError(f"{schema}.{table_name}" if schema else table_name)

    def _is_table(self, connection: Any, table_name: str, schema: str | None, **keywords: Any) -> bool:
        """True for a table, and false for a view, which has neither keys nor indexes that could be requested."""
        self._check(connection, table_name, schema, **keywords)
        return self._kind(connection, table_name, schema, **keywords) == "CLASS"

    # names

    def _names(self, connection: Any, kind: str, schema: str | None) -> list[str]:
        sql = "SELECT class_name FROM db_class WHERE is_system_class = 'NO' AND class_type = ? AND owner_name = ?"
        owner = (schema or self.default_schema_name or "").upper()
        return list(connection.exec_driver_sql(f"{sql} ORDER BY class_name", (kind, owner)).scalars())

    @reflection.cache
    def get_schema_names(self, connection: Any, **keywords: Any) -> list[str]:
        return sorted(name.lower() for name in connection.exec_driver_sql("SELECT name FROM db_user").scalars())

    @reflection.cache
    def get_table_names(self, connection: Any, schema: str | None = None, **keywords: Any) -> list[str]:
        return self._names(connection, "CLASS", schema)

    @reflection.cache
    def get_view_names(self, connection: Any, schema: str | None = None, **keywords: Any) -> list[str]:
        return self._names(connection, "VCLASS", schema)

    @reflection.cache
    def get_sequence_names(self, connection: Any, schema: str | None = None, **keywords: Any) -> list[str]:
        names = connection.exec_driver_sql("SELECT name FROM db_serial ORDER BY name").scalars()
        # The serials of AUTO_INCREMENT have the names of their columns.
        return [name for name in names if "_ai_" not in name]

    @reflection.cache
    def has_table(self, connection: Any, table_name: str, schema: str | None = None, **keywords: Any) -> bool:
        self._ensure_has_table_connection(connection)
        return bool(self._kind(connection, table_name, schema, **keywords))

    @reflection.cache
    def has_sequence(self, connection: Any, sequence_name: str, schema: str | None = None, **keywords: Any) -> bool:
        sql = "SELECT COUNT(*) FROM db_serial WHERE name = ?"
        return bool(connection.exec_driver_sql(sql, (sequence_name.lower(),)).scalar())

    @reflection.cache
    def get_view_definition(self, connection: Any, view_name: str, schema: str | None = None, **keywords: Any) -> str:
        if self._kind(connection, view_name, schema, **keywords) != "VCLASS":
            raise exc.NoSuchTableError(f"{schema}.{view_name}" if schema else view_name)
        return "".join(query for (query,) in self._info(connection, "view_query", view_name, schema))

    # columns

    @reflection.cache
    def get_columns(self, connection: Any, table_name: str, schema: str | None = None, **keywords: Any) -> Any:
        self._check(connection, table_name, schema, **keywords)
        remarks = {row[0]: row[-1] for row in self._info(connection, "columns", table_name, schema)}
        name = self.identifier_preparer.quote_identifier(table_name)
        if schema is not None:
            name = f"{self.identifier_preparer.quote_identifier(schema)}.{name}"
        if self._kind(connection, table_name, schema, **keywords) == "VCLASS":
            shown = self._columns_of_view(connection, name)
        else:
            shown = connection.exec_driver_sql(f"SHOW COLUMNS FROM {name}").all()
        columns = []
        for column, declared, null, _, value, extra in shown:
            type_ = reflected(declared)
            if type_ is None:
                util.warn(f"Did not recognize type {declared!r} of column {column!r}")
                type_ = sqltypes.NULLTYPE
            columns.append(
                {
                    "name": column,
                    "type": type_,
                    "nullable": null == "YES",
                    "default": self._default(type_, value),
                    "autoincrement": "auto_increment" in (extra or ""),
                    "comment": remarks.get(column) or None,
                }
            )
        return columns

    def _columns_of_view(self, connection: Any, name: str) -> list[Any]:
        """What ``SHOW COLUMNS`` shows, of a view, which need not support them: as a query of it is described."""
        described = connection.exec_driver_sql(f"SELECT * FROM {name} WHERE 1 = 0").cursor.description
        rows = []
        for column, kind, _, _, precision, scale, _ in described:
            declared = str(kind)
            if declared == "NUMERIC":
                declared = f"NUMERIC({precision},{scale})"
            elif declared in ("CHAR", "VARCHAR", "BIT", "VARBIT", "NCHAR", "VARNCHAR"):
                declared = f"{declared}({precision})"
            elif declared == "ENUM":
                # The values are those of the table's column.
                declared = "VARCHAR"
            rows.append((column, declared, "YES", None, None, None))
        return rows

    def _default(self, type_: Any, value: str | None) -> str | None:
        """A default as SQL: texts are shown without quotes."""
        if value is None:
            return None
        if isinstance(type_, (sqltypes.String, sqltypes.Enum)) and not value.startswith("'"):
            quoted = value.replace("'", "''")
            return f"'{quoted}'"
        return value.rstrip()

    # keys and indexes

    @reflection.cache
    def get_pk_constraint(self, connection: Any, table_name: str, schema: str | None = None, **keywords: Any) -> Any:
        if not self._is_table(connection, table_name, schema, **keywords):
            return ReflectionDefaults.pk_constraint()
        key = primary_key(self._info(connection, "primary_key", table_name, schema))
        return {"constrained_columns": key[1], "name": key[0]} if key else ReflectionDefaults.pk_constraint()

    @reflection.cache
    def get_foreign_keys(self, connection: Any, table_name: str, schema: str | None = None, **keywords: Any) -> Any:
        if not self._is_table(connection, table_name, schema, **keywords):
            return ReflectionDefaults.foreign_keys()
        found = [
            {
                "name": key.name,
                "constrained_columns": key.columns,
                "referred_schema": schema,
                "referred_table": key.table,
                "referred_columns": key.referred,
                "options": {
                    word: rule
                    for word, rule in (("onupdate", key.on_update), ("ondelete", key.on_delete))
                    if rule is not None
                },
            }
            for key in foreign_keys(self._info(connection, "foreign_keys", table_name, schema))
        ]
        return found or ReflectionDefaults.foreign_keys()

    @reflection.cache
    def _indexes(self, connection: Any, table_name: str, schema: str | None = None, **keywords: Any) -> Any:
        """The indexes that are neither of a primary key nor of a foreign one: name, columns, whether it is unique."""
        if not self._is_table(connection, table_name, schema, **keywords):
            return []
        foreign = [key.name for key in foreign_keys(self._info(connection, "foreign_keys", table_name, schema))]
        sql = f"{DESCENDING}?"
        parameters: tuple[str, ...] = (table_name.lower(),)
        if schema is not None:
            sql, parameters = f"{sql} AND owner_name = ?", (*parameters, schema.upper())
        down = {tuple(row) for row in connection.exec_driver_sql(sql, parameters)}
        found = []
        for one in indexes(self._info(connection, "constraints", table_name, schema), foreign):
            index: dict[str, Any] = {
                "name": one.name,
                "column_names": one.columns,
                "unique": one.is_unique,
            }
            if descending := {column: ("desc",) for column in one.columns if (one.name, column) in down}:
                index["column_sorting"] = descending
            found.append(index)
        return found

    @reflection.cache
    def get_indexes(self, connection: Any, table_name: str, schema: str | None = None, **keywords: Any) -> Any:
        return self._indexes(connection, table_name, schema, **keywords) or ReflectionDefaults.indexes()

    @reflection.cache
    def get_unique_constraints(
        self, connection: Any, table_name: str, schema: str | None = None, **keywords: Any
    ) -> Any:
        # A unique index and a unique constraint are the same to CUBRID: reflected tables have the index.
        found = [
            {"name": index["name"], "column_names": index["column_names"], "duplicates_index": index["name"]}
            for index in self._indexes(connection, table_name, schema, **keywords)
            if index["unique"]
        ]
        return found or ReflectionDefaults.unique_constraints()

    @reflection.cache
    def get_check_constraints(
        self, connection: Any, table_name: str, schema: str | None = None, **keywords: Any
    ) -> Any:
        # CUBRID reads them and keeps none.
        self._check(connection, table_name, schema, **keywords)
        return ReflectionDefaults.check_constraints()

    @reflection.cache
    def get_table_comment(self, connection: Any, table_name: str, schema: str | None = None, **keywords: Any) -> Any:
        self._check(connection, table_name, schema, **keywords)
        rows = self._info(connection, "tables", table_name, schema)
        remarks = rows[0][2] if rows and len(rows[0]) > 2 else None
        return {"text": remarks} if remarks else ReflectionDefaults.table_comment()
