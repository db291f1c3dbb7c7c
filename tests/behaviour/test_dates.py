"""Dates repeat within a result, which is why the driver remembers them; that never shows in their values."""

from __future__ import annotations

import datetime as dt

import pytest

import headrace

FIRST = dt.date(1999, 12, 31)


@pytest.mark.parametrize("days", [1, 33, 300, 1000, 5000], ids=lambda days: f"{days} days")
def test_dates_of_a_result_are_right_however_many_there_are(url: str, days: int) -> None:
    query = "select $1::date + g * 7919 % $2::int from generate_series(0, 9999) g"
    with headrace.connect(url) as conn:
        rows = conn.fetch(query, FIRST, days)
    assert rows == [(FIRST + dt.timedelta(days=g * 7919 % days),) for g in range(10_000)]


def test_a_thousand_days_of_a_large_result_are_a_thousand_objects(url: str) -> None:
    with headrace.connect(url) as conn:
        rows = conn.fetch("select date '2020-01-01' + g % 1000 from generate_series(0, 9999) g")
    assert len({id(date) for (date,) in rows[1000:]}) == 1000
