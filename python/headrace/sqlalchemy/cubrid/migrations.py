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
