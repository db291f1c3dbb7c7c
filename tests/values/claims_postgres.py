"""What docs/reference/types.md says in words, executed."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import ipaddress
import subprocess
import sys
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from headrace import postgres
from headrace.errors import DataError, Error, ProgrammingError
from headrace.types import Interval, Json, Jsonb, LSeg, Path, Point, Polygon, Range

from .prose import Trial, says, shown

PAGE = "types.md"
D = decimal.Decimal
INSTANT = dt.datetime(2024, 2, 29, 13, 14, 15, 678901)
DEPTH = 32
ONE_VALUE = "tests/postgres/test_one_value_one_meaning.py::"
IN_RECORDS = "tests/postgres/test_types_in_records.py::"


class Own:
    """Has a loader or a dumper."""


class Percent(float):
    def __str__(self) -> str:
        return f"{self:.0f} %"


class Grouped(int):
    def __str__(self) -> str:
        return f"{int(self):_}"


class Money(D):
    def __str__(self) -> str:
        return "much"


class Later(dt.datetime):
    @property
    def year(self) -> int:  # type: ignore[override]
        return super().year + 1


class Attributes:
    def __init__(self, n: int, x: str) -> None:
        self.n, self.x = n, x


class Member(enum.Enum):
    DAY = dt.date(2020, 2, 29)
    RED = "red"
    BYTES = b"ab"


@says(PAGE, "exchanged in binary form in both directions, unless the type has none")
def _(t: Trial) -> None:
    # What binary COPY and binary results have, and the other forms have not: all digits of a float4 as a float8.
    assert t.value("select '1.1'::float4") == 1.100000023841858
    # A dumper's bytes are the value in binary form, which the server checks.
    t.conn.register_adapters(dumpers={Own: lambda _: b"\0\0\0\5"})
    assert t.value("select $1::int4", Own()) == 5
    t.refuses(Error, "select $1::int8", Own())
    assert t.value("select 'a'::tsvector") == "'a'"


shown(
    PAGE,
    "does not depend on how it is read, nor, but for",
    by="tests/values/test_matrix.py::test_every_value_is_the_same_by_every_way",
)


@says(
    PAGE,
    "a `Decimal` or `float` that is whole",
    "Nothing is rounded or truncated to fit",
    "a `datetime` with a time of day is not a `date`, 1.5 is not an `integer`",
    "a `datetime` at midnight",
)
def _(t: Trial) -> None:
    for kind in ("smallint", "integer", "bigint"):
        assert [t.value(f"select $1::{kind}", value) for value in (D("1E+2"), D("100.00"), 100.0)] == [100] * 3
        for value in (1.5, D("1.5")):
            t.refuses(ProgrammingError, f"select $1::{kind}", value)
    assert t.value("select $1::bigint", 2.0**60) == 2**60
    assert t.value("select $1::date", dt.datetime(2024, 2, 29)) == dt.date(2024, 2, 29)
    t.refuses(ProgrammingError, "select $1::date", INSTANT)


@says(
    PAGE,
    "1E-400 is not a `double precision`",
    "one that is out of its range a `DataError`, before anything is sent",
    "A value that cannot be sent as its column's type is a `ProgrammingError`",
)
def _(t: Trial) -> None:
    t.conn.autocommit = False
    assert t.value("select 1") == 1
    for kind, value, error in (
        ("double precision", D("1E-400"), DataError), ("double precision", D("1E+400"), DataError),
        ("smallint", 2**15, DataError), ("bigint", 2**63, DataError), ("real", 1e39, DataError),
        ("date", 5, ProgrammingError), ("integer", dt.date(2024, 1, 1), ProgrammingError),
        ("uuid", 1.5, ProgrammingError), ("bytea", 5, ProgrammingError), ("timestamp", b"x", ProgrammingError),
    ):  # fmt: skip
        t.refuses(error, f"select $1::{kind}", value)
        # The server has not seen it: the transaction goes on.
        assert t.value("select 2") == 2


@says(PAGE, "`decimal.Decimal`, exact, with its scale", "`str`, as the server formats it", "as the server shows it")
def _(t: Trial) -> None:
    digits = "12345678901234567890.12345678901234567890"
    for text in (digits, "1.50", "0.000", "100"):
        assert repr(t.value(f"select '{text}'::numeric")) == repr(D(text))
        assert repr(t.value("select $1::numeric", D(text))) == repr(D(text))
    for literal in ("'1234.5'::money", "'a:1 b'::tsvector", "'a & b'::tsquery", "'$.a[*]'::jsonpath",
                    "'16/B374D848'::pg_lsn", "'pg_class'::regclass", "'(0,1)'::tid"):  # fmt: skip
        assert t.value(f"select {literal}") == t.value(f"select {literal}::text")
    assert type(t.value("select 5::money")) is str


@says(PAGE, "`bytes` if it is not ASCII", "`str` of one ASCII character or none, one byte")
def _(t: Trial) -> None:
    t.table('v "char"')
    assert [t.stored(value) for value in ("a", "", b"b")] == ["a", "", "b"]
    assert t.stored(b"\xff") == b"\xff"
    for value in ("é", "ab", b"ab"):
        t.refuses(Error, 'insert into said values ($1::"char")', value)


@says(PAGE, "not by `write_row`, which sends bytes as a `bytea`")
def _(t: Trial) -> None:
    # The server keeps the first character of its text, a backslash.
    for kind, stored in (('"char"', "\\"), ("bytea", b"\xff")):
        t.table(f"v {kind}")
        with t.conn.cursor().copy("copy said from stdin") as copy:
            copy.write_row((b"\xff",))
        assert t.value("select v from said") == stored
        t.conn.execute("delete from said")
        t.conn.copy_in("said", [(b"\xff",)])
        assert t.value("select v from said") == b"\xff"


@says(PAGE, "numbers, dates and similar values as their SQL text")
def _(t: Trial) -> None:
    for value, text in ((5, "5"), (D("1.50"), "1.50"), (dt.date(2024, 2, 29), "2024-02-29"), (True, "true"),
                        (INSTANT, "2024-02-29 13:14:15.678901"), (dt.time(1, 2), "01:02:00")):  # fmt: skip
        assert t.value("select $1::text", value) == text
        assert t.value("select %s::text", value) == text


@says(PAGE, "`datetime.datetime` in UTC", "Aware objects are always exact")
def _(t: Trial) -> None:
    aware = INSTANT.replace(tzinfo=ZoneInfo("Asia/Kolkata"))
    for sql in ("select %s::timestamptz", "select $1::timestamptz"):
        got = t.value(sql, aware)
        assert (got, got.tzinfo) == (aware, dt.timezone.utc)


@says(
    PAGE,
    "for naive ones see [below]",
    "is interpreted by the side that converts it",
    "that of the session (`SHOW timezone`)",
    "that of the client process: headrace converts",
    "the same object is stored as two different times",
    "A naive `time` for a `timetz` is in the session's zone by `%s`, and in UTC by the others",
)
def _(t: Trial) -> None:
    t.conn.execute("set timezone to 'America/New_York'")
    session, client = (INSTANT.replace(tzinfo=ZoneInfo(zone)) for zone in ("America/New_York", "Europe/Berlin"))
    assert session != client
    t.table("v timestamptz, l timestamptz[]")
    t.conn.executescript("drop type if exists said_pair cascade; create type said_pair as (v timestamptz)")
    t.conn.execute("insert into said values (%s, %s)", (INSTANT, [INSTANT]))
    t.conn.execute("insert into said (v) values (%(at)s)", {"at": INSTANT})
    with t.conn.cursor().copy("copy said (v) from stdin") as copy:
        copy.write_row((INSTANT,))
    assert t.conn.fetch("select v, l[1] from said where l is not null") == [(session,) * 2]
    assert t.conn.fetch("select v from said where l is null") == [(session,)] * 2
    t.conn.execute("delete from said")
    t.conn.execute("insert into said values ($1)", (INSTANT,))
    t.conn.copy_in("said", [(INSTANT,)], columns=["v"])
    t.conn.execute("insert into said select ($1::said_pair).v", ((INSTANT,),))
    assert t.conn.fetch("select v from said") == [(client,)] * 3
    t.conn.execute("drop type said_pair")
    clock = dt.time(13, 14)
    offset = t.value("select extract(timezone from '13:14'::timetz)::int")
    assert t.value("select extract(timezone from %s::timetz)::int", clock) == offset != 0
    t.table("v timetz")
    assert t.stored(clock) == clock.replace(tzinfo=dt.timezone.utc)


@says(PAGE, "The offset of a `timetz` has whole seconds: a fraction of a second of it is cut off")
def _(t: Trial) -> None:
    t.table("v timetz")
    for seconds, whole in ((0.5, 0), (-0.5, 0), (3600.5, 3600), (-3600.5, -3600)):
        clock = dt.time(1, 2, 3, 4, tzinfo=dt.timezone(dt.timedelta(seconds=seconds)))
        cut = dt.time(1, 2, 3, 4, tzinfo=dt.timezone(dt.timedelta(seconds=whole)))
        assert t.value("select %s::timetz", clock) == t.value("select $1::timetz", clock) == cut
        t.conn.execute("delete from said")
        assert t.stored(clock) == cut


shown(
    PAGE,
    "| [SQLAlchemy](../howto/sqlalchemy.md#dates-and-times) | that of the session: the server converts",
    by="tests/dialects/test_instants.py::test_postgresql_converts_by_the_time_zone_of_the_session",
)


@says(PAGE, "with months [`Interval`](values.md)")
def _(t: Trial) -> None:
    assert t.value("select interval '1 day 1 second'") == dt.timedelta(days=1, seconds=1)
    assert t.value("select interval '14 months 1 day'") == Interval(months=14, days=1)


@says(
    PAGE,
    "the result of `json.loads`",
    "with `$1` also `list`, numbers, `bool`",
    "anything in `Json` or `Jsonb`",
    "`str` is JSON text",
)
def _(t: Trial) -> None:
    for kind in ("json", "jsonb"):
        assert t.value(f"""select '{{"a": [1, 1.5, null, true]}}'::{kind}""") == {"a": [1, 1.5, None, True]}
        for value in ([1, "a"], 5, 1.5, True, {"a": 1}):
            assert t.value(f"select $1::{kind}", value) == value
        for value in ([1, "a"], "text", 5, None):
            assert t.value(f"select %s::{kind}", Json(value)) == value
            assert t.value(f"select $1::{kind}", Jsonb(value)) == value
        for sql in ("$1", "%s"):
            assert t.value(f"select {sql}::{kind}", '{"a": 1}') == {"a": 1}
        assert t.value(f"select %s::{kind}", {"a": 1}) == {"a": 1}


@says(PAGE, "with a shorter prefix `...Interface`")
def _(t: Trial) -> None:
    assert t.value("select '10.0.0.1'::inet") == ipaddress.ip_address("10.0.0.1")
    for text in ("10.0.0.1/8", "::1/64"):
        assert t.value(f"select '{text}'::inet") == ipaddress.ip_interface(text)
        assert t.value("select $1::inet", ipaddress.ip_interface(text)) == ipaddress.ip_interface(text)


@says(PAGE, "the same, or sequences of numbers", "a path and a polygon have points, which are pairs")
def _(t: Trial) -> None:
    for kind, given, value in (
        ("point", [1, 2], Point(1, 2)),
        ("lseg", (1, 2, 3, 4), LSeg(Point(1, 2), Point(3, 4))),
        ("polygon", [(1, 2), [3, 4]], Polygon((Point(1, 2), Point(3, 4)))),
        ("path", [(1, 2), [3, 4]], Path((Point(1, 2), Point(3, 4)), False)),
    ):
        back = t.value(f"select $1::{kind}", given)
        assert back == (value if kind != "path" else Path(value.points, back.closed))
    for kind in ("polygon", "path"):
        for wrong in ([1, 2, 3, 4], [(1, 2, 3), (4, 5, 6)], [(1, 2), (3,)]):
            t.refuses(ProgrammingError, f"select $1::{kind}", wrong)


@says(PAGE, "`list`, nested by dimension", "`NULL` is `None`", "`list`, nested evenly")
def _(t: Trial) -> None:
    nested = [[1, None], [3, 4]]
    assert t.value("select '{{1,NULL},{3,4}}'::int[]") == nested
    assert t.value("select $1::int[]", nested) == t.value("select %s::int[]", nested) == nested
    for uneven in ([[1], [2, 3]], [1, [2]]):
        t.refuses(Error, "select $1::int[]", uneven)


@says(PAGE, "a member of `enum.Enum`, by its value, whatever that is")
def _(t: Trial) -> None:
    assert t.value("select $1::date", Member.DAY) == t.value("select %s::date", Member.DAY) == Member.DAY.value
    assert t.value("select %s::text", Member.RED) == "red"
    assert t.value("select $1::bytea", Member.BYTES) == b"ab"


@says(PAGE, "`tuple`, or an object or `dict` with the attributes' names", "as the type below")
def _(t: Trial) -> None:
    t.conn.executescript("drop type if exists said_row cascade; create type said_row as (n int, x text)")
    t.conn.executescript("drop domain if exists said_domain; create domain said_domain as numeric(5,2)")
    for given in ((1, "a"), Attributes(1, "a"), {"x": "a", "n": 1}):
        assert t.value("select $1::said_row", given) == (1, "a")
    t.table("v said_domain")
    assert repr(t.stored(D("1.5"))) == "Decimal('1.50')"
    t.conn.executescript("drop table said; drop domain said_domain; drop type said_row")


shown(
    PAGE,
    "`str` is accepted for every type",
    by="tests/values/test_type_pages.py::test_the_page_says_what_a_column_takes_and_returns",
)


@says(PAGE, "also inside of a list, a composite value or a range: the server parses it as it would parse a literal")
def _(t: Trial) -> None:
    t.conn.executescript("drop type if exists said_row cascade; create type said_row as (n int, d date)")
    today = t.value("select current_date")
    for mark in ("$1", "%s"):
        assert t.value(f"select {mark}::date[]", ["today", "2024-02-29"]) == [today, dt.date(2024, 2, 29)]
        assert t.value(f"select {mark}::said_row", (" 5 ", "today")) == (5, today)
        assert t.value(f"select {mark}::daterange", Range("2024-02-29", "today")) == Range(dt.date(2024, 2, 29), today)
    t.conn.execute("drop type said_row")


@says(PAGE, "COPY in the binary format is the exception", "JSON is text there too, the document")
def _(t: Trial) -> None:
    t.table("v int, j jsonb")
    with pytest.raises(Error):
        t.conn.copy_in("said", [("5", None)], columns=["v", "j"])
    t.conn.copy_in("said", [(5, '{"a": 1}')], columns=["v", "j"])
    assert t.conn.fetch("select v, j from said") == [(5, {"a": 1})]


@says(
    PAGE,
    "An object of a subclass is sent by its value, whatever its class prints",
    "pandas' `NaT` and `NA` are NULL",
)
def _(t: Trial) -> None:
    for mark in ("$1", "%s"):
        assert t.value(f"select {mark}::numeric", Grouped(1234567)) == 1234567
        assert t.value(f"select {mark}::float8", Percent(0.125)) == 0.125
        assert t.value(f"select {mark}::numeric", Money("1.25")) == D("1.25")
        for nothing in (pd.NaT, pd.NA):
            assert t.value(f"select {mark}::timestamp is null", nothing) is True
    assert t.value("select $1::timestamp", Later(2023, 3, 4)) == dt.datetime(2024, 3, 4)


@says(PAGE, "up to a depth of 32", "one that contains itself is a `ProgrammingError` (within JSON a `DataError`)")
def _(t: Trial) -> None:
    made = [f"create type said_{n} as (x {f'said_{n - 1}' if n else 'int'})" for n in range(DEPTH + 1)]
    t.conn.executescript("drop type if exists said_0 cascade;" + ";".join(made))
    value: Any = 5
    for _ in range(DEPTH):
        value = (value,)
    assert t.value(f"select $1::said_{DEPTH - 1}", value) == value
    t.refuses(ProgrammingError, f"select $1::said_{DEPTH}", (value,), match=str(DEPTH))
    t.conn.execute("drop type said_0 cascade")
    itself: list[Any] = []
    itself.append(itself)
    for mark in ("$1", "%s"):
        t.refuses(ProgrammingError, f"select {mark}::int[]", itself)
        t.refuses(DataError, f"select {mark}::json", Json(itself))


@says(PAGE, "Values of NumPy, which headrace does not import")
def _(t: Trial) -> None:
    program = (
        "import sys, headrace; c = headrace.connect(sys.argv[1]); c.fetchval('select 1'); "
        "sys.exit('numpy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program, t.db.url], check=True)


@says(
    PAGE,
    "| scalars of numbers, truth values, text, bytes |",
    "| `datetime64` of days and longer units |",
    "| `datetime64` of hours and shorter units |",
    "| `timedelta64` | `timedelta`; months and years",
    "| `NaT` | NULL |",
    "| arrays | `list`; without dimensions the item; of `uint8` bytes |",
)
def _(t: Trial) -> None:
    day, moment = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 13)
    for kind, given, value in (
        ("int", np.int64(5), 5), ("float8", np.float64(1.5), 1.5), ("bool", np.bool_(True), True),
        ("text", np.str_("a"), "a"), ("bytea", np.bytes_(b"a"), b"a"),
        ("date", np.datetime64("2024-02-29"), day), ("date", np.datetime64("2024-02"), day.replace(day=1)),
        ("timestamp", np.datetime64("2024-02-29T13"), moment), ("timestamp", np.datetime64(moment), moment),
        ("interval", np.timedelta64(5, "s"), dt.timedelta(seconds=5)),
        ("interval", np.timedelta64(14, "M"), Interval(months=14)),
        ("interval", np.timedelta64(1, "Y"), Interval(months=12)),
        ("timestamp", np.datetime64("NaT"), None), ("int[]", np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        ("int", np.array(5), 5), ("bytea", np.array([1, 2], "uint8"), b"\1\2"),
    ):  # fmt: skip
        for mark in ("$1", "%s"):
            assert t.value(f"select {mark}::{kind}", given) == value, (kind, given)


@says(PAGE, "A time that is more precise than a microsecond", "the error says what to call on it")
def _(t: Trial) -> None:
    for given, hint in (
        (np.datetime64("2024-02-29T00:00:00.000000001"), r"astype\('datetime64\[us\]'\)"),
        (pd.Timestamp(2**60 + 1), r"\.\w+\("),
        (np.datetime64("30000-01-01"), None), (np.timedelta64(10**18, "s"), None), (np.longdouble(1.5), "float"),
        (np.ma.masked_array([1, 2], [True, False]), r"\(|tolist|filled"), (pd.Series([1, 2]), r"tolist\(\)|list"),
    ):  # fmt: skip
        for mark in ("$1", "%s"):
            t.refuses(Error, f"select {mark}::text", given, match=hint)


@says(PAGE, "The server itself shortens a `name` to 63 bytes", "of a `float` 1.5 an `integer` column then has 2")
def _(t: Trial) -> None:
    t.table("v name")
    assert t.stored("x" * 70) == "x" * 63
    t.table("v integer")
    t.conn.execute("insert into said values (%s)", (1.5,))
    assert t.value("select v from said") == 2


shown(
    PAGE,
    "In an array of multiranges a list of `Range`s, or an empty one, is a multirange",
    by="tests/postgres/test_values_in_places.py::test_lists_of_ranges_in_an_array_are_multiranges",
)


@says(PAGE, "So are tuples there, unless the items are composite values")
def _(t: Trial) -> None:
    t.table("v text[]")
    for mark in ("$1", "%s"):
        assert t.value(f"select {mark}::text[]", [(1, 2)]) == [["1", "2"]]


@says(PAGE, "wrap an item that is a list of JSON in `Jsonb`")
def _(t: Trial) -> None:
    t.table("v jsonb[]")
    for items, dimensions in (([[1, 2], [3, 4]], 2), ([Jsonb([1, 2]), Jsonb([3, 4])], 1)):
        assert t.stored(items) == [[1, 2], [3, 4]]
        assert t.value("select array_ndims(v) from said") == dimensions


@says(PAGE, "A float that comes as text has the digits that `extra_float_digits` asks for")
def _(t: Trial) -> None:
    third = "select 1.0::float8 / 3"
    assert t.conn.executescript(third).fetchone()[0] == 1 / 3
    t.conn.execute("set extra_float_digits = 0")
    assert t.conn.executescript(third).fetchone()[0] == 0.333333333333333
    assert t.value(third) == 1 / 3


shown(
    PAGE,
    "A value is the same whichever way it is read",
    by=f"{ONE_VALUE}test_each_way_out_gives_the_same_value {ONE_VALUE}test_no_setting_changes_a_value",
)
shown(
    PAGE,
    "Where that is not possible, a `DataError` is raised",
    by=f"{ONE_VALUE}test_an_anonymous_record_as_text_is_refused "
    f"{ONE_VALUE}test_a_date_that_cannot_be_read_for_sure_is_refused "
    "tests/postgres/test_types_of_scripts.py::test_a_type_that_is_gone_before_its_script_ends_is_refused",
)
shown(
    PAGE,
    "are looked up in the server's catalogue when a connection uses them for the first time",
    by="tests/postgres/test_own_definitions.py::test_pipeline_after_own_definitions_sees_them "
    "tests/postgres/test_new_types.py::test_an_insert_that_returns_a_new_type_is_stored_once",
)
shown(
    PAGE,
    "A parameter that has the names of attributes, a `dict` or an object, cannot show it either",
    by="tests/postgres/test_renamed_attributes.py::test_names_of_attributes_are_those_of_now "
    "tests/postgres/test_renamed_attributes.py::test_names_are_those_of_now_where_the_types_were_forgotten",
)
shown(
    PAGE,
    "the fields of an Arrow `struct` have the names that the connection knows",
    by="tests/postgres/test_renamed_attributes.py::test_an_arrow_struct_has_the_names_that_the_connection_knows",
)
shown(
    PAGE,
    "statements that return composite values as text take one more round trip",
    by="tests/postgres/test_composites_as_text.py::test_a_composite_as_text_follows_its_type",
)
shown(
    PAGE,
    "So does the first statement that returns an anonymous record with a type that the connection has not met",
    by=f"{IN_RECORDS}test_a_type_met_first_in_a_record_has_its_value",
)
shown(
    PAGE,
    "Values that have no binary form here take one more round trip inside of a record",
    by=f"{IN_RECORDS}test_what_is_read_only_as_text_is_that_in_a_record_too",
)
shown(
    PAGE,
    "What stands only inside of its records it can ask for only at its end",
    by=f"{IN_RECORDS}test_a_copy_has_the_values_of_a_select "
    f"{IN_RECORDS}test_rows_of_a_copy_wait_for_their_types_in_order "
    f"{IN_RECORDS}test_more_rows_of_a_copy_than_are_kept_are_an_error_that_says_so",
)
shown(
    PAGE,
    "What a record contains is known only after its statement was executed",
    "`DataError` says that the statement was executed",
    "A type that the server does not send in binary form",
    by=f"{IN_RECORDS}test_a_value_that_the_server_does_not_read_is_an_error_that_says_what_is_stored",
)
shown(
    PAGE,
    "COPY looks them up before and after its rows, and fails if they were altered in between",
    by="tests/postgres/test_composites_as_text.py::test_no_composite_is_read_as_what_it_was_at_the_snapshot",
)
shown(PAGE, "For loaders and dumpers of your own see", by="tests/behaviour/test_types.py::test_own_loaders_and_dumpers")


@says(
    PAGE,
    "PostgreSQL has `infinity`, dates BC and years after 9999, and the time 24:00",
    '| `"raise"` (default) |',
    '| `"none"` | `None` |',
    '| `"text"` | the text form of the server |',
    "`unrepresentable`, a keyword of `connect`, decides",
)
def _(t: Trial) -> None:
    literals = ("'infinity'::date", "'-infinity'::timestamp", "'0044-03-15 BC'::date", "'10000-01-01'::timestamptz",
                "'24:00'::time")  # fmt: skip
    none, text = t.connect(unrepresentable="none"), t.connect(unrepresentable="text")
    for literal in literals:
        with pytest.raises(DataError):
            t.conn.execute(f"select {literal} from generate_series(1, 3)")
        assert t.value("select 1") == 1
        assert none.fetchval(f"select {literal}") is None
        assert text.fetchval(f"select {literal}") == text.fetchval(f"select {literal}::text")


@says(
    PAGE,
    "equals the SQL name of the type, and `str()` makes text of it",
    "its attribute `oid` is the number in `pg_type`",
    "It is itself a `str` only where the name means the same in every database",
)
def _(t: Trial) -> None:
    cursor = t.conn.execute("select 1::int4, 'a'::text, 1.5::numeric, '[1,2)'::int4range, now()")
    codes = [column[1] for column in cursor.description]
    assert codes == ["int4", "text", "numeric", "int4range", "timestamptz"]
    assert [str(code) for code in codes] == ["int4", "text", "numeric", "int4range", "timestamptz"]
    assert [code.oid for code in codes] == [
        t.value("select oid::int from pg_type where typname = $1", str(code)) for code in codes
    ]
    assert (codes[0], codes[1], codes[4]) == (postgres.NUMBER, postgres.STRING, postgres.DATETIME)
    assert [isinstance(code, str) for code in codes] == [True, True, False, False, False]


EXTENSIONS = "tests/postgres/test_extension_types.py::"
VECTORS = "tests/postgres/test_vectors.py::"
POSTGIS = "tests/postgres/test_postgis.py::"
shown(
    PAGE,
    "`dict` of `str`, and `None` for NULL",
    "by `%s` [`Hstore`](values.md)",
    "`Vector` and `Hstore` leave the type to the server:",
    by=f"{EXTENSIONS}test_an_hstore_is_a_dict_by_every_way "
    f"{VECTORS}test_operators_take_a_vector_whose_type_is_the_servers",
)
shown(
    PAGE,
    "sequences of numbers",
    "by `%s` [`Vector`](values.md)",
    "By `%s` a list of floats is an array of `double precision`",
    by=f"{VECTORS}test_rows_have_lists_of_numbers_by_every_way "
    f"{VECTORS}test_sparse_vectors_have_their_numbers_by_index "
    f"{VECTORS}test_operators_take_a_vector_whose_type_is_the_servers",
)
shown(
    PAGE,
    "`bytes`: EWKB, with the SRID",
    "`bytes` of WKB or EWKB",
    "`str` of either form of text",
    by=f"{POSTGIS}test_values_are_ewkb_by_every_way",
)
shown(
    PAGE,
    "are looked up by each connection when it meets one of them, in whichever schema the extension is",
    "They are binary everywhere, also within arrays and composite values",
    by=f"{EXTENSIONS}test_a_type_that_was_made_again_is_looked_up_again "
    f"{EXTENSIONS}test_paths_are_copied_in_binary_form "
    f"{VECTORS}test_arrays_of_vectors",
)
shown(
    PAGE,
    "For other objects register them: `register_vector()` makes arrays of NumPy of vectors",
    by=f"{VECTORS}test_arrays_of_numpy_are_vectors {POSTGIS}test_objects_of_shapely "
    f"{EXTENSIONS}test_a_loader_of_the_programs_own_is_registered_by_name",
)
shown(
    PAGE,
    'With `extension_types="text"`, a keyword of `connect`',
    by=f"{EXTENSIONS}test_a_connection_may_have_the_servers_text {VECTORS}test_a_connection_may_have_the_servers_text",
)
