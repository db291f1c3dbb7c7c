"""Digests: equal for equal values of equal types, different for anything else."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from headrace_lab import data
from headrace_lab.digest import RowSet, digest_rows

ZONE = dt.timezone(dt.timedelta(hours=2))


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (1, 1.0, False),
        (1, True, False),
        (Decimal(1), 1, False),
        (Decimal("1.50"), Decimal("1.5"), True),
        (Decimal("100"), Decimal("1E+2"), True),
        (Decimal("-0.0"), Decimal("0"), True),
        (Decimal("1.5"), Decimal("1.51"), False),
        ("1", 1, False),
        ("a", b"a", False),
        ("", None, False),
        (dt.datetime(2020, 1, 1, 2, tzinfo=ZONE), dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc), True),
        (dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc), False),
        (dt.date(2020, 1, 1), dt.datetime(2020, 1, 1), False),
    ],
)
def test_two_values(a: object, b: object, same: bool) -> None:
    assert (digest_rows([(a,)]) == digest_rows([(b,)])) == same


def test_rows_are_told_apart_from_their_cells() -> None:
    assert digest_rows([(1, 2)]) != digest_rows([(1,), (2,)])
    assert digest_rows([("a", "b")]) != digest_rows([("a\x1fsb",)])
    assert digest_rows([{"a": 1}]) == digest_rows([(1,)]), "however a driver presents a row"


def test_a_set_has_no_order_and_knows_repetition() -> None:
    def of(*blocks: list[tuple[int]]) -> str:
        rows = RowSet()
        for block in blocks:
            rows.add(block)
        return rows.value()

    assert of([(1,), (2,)], [(3,)]) == of([(3,), (1,)], [(2,)])
    assert of([(1,)]) != of([(1,), (1,)])
    assert of([(1,), (2,)]) != of([(1,), (3,)])


def test_the_formulas_are_what_they_were() -> None:
    """Published results stay comparable only while these hold."""
    assert data.plain_row(7) == (7, "name of row 7", 49, 1.0, dt.date(2020, 1, 8))
    assert data.types_row(3) == (
        Decimal("3.7035"),
        dt.datetime(2020, 1, 1, 0, 0, 4, 500_000, tzinfo=dt.timezone.utc),
        None,
        "čeština 日本 3",
    )
    assert data.wide_row(2)[:2] == ("value 0 of 2", 2)
    assert len(data.wide_row(2)) == 50
