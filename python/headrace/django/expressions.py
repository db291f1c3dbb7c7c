"""Expressions of Django that a database writes otherwise."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.db.models import CharField, TextField
from django.db.models.functions import Cast

LONGEST_NUMBER = 60
"""Characters of a number, a date, a time or the like as text, and some more."""


def written(vendor: str, by: Mapping[Any, Callable[..., Any]]) -> None:
    """Lets expressions be written by functions.

    Args:
        vendor: of the database: Django asks an expression for ``as_`` and this name.
        by: the classes of expressions, with what writes each.
    """
    for expression, function in by.items():
        setattr(expression, f"as_{vendor}", function)


def concatenated(self: Any, compiler: Any, connection: Any) -> tuple[str, Any]:
    """Two values as one text, of which one that is NULL has nothing: ``||`` makes NULL of it."""
    pair = self.copy()
    texts = (CharField, TextField)
    parts = self.get_source_expressions()
    pair.set_source_expressions(
        [
            part if isinstance(part.output_field, texts) else Cast(part, CharField(max_length=LONGEST_NUMBER))
            for part in parts
        ]
    )
    return pair.pipes_concat_sql(compiler, connection)  # type: ignore[no-any-return]
