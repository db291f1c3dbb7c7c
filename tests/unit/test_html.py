"""Results as tables of HTML."""

from __future__ import annotations

from headrace._shared.html import CHARACTERS, COLUMNS, table


def test_nothing_of_a_value_or_a_name_is_markup() -> None:
    made = table([("<a>", '"t"')], [('<script>alert("x")</script>',), (b"<i>",), (None,)], "SELECT <3>")
    for wrong in ("<script", "<a>", "<i>", "<3>", 'alert("'):
        assert wrong not in made
    assert "&lt;script&gt;" in made


def test_long_values_and_wide_rows_are_cut() -> None:
    long = "x" * (CHARACTERS + 1)
    names = [(f"c{n}", "int4") for n in range(COLUMNS + 2)]
    made = table(names, [(long,) * len(names)], "result")
    assert long not in made
    assert "x" * CHARACTERS + "…" in made
    assert made.count("<th>") == made.count("<td>") == COLUMNS
    assert f"the first {COLUMNS} of {COLUMNS + 2} columns" in made
    assert "…" in table([("l", "int4[]")], [([0] * 10**6,)], "")


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_a_value_without_a_text_leaves_the_others_shown() -> None:
    shown = table([("a", "text"), ("b", "text")], [(Hostile(), "<x>"), (10**5000, [Hostile()] * 300)], "2 rows")
    assert "&lt;Hostile, whose str() raises RuntimeError&gt;" in shown
    assert "<td>&lt;x&gt;</td>" in shown
    assert "2 rows" in shown
