"""Expressions of Django that a database writes otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def written(vendor: str, by: Mapping[Any, Callable[..., Any]]) -> None:
    """Lets expressions be written by functions.

    Args:
        vendor: of the database: Django asks an expression for ``as_`` and this name.
        by: the classes of expressions, with what writes each.
    """
    for expression, function in by.items():
        setattr(expression, f"as_{vendor}", function)
