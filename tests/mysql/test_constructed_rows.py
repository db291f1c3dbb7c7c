"""Rows that a statement makes of its parameters: VALUES (?, ?) as a query."""

from __future__ import annotations

from typing import Any

import headrace.mysql
from served import Served


def test_rows_of_a_table_value_constructor_have_their_values(
    my: headrace.mysql.Connection[Any], my_server: Served
) -> None:
    row = "" if my_server.is_mariadb else "row"
    query = f"with made as (values {row}(?, ?), {row}(?, ?)) select * from made"
    assert my.execute(query, ("a", 2, "bcd", 3)).fetchall() == [("a", 2), ("bcd", 3)]
    assert my.fetchmany(f"values {row}(?, ?)", [("x", 1), ("y", 2)]) == [("x", 1), ("y", 2)]
