"""Expressions of Django that a database writes otherwise."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.db.models import CharField, ForeignKey, JSONField, TextField
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


_TEXTS = frozenset({"CharField", "FileField", "FilePathField", "SlugField", "TextField"})
"""Fields whose columns are text, by what Django calls them inside."""


def _as_text(part: Any) -> Any:
    """A part of a longer text, which has to be text itself: a cast to a text of some length cuts a longer one off."""
    field = part.output_field
    while isinstance(field, ForeignKey):
        field = field.target_field
    if isinstance(field, (CharField, TextField)) or field.get_internal_type() in _TEXTS:
        return part
    if isinstance(field, JSONField):
        return Cast(part, TextField())
    return Cast(part, CharField(max_length=max(LONGEST_NUMBER, getattr(field, "max_length", None) or 0)))


def concatenated(self: Any, compiler: Any, connection: Any) -> tuple[str, Any]:
    """Two values as one text, of which one that is NULL has nothing: ``||`` makes NULL of it."""
    pair = self.copy()
    pair.set_source_expressions([_as_text(part) for part in self.get_source_expressions()])
    return pair.pipes_concat_sql(compiler, connection)  # type: ignore[no-any-return]
