"""An object of a subclass is sent by its value, not by what it prints or what its C fields say; what pandas has for a
missing value is NULL."""

from __future__ import annotations

import datetime
import decimal
import enum
from typing import Any

import pandas
import pytest

import headrace
from servers import Database, names

DAY = datetime.date(2020, 2, 29)
MOMENT = datetime.datetime(2020, 2, 29, 1, 2, 3, 250_000)


class Percent(float):
    def __str__(self) -> str:
        return f"{self:.1f} %"

    __repr__ = __str__


class Number(int):
    def __str__(self) -> str:
        return f"#{self:d}"

    __repr__ = __str__


class Money(decimal.Decimal):
    def __str__(self) -> str:
        return f"$ {self:.1f}"


class Name(str):
    def __str__(self) -> str:
        return self.upper()


class Shifted(datetime.datetime):
    """Is an hour later than its C fields say."""

    @property
    def hour(self) -> int:  # type: ignore[override]
        return super().hour + 1


class Anything(enum.Enum):
    DAY = DAY
    MOMENT = MOMENT
    MONEY = decimal.Decimal("1.25")
    TEXT = "text"
    NUMBER = 7
    NOTHING = None
    FLOAT = 0.5


CASES: dict[str, list[tuple[Any, Any]]] = {
    "n": [(Number(1234567), 1234567), (Anything.NUMBER, 7), (Anything.NOTHING, None), (pandas.NA, None)],
    "f": [(Percent(0.125), 0.125), (Anything.FLOAT, 0.5), (Number(3), 3.0), (pandas.NA, None)],
    "a": [(Money("19.99"), decimal.Decimal("19.99")), (Anything.MONEY, decimal.Decimal("1.25")), (Number(5), 5)],
    "v": [(Name("name"), "name"), (Anything.TEXT, "text"), (pandas.NA, None), (pandas.NaT, None)],
    "d": [(Anything.DAY, DAY), (pandas.NaT, None)],
    "t": [
        (Anything.MOMENT, MOMENT),
        (pandas.NaT, None),
        (pandas.Timestamp(MOMENT), MOMENT),
        (Shifted(2020, 2, 29, 0, 2, 3, 250_000), MOMENT),
    ],
}


@pytest.mark.parametrize("any_db", names(), indirect=True)
def test_a_value_is_what_it_is_of_its_base_class(any_db: Database) -> None:
    mark = any_db.native_marks(1)[0]
    with any_db.connect(autocommit=True) as conn:
        conn.execute("drop table if exists of_subclasses")
        conn.execute(
            "create table of_subclasses"
            f" (n integer, f double precision, a decimal(9, 2), v varchar(50), d date, t {any_db.timestamp})"
        )
        for column, cases in CASES.items():
            insert = f"insert into of_subclasses ({column}) values ({mark})"
            query = f"select {column} from of_subclasses"
            for value, expected in cases:
                conn.execute(insert, (value,))
                conn.executemany(insert, [(value,), (value,)])
                with conn.pipeline():
                    conn.execute(insert, (value,))
                found = [row[0] for row in conn.execute(query)]
                assert found == [expected] * 4, (column, value)
                conn.execute("delete from of_subclasses")
        conn.execute("drop table of_subclasses")


@pytest.mark.parametrize("any_db", names(), indirect=True)
@pytest.mark.parametrize("rows", [{1}, frozenset({1}), {1: 2}, "1", b"1"])
def test_parameters_are_in_an_order(any_db: Database, rows: Any) -> None:
    mark = any_db.native_marks(1)[0]
    with (
        any_db.connect(autocommit=True) as conn,
        pytest.raises((TypeError, headrace.ProgrammingError), match="sequence"),
    ):
        conn.execute(f"select {mark}{any_db.one.removeprefix('select 1')}", rows)
