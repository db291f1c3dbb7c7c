"""What Alembic's implementations of Informix and CUBRID share: a column is altered by its whole definition."""

# Alembic's own files are typed in part only.
# mypy: disable-error-code="no-untyped-call"
# pyright: basic, reportIncompatibleMethodOverride=false

from __future__ import annotations

from importlib import import_module
from typing import Any

from alembic.ddl.base import AlterColumn
from alembic.ddl.impl import DefaultImpl
from alembic.util import CommandError
from sqlalchemy import Column, MetaData, Table
from sqlalchemy.schema import DDLElement


class RenameColumn(DDLElement):
    """Another name for a column, which ``MODIFY`` does not give."""

    def __init__(self, table: str, schema: str | None, name: str, new_name: str) -> None:
        self.table = table
        self.schema = schema
        self.name = name
        self.new_name = new_name


class ModifyColumn(AlterColumn):
    """``ALTER TABLE ... MODIFY``, which takes away what it does not repeat."""

    def __init__(self, table: str, column: Column[Any], schema: str | None) -> None:
        super().__init__(table, column.name, schema=schema)
        self.column = column


class ModifyingImpl(DefaultImpl):
    """Alters columns by ``MODIFY``. Definitions take part in transactions."""

    transactional_ddl = True

    def alter_column(
        self,
        table_name: str,
        column_name: str,
        *,
        nullable: bool | None = None,
        server_default: Any = False,
        name: str | None = None,
        type_: Any = None,
        schema: str | None = None,
        existing_type: Any = None,
        existing_server_default: Any = False,
        existing_nullable: bool | None = None,
        existing_autoincrement: bool | None = None,
        autoincrement: bool | None = None,
        **keywords: Any,
    ) -> None:
        if nullable is not None or server_default is not False or type_ is not None or autoincrement is not None:
            if type_ is None and existing_type is None:
                raise CommandError(
                    f"ALTER TABLE {table_name} MODIFY needs the whole definition of a column: give existing_type"
                )
            default = existing_server_default if server_default is False else server_default
            stays = existing_nullable if nullable is None else nullable
            counts = existing_autoincrement if autoincrement is None else autoincrement
            column = Column(
                column_name,
                existing_type if type_ is None else type_,
                server_default=None if default is False else default,
                nullable=stays is not False,
                primary_key=bool(counts),
                autoincrement=bool(counts),
            )
            # Of a table a column is compiled in, without one of its own.
            Table(table_name, MetaData(), column, schema=schema)
            self._exec(ModifyColumn(table_name, column, schema))
        if name is not None:
            self._exec(RenameColumn(table_name, schema, column_name, name))

    def compare_server_default(
        self,
        inspector_column: Column[Any],
        metadata_column: Column[Any],
        rendered_metadata_default: str | None,
        rendered_inspector_default: str | None,
    ) -> bool:
        if rendered_metadata_default is None or rendered_inspector_default is None:
            return rendered_metadata_default != rendered_inspector_default
        return _bare(self._compiled_default(metadata_column)) != _bare(rendered_inspector_default)

    def _compiled_default(self, column: Column[Any]) -> str:
        compiler: Any = self.dialect.ddl_compiler(self.dialect, None)  # type: ignore[arg-type]
        return str(compiler.get_column_default_string(column))


def _bare(text: str) -> str:
    """A default without what is the same with and without it."""
    text = text.strip()
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1].strip()
    try:
        # '0.00' of a DECIMAL is 0.
        return str(float(text.strip("'")))
    except ValueError:
        return " ".join(text.split())


# Here, and not where Alembic calls for it: importing Alembic, which this module does above, makes that call.
for _database in ("informix", "cubrid"):
    import_module(f"headrace.sqlalchemy.{_database}.migrations")
