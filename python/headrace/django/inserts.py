"""INSERT where the server tells the number that it has generated, and none if the program has given one."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

from typing import Any

from django.db.models.sql.compiler import SQLInsertCompiler as Stock


class SQLInsertCompiler(Stock):
    """Writes INSERT."""

    def execute_sql(self, returning_fields: Any = None) -> Any:
        """Executes it, and returns the values of these fields: that of a key, which was given or generated."""
        key = self.query.get_meta().pk
        if not returning_fields or key not in self.query.fields:
            return super().execute_sql(returning_fields)
        super().execute_sql(None)
        given = getattr(self.query.objs[0], key.attname)
        return [tuple(given if field is key else None for field in returning_fields)]
