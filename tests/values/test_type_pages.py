"""The pages of types say what is: each class that a page names for a type of column is stored in one, and what comes
back is of a class that it names."""

from __future__ import annotations

import datetime as dt
import decimal
import ipaddress
import re
import uuid
from typing import Any, Final

import pytest

import headrace
from headrace.types import BitString, Box, Circle, Interval, Json, Jsonb, Multirange, Point, Polygon, Range
from servers import Database, names

from .columns import COLUMNS, PREPARING
from .page import REFERENCE

PAGES: Final = {
    "postgresql": "types.md", "mysql": "mysql-types.md", "informix": "informix.md", "cubrid": "cubrid.md",
}  # fmt: skip
WRITTEN: Final[dict[str, dict[str, str]]] = {
    "postgresql": {
        "int": "integer", "bool": "boolean", "char(5)": "char(n)", "int4range": "ranges", "daterange": "ranges",
        "int4multirange": "multiranges", "matrix_color": "enumerations", "matrix_pair": "composite types",
        "int[]": "arrays", "text[]": "arrays", "numeric[]": "arrays",
    },
    "mysql": {"smallint": "tinyint", "int": "tinyint", "bit": "bit(n)"},
    "informix": {
        "int": "integer", "char(7)": "char", "decimal(32)": "decimal(p)", "decimal(10,2)": "decimal(p,s)",
        "datetime year to second": "datetime year to hour", "datetime year to fraction(5)": "datetime year to hour",
        "datetime year to day": "datetime year to day", "datetime hour to fraction(3)": "datetime hour to minute",
        "interval day(5) to fraction(5)": "interval day ... fraction", "interval year(4) to month": "interval year",
    },
    "cubrid": {},
}  # fmt: skip
"""How the page has a type, where its name there is not the one without what is in parentheses, and after `of`."""
SAMPLES: Final[dict[str, list[Any]]] = {
    "bool": [True],
    "int": [5, 1],
    "float": [1.5, 1.0],
    "Decimal": [decimal.Decimal("1.5"), decimal.Decimal(1)],
    "str": ["5", "1", "red", "2024-02-29", "2024-02-29 13:14:15", "13:14:15", "2024", "101", "t", "10.0.0.1", "(1,2)",
            '{"a": 1}', "{1}", "[1,2)", "[2024-01-01,)", "{[1,2)}", "((1,2),(3,4))", "1 00:00:00", "12-05", "<(1,2),3>",
            "LIST{1,2}", "ROW(1,'a')", "12345678-1234-5678-1234-567812345678"],
    "bytes": [b"abc", b"1"],
    "bytearray": [bytearray(b"abc")],
    "memoryview": [memoryview(b"abc")],
    "date": [dt.date(2024, 2, 29)],
    "time": [dt.time(13, 14, 15)],
    "datetime": [dt.datetime(2024, 2, 29, 13, 14, 15), dt.datetime(2024, 2, 29),
                 dt.datetime(2024, 2, 29, 13, 14, 15, tzinfo=dt.timezone.utc)],
    "timedelta": [dt.timedelta(hours=1)],
    "Interval": [Interval(months=14)],
    "UUID": [uuid.UUID(int=5)],
    "dict": [{"a": 1}, {"n": 1, "x": "a"}],
    "Json": [Json({"a": 1})],
    "Jsonb": [Jsonb({"a": 1})],
    "IPv4Address": [ipaddress.ip_address("10.0.0.1")],
    "IPv6Address": [ipaddress.ip_address("::1")],
    "IPv4Network": [ipaddress.ip_network("10.0.0.0/8")],
    "IPv6Network": [ipaddress.ip_network("::/0")],
    "BitString": [BitString("101")],
    "Point": [Point(1, 2), Polygon((Point(1, 2), Point(3, 4))), Box(Point(3, 4), Point(1, 2)),
              Circle(Point(1, 2), 3)],
    "Range": [Range(1, 5), Range(dt.date(2024, 1, 1), None)],
    "Multirange": [Multirange([Range(1, 2)])],
    "list": [[1, 2], ["a"], [1, "x"]],
    "tuple": [(1, 2), (1, "x")],
    "set": [{1, 2}],
}  # fmt: skip
"""Values of the classes that pages name, one of which each type takes."""
LOADED: Final = {"dict", "list", "str", "int", "float", "bool"}
"""What comes of JSON."""
PARTS: Final = {"point", "polygon", "path", "box", "circle"}
"""Types whose row of the page names the first of their classes only."""
TAKE_TEXT: Final = {"postgresql", "informix"}
"""The pages that say that every type takes a `str`."""


def rows(page: str) -> dict[str, tuple[str, str]]:
    """What a page says of each type: from the server, and to it."""
    found: dict[str, tuple[str, str]] = {}
    for line in (REFERENCE / page).read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) != 3:
            continue
        for name in re.split(r", (?![^(]*\))|; | to (?=`)", cells[0].replace(" too", "")):
            plain = re.sub(r"\(\d.*", "", name.lstrip("`").split("`")[0])
            found.setdefault(plain.strip('"').lower(), (cells[1], cells[2]))
    return found


def classes(cell: str) -> set[str]:
    """The Python classes that a cell names."""
    return {name.rpartition(".")[2] for name in re.findall(r"`([\w.]+)`", cell)} & SAMPLES.keys()


def said(page: dict[str, tuple[str, str]], database: str, column: str) -> tuple[set[str], set[str]]:
    """The classes of what comes from a column, and of what it takes."""
    plain = re.sub(r"\(.*| of .*| unsigned", "", column)
    written = WRITTEN[database]
    cells = page[written.get(column, written.get(plain, plain))]
    come, go = (classes(cell) for cell in cells)
    if "json.loads" in cells[0]:
        come |= LOADED
    return come, go | (come if "the same" in cells[1] or "as that" in cells[1] else set())


@pytest.mark.slow
@pytest.mark.parametrize("any_db", names(), indirect=True)
def test_the_page_says_what_a_column_takes_and_returns(any_db: Database) -> None:
    page, wrong = rows(PAGES[any_db.kind]), []
    columns = COLUMNS[any_db.kind]
    with any_db.connect(autocommit=True) as conn:
        for statement in PREPARING.get(any_db.kind, ()):
            conn.executescript(statement)
        conn.execute("drop table if exists of_pages")
        made = ", ".join(f"c{number} {column.type}" for number, column in enumerate(columns))
        conn.execute(f"create table of_pages ({made})")
        for number, column in enumerate(columns):
            come, go = said(page, any_db.kind, column.name)
            assert come, column
            for name in sorted(go | ({"str"} if any_db.kind in TAKE_TEXT else set())):
                back = stored(conn, f"c{number}", SAMPLES[name], any_db.native_marks(1)[0])
                if not back:
                    wrong.append(f"{column.name} does not take {name}")
                wrong += [
                    f"{column.name} returns {one!r} for {name}"
                    for one in back
                    if type(one).__name__ not in come and column.name not in PARTS
                ]
        conn.execute("drop table of_pages")
    assert not wrong, "\n".join(wrong)


def stored(conn: Any, column: str, values: list[Any], mark: str) -> list[Any]:
    """What comes back of those of the values that the column takes."""
    back = []
    for value in values:
        try:
            conn.execute(f"insert into of_pages ({column}) values ({mark})", (value,))
        except headrace.Error:
            continue
        back.append(conn.fetchval(f"select {column} from of_pages"))
        conn.execute("delete from of_pages")
    return back
