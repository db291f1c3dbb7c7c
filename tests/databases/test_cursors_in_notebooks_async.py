"""``_repr_html_`` of a cursor on every database: its first rows and its types, without taking anything away."""

from __future__ import annotations

from servers import Database


async def test_a_cursor_is_a_table_of_its_first_rows(any_db: Database) -> None:
    source = any_db.differences.one_row
    sql = f"select 1 as a, '<b>&' as b, cast(null as char(1)) as c from {source}"
    async with await any_db.aconnect() as aconn:
        cursor = await aconn.execute(sql)
        shown = cursor._repr_html_()
        assert shown.lower().count("<th>") == 3
        assert "<td>1</td>" in shown
        assert "<td>&lt;b&gt;&amp;</td>" in shown
        assert "<em>NULL</em>" in shown
        assert "1 rows" in shown
        assert cursor._repr_html_() == shown
        assert len(await cursor.fetchall()) == 1
        assert "no rows in memory" in cursor._repr_html_()
        await cursor.close()
        assert "[closed]" in cursor._repr_html_()


async def test_only_the_first_rows_are_shown_and_all_are_fetched(any_db: Database) -> None:
    source = any_db.differences.one_row
    sql = " union all ".join(f"select {n} as n from {source}" for n in range(30))
    async with await any_db.aconnect() as aconn:
        cursor = await aconn.execute(sql)
        await cursor.fetchone()
        shown = cursor._repr_html_()
        assert shown.count("<tr>") == 21
        assert "the first 20 of 30 rows" in shown
        assert len(await cursor.fetchall()) == 29
