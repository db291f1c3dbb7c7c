"""What Django writes statements with: the numbers of rows are after SELECT."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

from typing import Any

from django.db.models.sql.compiler import SQLAggregateCompiler, SQLDeleteCompiler, SQLUpdateCompiler
from django.db.models.sql.compiler import SQLCompiler as Stock

from ..inserts import SQLInsertCompiler

__all__ = ["SQLAggregateCompiler", "SQLCompiler", "SQLDeleteCompiler", "SQLInsertCompiler", "SQLUpdateCompiler"]


class SQLCompiler(Stock):
    """Writes SELECT."""

    def as_sql(self, with_limits: bool = True, *arguments: Any, **keywords: Any) -> tuple[str, Any]:
        """Returns a query and its values.

        "A FIRST clause", IBM Informix Guide to SQL: Tutorial: in the first of several queries it limits all of them;
        and it is in no subquery but one in FROM.
        """
        sql, params = super().as_sql(with_limits, *arguments, **keywords)
        query = self.query
        if not (with_limits and query.is_sliced) or not sql.startswith("SELECT "):
            return sql, params
        if query.subquery and _only_asks(query):
            # EXISTS.
            return sql, params
        words = f"SKIP {query.low_mark} " if query.low_mark else ""
        if query.high_mark is not None:
            words += f"FIRST {query.high_mark - query.low_mark} "
        sql = f"SELECT {words}{sql[len('SELECT ') :]}"
        return (f"SELECT * FROM ({sql}) AS limited_rows", params) if query.subquery else (sql, params)


def _only_asks(query: Any) -> bool:
    """True if only whether there are rows matters."""
    return set(query.annotation_select) == {"a"} and not query.select and not query.default_cols
