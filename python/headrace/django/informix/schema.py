"""Definitions as Informix has them: constraints have their names after them."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

import datetime
from typing import Any

from django.db.models import Value

from ..definitions import ModifyingSchemaEditor


class DatabaseSchemaEditor(ModifyingSchemaEditor):
    """CREATE, ALTER and DROP, by IBM's Guide to SQL: Syntax."""

    sql_constraint = "%(constraint)s CONSTRAINT %(name)s"
    sql_create_unique = "ALTER TABLE %(table)s ADD CONSTRAINT UNIQUE (%(columns)s) CONSTRAINT %(name)s"
    sql_create_check = "ALTER TABLE %(table)s ADD CONSTRAINT CHECK (%(check)s) CONSTRAINT %(name)s"
    sql_create_pk = "ALTER TABLE %(table)s ADD CONSTRAINT PRIMARY KEY (%(columns)s) CONSTRAINT %(name)s"
    sql_create_fk = (
        "ALTER TABLE %(table)s ADD CONSTRAINT FOREIGN KEY (%(column)s) "
        "REFERENCES %(to_table)s (%(to_column)s) CONSTRAINT %(name)s"
    )
    sql_unique_constraint = "UNIQUE (%(columns)s)"
    sql_delete_table = "DROP TABLE %(table)s"
    sql_create_column = "ALTER TABLE %(table)s ADD %(column)s %(definition)s"
    sql_delete_column = "ALTER TABLE %(table)s DROP %(column)s"
    sql_rename_column = "RENAME COLUMN %(table)s.%(old_column)s TO %(new_column)s"
    sql_alter_column_type = "MODIFY (%(column)s %(type)s%(collation)s)"
    sql_alter_column_no_default = "MODIFY (%(column)s)"
    sql_alter_column_no_default_null = sql_alter_column_no_default
    sql_modify_column = "MODIFY (%(column)s %(definition)s)"
    sql_create_unique_index = "CREATE UNIQUE INDEX %(name)s ON %(table)s (%(columns)s)"

    def quote_value(self, value: Any) -> str:
        if value is None:
            return "NULL"
        if isinstance(value, bool):
            return "'t'" if value else "'f'"
        if isinstance(value, datetime.datetime):
            return f"DATETIME({value.strftime('%Y-%m-%d %H:%M:%S.%f')[:-1].rjust(25, '0')}) YEAR TO FRACTION(5)"
        if isinstance(value, datetime.date):
            return f"'{value:%m/%d/%Y}'"
        if isinstance(value, datetime.time):
            return f"DATETIME({value.strftime('%H:%M:%S.%f')[:-1]}) HOUR TO FRACTION(5)"
        return super().quote_value(value)

    def db_default_sql(self, field: Any) -> tuple[str, list[Any]]:
        """Returns a default, which is a literal if it is a value."""
        default = field._db_default_expression
        return (
            (self.prepare_default(default.value), []) if isinstance(default, Value) else super().db_default_sql(field)
        )

    def _alter_column_default_sql(
        self, model: Any, old_field: Any, new_field: Any, drop: bool = False
    ) -> tuple[str, list[Any]]:
        text = new_field.db_parameters(connection=self.connection)["type"]
        if not drop:
            text += f" DEFAULT {self.prepare_default(self.effective_default(new_field))}"
        # A column that is about to refuse NULL has rows with one yet, which the default replaces.
        is_null = new_field.null or (not drop and old_field is not None and old_field.null)
        return self._modified(new_field.column, text if is_null else f"{text} NOT NULL")

    def _alter_column_database_default_sql(
        self, model: Any, old_field: Any, new_field: Any, drop: bool = False
    ) -> tuple[str, list[Any]]:
        text = self._with_rest(new_field, new_field.db_parameters(connection=self.connection)["type"], old_field.null)
        return self._modified(new_field.column, text)

    def skip_default(self, field: Any) -> bool:
        """Returns true for a BYTE, which has no literal."""
        return bool(field.get_internal_type() == "BinaryField")

    def _field_should_be_indexed(self, model: Any, field: Any) -> bool:
        # The text of a TextField is too long for an index.
        return field.get_internal_type() != "TextField" and super()._field_should_be_indexed(model, field)
