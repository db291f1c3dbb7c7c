"""Tables, columns and constraints as Django's introspection describes them."""

from __future__ import annotations

from typing import Any, NamedTuple


class TableInfo(NamedTuple):
    """A table (``t``) or view (``v``)."""

    name: str
    type: str
    comment: str


class FieldInfo(NamedTuple):
    """A column."""

    name: str
    type_code: str
    display_size: int | None
    internal_size: int | None
    precision: int | None
    scale: int | None
    null_ok: bool
    default: str | None
    collation: str | None
    is_autofield: bool
    """True if the server generates its numbers."""
    comment: str


def constraint(columns: list[str], **what: Any) -> dict[str, Any]:
    """A key, a unique or another constraint, or an index, of these columns."""
    return {
        "columns": columns,
        "primary_key": False,
        "unique": False,
        "foreign_key": None,
        "check": False,
        "index": False,
        "definition": None,
        **what,
    }
