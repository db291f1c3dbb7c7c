"""What Django writes statements with."""

# pyright: basic, reportMissingTypeStubs=false

from __future__ import annotations

from django.db.models.sql.compiler import SQLAggregateCompiler, SQLCompiler, SQLDeleteCompiler, SQLUpdateCompiler

from ..inserts import SQLInsertCompiler

__all__ = ["SQLAggregateCompiler", "SQLCompiler", "SQLDeleteCompiler", "SQLInsertCompiler", "SQLUpdateCompiler"]
