"""Definitions as CUBRID has them."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

import datetime
from collections.abc import Callable
from functools import partial
from typing import Any

from ..definitions import ModifyingSchemaEditor


class DatabaseSchemaEditor(ModifyingSchemaEditor):
    """CREATE, ALTER and DROP, by "Data Definition Statements" of the CUBRID manual."""

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
    sql_alter_table_comment = "ALTER TABLE %(table)s COMMENT = %(comment)s"
    sql_alter_column_comment = None

    def quote_value(self, value: Any) -> str:
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
        return super().quote_value(value)

    def _without_default(self, field: Any, dropped: str) -> str:
        """A default that is dropped of a column that is NOT NULL, which keeps it in a MODIFY and cannot have NULL."""
        column, declared = self.quote_name(field.column), field.db_parameters(self.connection)["type"]
        comment = self._comment_sql(field.db_comment) if field.db_comment else ""
        nullable, strict = (f"MODIFY COLUMN {column} {declared} {null}{comment}" for null in ("NULL", "NOT NULL"))
        return f"{nullable}, {dropped}, {strict}"

    def _alter_column_default_sql(self, model: Any, old_field: Any, new_field: Any, drop: bool = False) -> Any:
        changed, params = super()._alter_column_default_sql(model, old_field, new_field, drop)
        return self._without_default(new_field, changed) if drop and not new_field.null else changed, params

    def _alter_column_database_default_sql(self, model: Any, old_field: Any, new_field: Any, drop: bool = False) -> Any:
        changed, params = super()._alter_column_database_default_sql(model, old_field, new_field, drop)
        # NULL is allowed or refused after this.
        return self._without_default(new_field, changed) if drop and not old_field.null else changed, params

    def _is_constraint(self, field: Any) -> bool:
        # A constraint refers to a primary key, and to no column that is merely unique.
        return super()._is_constraint(field) and field.target_field.primary_key

    def _create_fk_sql(self, model: Any, field: Any, suffix: str) -> Any:
        statement = super()._create_fk_sql(model, field, suffix)
        if not self._is_constraint(field):
            statement.template = ""
        return statement

    def execute(self, sql: Any, params: Any = ()) -> None:
        if str(sql):
            super().execute(sql, params)

    def _comment_sql(self, comment: str) -> str:
        return f" COMMENT {super()._comment_sql(comment)}"

    def _alter_column_comment_sql(self, *arguments: Any) -> tuple[str, list[Any]]:
        # It is changed with the type.
        return "", []

    def _alter_column_type_sql(
        self, model: Any, old_field: Any, new_field: Any, new_type: str, old_collation: Any, new_collation: Any
    ) -> Any:
        changed, after = super()._alter_column_type_sql(
            model, old_field, new_field, new_type, old_collation, new_collation
        )
        if "AUTO_INCREMENT" in new_type and not self.collect_sql:
            after = [*after, (_NextNumber(self.connection.ops, model._meta.db_table, new_field.column), [])]
        if old_field.db_comment and not new_field.db_comment:
            # A MODIFY without a comment keeps it.
            changed = f"{changed[0]} COMMENT ''", changed[1]
        return changed, after

    def _alter_column_null_sql(self, model: Any, old_field: Any, new_field: Any) -> tuple[str, list[Any]]:
        changed, params = super()._alter_column_null_sql(model, old_field, new_field)
        # A MODIFY without NULL keeps NOT NULL, and one with it is refused where NULL is allowed.
        return (f"{changed} NULL" if new_field.null and not old_field.null else changed), params

    def remove_field(self, model: Any, field: Any) -> None:
        """Removes a column, and the primary key before it: the column of one cannot be dropped."""
        table = model._meta.db_table
        if field.primary_key and not self.collect_sql:
            with self.connection.cursor() as cursor:
                key = self.connection.introspection.get_primary_key_columns(cursor, table)
            if key == [field.column]:
                self.execute(self.sql_delete_pk % {"table": self.quote_name(table)})
        super().remove_field(model, field)


class _NextNumber:
    """A statement that is written when it is executed: it has the largest number that there is then."""

    def __init__(self, operations: Any, table: str, column: str) -> None:
        self.written: Callable[[], str] = partial(operations.next_number_sql, table, column)

    def __str__(self) -> str:
        return self.written()
