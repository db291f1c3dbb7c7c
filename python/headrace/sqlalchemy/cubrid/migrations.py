"""Alembic's operations on CUBRID."""

# Alembic's own files are typed in part only.
# mypy: disable-error-code="no-untyped-call"
# pyright: basic, reportIncompatibleMethodOverride=false

from __future__ import annotations

from typing import Any

from alembic.ddl.base import RenameTable, alter_table, format_column_name, format_table_name
from alembic.ddl.impl import DefaultImpl
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import quoted_name
from sqlalchemy.types import to_instance

from .._migrations import ModifyColumn, ModifyingImpl, RenameColumn


class CubridImpl(ModifyingImpl):
    """Definitions take part in transactions."""

    __dialect__ = "cubrid"
    type_synonyms = (
        *DefaultImpl.type_synonyms,
        {"VARCHAR", "STRING", "TEXT"},
        {"FLOAT", "DOUBLE", "DOUBLE PRECISION"},
        {"BIT VARYING", "VARBINARY", "BLOB", "BINARY"},
        {"SMALLINT", "BOOLEAN"},
    )

    def alter_column(self, table_name: str, column_name: str, **keywords: Any) -> None:
        """Alters a column. NULL, and that there is no default, are declared: a MODIFY keeps what was there."""
        schema, nullable, existing = (keywords.get(name) for name in ("schema", "nullable", "existing_nullable"))
        name, type_ = keywords.pop("name", None), keywords.get("type_")
        type_ = to_instance(keywords.get("existing_type") if type_ is None else type_)
        super().alter_column(table_name, column_name, **keywords)
        stays = existing if nullable is None else nullable

        def modified(null: str) -> str:
            return f"MODIFY COLUMN {column} {self.dialect.type_compiler_instance.process(type_)} {null}"

        column = self.dialect.identifier_preparer.quote(column_name)
        drops_default = keywords.get("server_default", False) is None
        steps = [f"ALTER COLUMN {column} SET DEFAULT NULL"] if drops_default else []
        if drops_default and stays is False:
            # A column that is NOT NULL cannot have the default NULL.
            steps = [modified("NULL"), *steps, modified("NOT NULL")]
        elif nullable and not existing:
            steps.append(modified("NULL"))
        if steps:
            table = alter_table(self.dialect.ddl_compiler(self.dialect, None), table_name, schema)  # type: ignore[arg-type]
            self._exec(f"{table} {', '.join(steps)}")
        if name is not None:
            super().alter_column(table_name, column_name, name=name, schema=schema)


@compiles(RenameTable, "cubrid")
def _rename_table(element: RenameTable, compiler: Any, **keywords: Any) -> str:
    old = format_table_name(compiler, element.table_name, element.schema)
    return f"RENAME TABLE {old} TO {format_table_name(compiler, element.new_table_name, element.schema)}"


@compiles(RenameColumn, "cubrid")
def _rename_column(element: RenameColumn, compiler: Any, **keywords: Any) -> str:
    old, new = (format_column_name(compiler, quoted_name(name, None)) for name in (element.name, element.new_name))
    table = alter_table(compiler, quoted_name(element.table, None), element.schema)
    return f"{table} RENAME COLUMN {old} AS {new}"


@compiles(ModifyColumn, "cubrid")
def _modify_column(element: ModifyColumn, compiler: Any, **keywords: Any) -> str:
    definition = compiler.get_column_specification(element.column)
    return f"{alter_table(compiler, element.table_name, element.schema)} MODIFY COLUMN {definition}"
