"""Definitions as CUBRID has them."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

import datetime
from collections.abc import Callable
from functools import partial
from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor


class DatabaseSchemaEditor(BaseDatabaseSchemaEditor):
    """CREATE, ALTER and DROP, by "Data Definition Statements" of the CUBRID manual."""

    sql_rename_table = "RENAME TABLE %(old_table)s TO %(new_table)s"
    sql_delete_table = "DROP TABLE %(table)s CASCADE CONSTRAINTS"
    sql_alter_column_type = "MODIFY COLUMN %(column)s %(type)s%(collation)s%(comment)s"
    sql_alter_column_null = "MODIFY COLUMN %(column)s %(type)s NULL"
    sql_alter_column_not_null = "MODIFY COLUMN %(column)s %(type)s NOT NULL"
    sql_alter_column_no_default = "ALTER COLUMN %(column)s SET DEFAULT NULL"
    sql_alter_column_no_default_null = sql_alter_column_no_default
    sql_delete_column = "ALTER TABLE %(table)s DROP COLUMN %(column)s"
    sql_rename_column = "ALTER TABLE %(table)s RENAME COLUMN %(old_column)s AS %(new_column)s"
    sql_delete_fk = "ALTER TABLE %(table)s DROP FOREIGN KEY %(name)s"
    sql_delete_pk = "ALTER TABLE %(table)s DROP PRIMARY KEY"
    sql_delete_index = "DROP INDEX %(name)s ON %(table)s"
    sql_create_index = "CREATE INDEX %(name)s ON %(table)s (%(columns)s)%(extra)s"
    sql_alter_table_comment = "ALTER TABLE %(table)s COMMENT = %(comment)s"
    sql_alter_column_comment = None

    def quote_value(self, value: Any) -> str:
        """Returns a value as a literal."""
        if isinstance(value, bool):
            return str(int(value))
        if isinstance(value, (bytes, bytearray, memoryview)):
            return f"X'{bytes(value).hex()}'"
        if isinstance(value, datetime.datetime):
            return f"DATETIME'{value.isoformat(' ', 'milliseconds')}'"
        if isinstance(value, datetime.date):
            return f"DATE'{value.isoformat()}'"
        if isinstance(value, datetime.time):
            return f"TIME'{value.isoformat('seconds')}'"
        if isinstance(value, str):
            return "'" + value.replace("'", "''") + "'"
        return str(value)

    def prepare_default(self, value: Any) -> str:
        """Returns a default as a literal."""
        return self.quote_value(value)

    def _comment_sql(self, comment: str) -> str:
        return f" COMMENT {super()._comment_sql(comment)}"

    def _alter_column_comment_sql(self, *arguments: Any) -> tuple[str, list[Any]]:
        # It is changed with the type.
        return "", []

    def _with_rest(self, field: Any, new_type: str, is_null: bool) -> str:
        """A type and what MODIFY would take from the column otherwise."""
        text = new_type
        if field.has_db_default():
            default, params = self.db_default_sql(field)
            text += f" DEFAULT {default % tuple(self.quote_value(value) for value in params)}"
        return text if is_null else f"{text} NOT NULL"

    def _alter_column_type_sql(
        self, model: Any, old_field: Any, new_field: Any, new_type: str, old_collation: Any, new_collation: Any
    ) -> Any:
        declared = self._with_rest(old_field, new_type, old_field.null)
        changed, after = super()._alter_column_type_sql(
            model, old_field, new_field, declared, old_collation, new_collation
        )
        if "AUTO_INCREMENT" in new_type and not self.collect_sql:
            after = [*after, (_NextNumber(self.connection.ops, model._meta.db_table, new_field.column), [])]
        return changed, after

    def _field_should_be_indexed(self, model: Any, field: Any) -> bool:
        # A foreign key has an index.
        is_key = bool(field.remote_field) and getattr(field, "db_constraint", False)
        return not is_key and bool(super()._field_should_be_indexed(model, field))

    def _alter_column_null_sql(self, model: Any, old_field: Any, new_field: Any) -> tuple[str, list[Any]]:
        declared = new_field.db_parameters(connection=self.connection)["type"]
        text = self._with_rest(new_field, declared, new_field.null)
        return f"MODIFY COLUMN {self.quote_name(new_field.column)} {text}", []


class _NextNumber:
    """A statement that is written when it is executed: it has the largest number that there is then."""

    def __init__(self, operations: Any, table: str, column: str) -> None:
        self.written: Callable[[], str] = partial(operations.next_number_sql, table, column)

    def __str__(self) -> str:
        return self.written()
