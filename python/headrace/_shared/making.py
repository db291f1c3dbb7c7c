"""Rows as functions of the program make them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def all_made(make: Callable[[Any], Any], rows: list[Any]) -> list[Any]:
    """Returns what a row factory or a loader makes of each row.

    Raises:
        RuntimeError: it has raised StopIteration, which would be the end of the rows to ``map`` (PEP 479).
    """
    made = list(map(make, rows))
    if len(made) != len(rows):
        raise stopped()
    return made


def stopped() -> RuntimeError:
    """The error for a row factory or a loader that has raised StopIteration."""
    return RuntimeError("a row factory or a loader raised StopIteration")
