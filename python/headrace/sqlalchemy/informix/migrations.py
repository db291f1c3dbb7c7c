"""Alembic's operations on Informix."""

# Alembic's own files are typed in part only.
# mypy: disable-error-code="no-untyped-call"
# pyright: basic, reportIncompatibleMethodOverride=false

from __future__ import annotations

from typing import Any

from alembic.ddl.base import AddColumn, DropColumn, RenameTable, alter_table, format_column_name, format_table_name
from alembic.ddl.impl import DefaultImpl
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import quoted_name

from .._migrations import ModifyColumn, ModifyingImpl, RenameColumn


class InformixImpl(ModifyingImpl):
    """Definitions take part in transactions, unless the database has no log."""

    __dialect__ = "informix"
    type_synonyms = (
        *DefaultImpl.type_synonyms,
        {"VARCHAR", "LVARCHAR", "NVARCHAR"},
        {"FLOAT", "DOUBLE", "DOUBLE PRECISION"},
        {"REAL", "SMALLFLOAT"},
        {"BYTE", "BLOB", "BINARY", "VARBINARY"},
        {"BIGINT", "INT8"},
    )


@compiles(RenameTable, "informix")
def _rename_table(element: RenameTable, compiler: Any, **keywords: Any) -> str:
    old = format_table_name(compiler, element.table_name, element.schema)
    return f"RENAME TABLE {old} TO {format_table_name(compiler, element.new_table_name, None)}"


@compiles(RenameColumn, "informix")
def _rename_column(element: RenameColumn, compiler: Any, **keywords: Any) -> str:
    table = format_table_name(compiler, quoted_name(element.table, None), element.schema)
    old, new = (format_column_name(compiler, quoted_name(name, None)) for name in (element.name, element.new_name))
    return f"RENAME COLUMN {table}.{old} TO {new}"


@compiles(AddColumn, "informix")
def _add_column(element: AddColumn, compiler: Any, **keywords: Any) -> str:
    definition = compiler.get_column_specification(element.column, **keywords)
    constraints = " ".join(compiler.process(one) for one in element.column.constraints)
    return f"{alter_table(compiler, element.table_name, element.schema)} ADD {definition} {constraints}".rstrip()


@compiles(DropColumn, "informix")
def _drop_column(element: DropColumn, compiler: Any, **keywords: Any) -> str:
    column = format_column_name(compiler, element.column.name)
    return f"{alter_table(compiler, element.table_name, element.schema)} DROP {column}"


@compiles(ModifyColumn, "informix")
def _modify_column(element: ModifyColumn, compiler: Any, **keywords: Any) -> str:
    definition = compiler.get_column_specification(element.column)
    return f"{alter_table(compiler, element.table_name, element.schema)} MODIFY ({definition})"
