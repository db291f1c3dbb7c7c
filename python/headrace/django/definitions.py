"""Definitions of databases whose MODIFY declares a column anew, with all that it is to have."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor


class ModifyingSchemaEditor(BaseDatabaseSchemaEditor):
    """CREATE, ALTER and DROP, as far as they are the same in these databases."""

    sql_rename_table = "RENAME TABLE %(old_table)s TO %(new_table)s"
    sql_create_index = "CREATE INDEX %(name)s ON %(table)s (%(columns)s)%(extra)s"
    sql_modify_column = "MODIFY COLUMN %(column)s %(definition)s"

    def quote_value(self, value: Any) -> str:
        """Returns a value as a literal."""
        return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)

    def prepare_default(self, value: Any) -> str:
        """Returns a default as a literal."""
        return self.quote_value(value)

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
        return super()._alter_column_type_sql(model, old_field, new_field, declared, old_collation, new_collation)

    def _modified(self, column: str, definition: str) -> tuple[str, list[Any]]:
        return self.sql_modify_column % {"column": self.quote_name(column), "definition": definition}, []

    def _alter_column_null_sql(self, model: Any, old_field: Any, new_field: Any) -> tuple[str, list[Any]]:
        declared = new_field.db_parameters(connection=self.connection)["type"]
        return self._modified(new_field.column, self._with_rest(new_field, declared, new_field.null))

    def _is_constraint(self, field: Any) -> bool:
        return bool(field.remote_field) and getattr(field, "db_constraint", False)

    def _field_should_be_indexed(self, model: Any, field: Any) -> bool:
        # A foreign key has an index.
        return not self._is_constraint(field) and bool(super()._field_should_be_indexed(model, field))
