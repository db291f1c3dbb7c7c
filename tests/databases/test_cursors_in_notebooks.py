"""``_repr_html_`` of a cursor on every database: its first rows and its types, without taking anything away."""

# Made by tools/async_to_sync.py of test_cursors_in_notebooks_async.py: edit that file, and run the tool.

from __future__ import annotations

from servers import Database


def test_a_cursor_is_a_table_of_its_first_rows(any_db: Database) -> None:
    source = any_db.differences.one_row
    sql = f"select 1 as a, '<b>&' as b, cast(null as char(1)) as c from {source}"
    with any_db.connect() as conn:
        cursor = conn.execute(sql)
        shown = cursor._repr_html_()
        assert shown.lower().count("<th>") == 3
        assert "<td>1</td>" in shown
        assert "<td>&lt;b&gt;&amp;</td>" in shown
        assert "<em>NULL</em>" in shown
        assert "1 rows" in shown
        assert cursor._repr_html_() == shown
        assert len(cursor.fetchall()) == 1
        assert "no rows in memory" in cursor._repr_html_()
        cursor.close()
        assert "[closed]" in cursor._repr_html_()


def test_only_the_first_rows_are_shown_and_all_are_fetched(any_db: Database) -> None:
    source = any_db.differences.one_row
    sql = " union all ".join(f"select {n} as n from {source}" for n in range(30))
    with any_db.connect() as conn:
        cursor = conn.execute(sql)
        cursor.fetchone()
        shown = cursor._repr_html_()
        assert shown.count("<tr>") == 21
        assert "the first 20 of 30 rows" in shown
        assert len(cursor.fetchall()) == 29
