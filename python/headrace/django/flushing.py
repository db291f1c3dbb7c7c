"""Tables are emptied where each row that is deleted is looked for in the tables that refer to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def flushed(connection: Any, tables: Iterable[str]) -> list[str]:
    """The statements that empty tables: those that refer to others first.

    A key that refers to its own table, or around a circle, is dropped meanwhile.
    """
    quote = connection.ops.quote_name
    fold = connection.introspection.identifier_converter
    left = {fold(table) for table in tables}
    keys: list[tuple[str, str, dict[str, Any]]] = []
    with connection.cursor() as cursor:
        for table in sorted(left):
            found = connection.introspection.get_constraints(cursor, table)
            keys += [(table, name, one) for name, one in found.items() if one["foreign_key"]]
    refers = {table: {one["foreign_key"][0] for of, _, one in keys if of == table} & left for table in left}
    deletes: list[str] = []
    dropped: list[tuple[str, str, dict[str, Any]]] = []
    while left:
        free = sorted(table for table in left if not any(table in refers[other] for other in left))
        if not free:
            # A circle: any table of it is as good a beginning as another.
            free = [min(left)]
            dropped += [key for key in keys if key[0] in left and key[2]["foreign_key"][0] == free[0]]
        deletes += [f"DELETE FROM {quote(table)}" for table in free]
        left -= set(free)
    editor = connection.schema_editor()
    drops = [editor.sql_delete_fk % {"table": quote(table), "name": quote(name)} for table, name, _ in dropped]
    return [*drops, *deletes, *(_made_again(quote, *key) for key in dropped)]


def _made_again(quote: Any, table: str, name: str, key: dict[str, Any]) -> str:
    referred, column = key["foreign_key"]
    columns = ", ".join(quote(one) for one in key["columns"])
    return (
        f"ALTER TABLE {quote(table)} ADD CONSTRAINT {quote(name)} FOREIGN KEY ({columns}) "
        f"REFERENCES {quote(referred)} ({quote(column)})"
    )
