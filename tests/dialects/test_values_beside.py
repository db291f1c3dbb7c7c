"""Values of all kinds for columns of SQLAlchemy's types: where the usual driver's dialect stores one, headrace's stores
the same, but for the differences that are listed here."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import itertools
import uuid
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from .conftest import Engines

pytestmark = pytest.mark.usefixtures("berlin")

BERLIN = ZoneInfo("Europe/Berlin")
NAIVE = dt.datetime(2024, 7, 1, 12, 30, 15, 250_000)


class Kind(str, enum.Enum):
    A = "a"


VALUES: dict[str, Any] = {
    "5": 5,
    "-3": -3,
    "2**40": 2**40,
    "True": True,
    "int64": np.int64(5),
    "uint8": np.uint8(5),
    "bool_": np.bool_(True),
    "5.0": 5.0,
    "7.9": 7.9,
    "nan": float("nan"),
    "float64": np.float64(1.5),
    "float32": np.float32(1.5),
    "float64 nan": np.float64("nan"),
    "Decimal 5": decimal.Decimal("5"),
    "Decimal 1.50": decimal.Decimal("1.50"),
    "'5'": "5",
    "'1.5'": "1.5",
    "'text'": "text",
    "''": "",
    "str_": np.str_("x"),
    "bytes": b"x",
    "bytearray": bytearray(b"x"),
    "memoryview": memoryview(b"x"),
    "UUID": uuid.UUID(int=1),
    "enum": Kind.A,
    "date": dt.date(2024, 7, 1),
    "midnight": dt.datetime(2024, 7, 1),
    "naive": NAIVE,
    "skipped": dt.datetime(2024, 3, 10, 2, 30),
    "UTC": NAIVE.replace(tzinfo=dt.timezone.utc),
    "Berlin": NAIVE.replace(tzinfo=BERLIN),
    "Timestamp": pd.Timestamp(NAIVE),
    "Timestamp UTC": pd.Timestamp(NAIVE, tz="UTC"),
    "datetime64 day": np.datetime64("2024-07-01"),
    "datetime64": np.datetime64(NAIVE),
    "NaT": pd.NaT,
    "time": dt.time(10, 20, 30),
    "time UTC": dt.time(10, 20, 30, tzinfo=dt.timezone.utc),
    "timedelta": dt.timedelta(hours=1, microseconds=5),
    "Timedelta": pd.Timedelta(hours=1),
    "'2024-07-01'": "2024-07-01",
    "'2024-07-01 10:00'": "2024-07-01 10:00",
    "'10:00'": "10:00",
    "None": None,
}
TYPES: dict[str, sa.types.TypeEngine[Any]] = {
    "Integer": sa.Integer(),
    "BigInteger": sa.BigInteger(),
    "Float": sa.Float(),
    "Numeric": sa.Numeric(10, 2),
    "String": sa.String(60),
    "Boolean": sa.Boolean(),
    "Date": sa.Date(),
    "DateTime": sa.DateTime(),
    "DateTime zoned": sa.DateTime(timezone=True),
    "Time": sa.Time(),
    "LargeBinary": sa.LargeBinary(),
}
DATES = ("Date", "DateTime", "DateTime zoned")
WHOLE = ("Integer", "BigInteger")
NUMBERS = (*WHOLE, "Float", "Numeric")
BYTES = ("bytes", "bytearray", "memoryview")
AWARE = ("UTC", "Berlin", "Timestamp UTC", "time UTC")


def cases(types: tuple[str, ...], values: tuple[str, ...]) -> set[tuple[str, str]]:
    """Each of the values for each of the types."""
    return set(itertools.product(types, values))


TEXTS = {
    "times with a zone for `String`": cases(("String",), AWARE),
    "NaN of NumPy for `String`": cases(("String",), ("float64 nan",)),
    "other objects of NumPy and pandas, and `memoryview`, for `String`": cases(
        ("String",), ("bool_", "memoryview", "datetime64", "Timedelta")
    ),
    "`NaT` for `String`": cases(("String",), ("NaT",)),
}
DIFFERENCES: dict[str, dict[str, set[tuple[str, str]]]] = {
    "postgresql": {
        "fractions for `Integer` and `BigInteger`": cases(WHOLE, ("7.9", "float64", "float32", "Decimal 1.50")),
        "bytes for whole numbers": cases(WHOLE, BYTES),
        "`float`, `timedelta` and times with a zone for `String`": cases(
            ("String",), ("5.0", "nan", "float64 nan", "timedelta", "Timedelta", *AWARE)
        ),
        "`NaT`": cases((*DATES, "String", "Time"), ("NaT",)),
        "`timedelta` for `Time`": cases(("Time",), ("timedelta", "Timedelta")),
    },
    "mariadb": {**TEXTS, "`timedelta` for dates": cases(DATES, ("timedelta",))},
    "mysql": {
        **TEXTS,
        "bytes for numbers": cases(NUMBERS, ("bytes", "bytearray")),
        "`Timestamp` with a zone": cases(("DateTime", "DateTime zoned", "Time"), ("Timestamp UTC",)),
    },
}
"""What is stored differently on purpose, as the page on SQLAlchemy says it: by type and value."""
PAGE = Path(__file__).parents[2] / "docs/howto/sqlalchemy.md"


def stored(connection: sa.Connection, kind: sa.types.TypeEngine[Any], text: str) -> dict[str, str | None]:
    """What the server has of each value, as text, or "refused"."""
    table = sa.Table("beside", sa.MetaData(), sa.Column("v", kind), prefixes=["temporary"])
    table.create(connection)
    found: dict[str, str | None] = {}
    for name, value in VALUES.items():
        attempt = connection.begin_nested()
        try:
            connection.execute(table.insert(), {"v": value})
            found[name] = str(connection.exec_driver_sql(f"select {text} from beside").scalar())
        except Exception:
            found[name] = "refused"
        attempt.rollback()
    table.drop(connection)
    return found


def compared(engines: Engines, peer: str, zone: str, text: str) -> dict[tuple[str, str], tuple[Any, Any]]:
    """What the two store differently, of what the other driver stores: by type and value."""

    def all_of(connection: sa.Connection) -> dict[tuple[str, str], Any]:
        connection.exec_driver_sql(zone)
        return {
            (kind, name): one for kind, made in TYPES.items() for name, one in stored(connection, made, text).items()
        }

    ours = engines.connected(all_of)
    other = sa.create_engine(engines.url.replace("+headrace", f"+{peer}"))
    try:
        with other.begin() as connection:
            theirs = all_of(connection)
    finally:
        other.dispose()
    return {case: (ours[case], value) for case, value in theirs.items() if value != "refused" and ours[case] != value}


def check(found: dict[tuple[str, str], tuple[Any, Any]], database: str) -> None:
    """What differs is what the page says."""
    page = PAGE.read_text()
    listed: set[tuple[str, str]] = set()
    for what, which in DIFFERENCES[database].items():
        assert f"| {what} |" in page
        # Older servers convert no bytes.
        assert {case for case in which - found.keys() if case[1] not in BYTES} == set(), what
        listed |= which
    assert {case: both for case, both in found.items() if case not in listed} == {}


def test_postgresql_has_what_psycopg_stores(postgres: Engines) -> None:
    check(compared(postgres, "psycopg", "set time zone 'America/New_York'", "v::text"), "postgresql")


def test_mysql_has_what_pymysql_stores(my: Engines) -> None:
    check(compared(my, "pymysql", "set time_zone = '-04:00'", "concat(v)"), my.url.partition("+")[0])
