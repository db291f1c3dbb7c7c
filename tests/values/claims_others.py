"""What the pages on the types of Informix and CUBRID, on values, and on what differs say in words, executed."""

from __future__ import annotations

import datetime as dt
import decimal
import re
import socket

import numpy as np
import pytest

from headrace.errors import DataError, Error
from headrace.types import Json, Opaque
from robustness.hostile import HostileProxy, u32

from .prose import Trial, says, shown

D = decimal.Decimal
INFORMIX, CUBRID = "informix.md", "cubrid.md"
MATRIX = "tests/values/test_matrix.py::test_every_value_is_the_same_by_every_way"
INSTANT = dt.datetime(2024, 2, 29, 13, 14, 15, 678905)

# Informix


class Replacing(HostileProxy):
    """Puts other bytes in the place of some that the server sends."""

    replaced = (b"", b"")

    def _back(self, client: socket.socket, server: socket.socket) -> None:
        while block := server.recv(65536):
            client.sendall(block.replace(*self.replaced))


@says(
    INFORMIX,
    "`decimal.Decimal`, exact, with its scale",
    "exact, without trailing zeros",
    "of up to 32 digits",
    "`float`, which the server converts",
)
def _(t: Trial) -> None:
    t.table("v decimal(10,2), m money(12,2), f decimal(16), d decimal(32,0)")
    assert [repr(t.stored(D("5.1"), column)) for column in "vmf"] == [
        "Decimal('5.10')",
        "Decimal('5.10')",
        "Decimal('5.1')",
    ]
    assert repr(t.stored(D("5.100"), "f")) == "Decimal('5.1')"
    assert t.stored(1.25) == D("1.25")
    digits = 10**32 - 1
    assert t.stored(D(digits), "d") == t.stored(digits, "d") == digits
    for value in (10**40, D(10) ** 33 + 1):
        t.refuses(Error, "insert into said (d) values (?)", value)


@says(INFORMIX, "`str`, with its blanks")
def _(t: Trial) -> None:
    t.table("v char(6), n nchar(6)")
    assert [t.stored("ab", column) for column in "vn"] == ["ab    "] * 2


@says(INFORMIX, "naive `datetime`, cut to ten microseconds", "`str`, as Informix writes it: `07-04`")
def _(t: Trial) -> None:
    t.table("v datetime year to fraction(5), d datetime month to day")
    assert t.stored(INSTANT) == INSTANT.replace(microsecond=678900)
    assert t.stored("07-04", "d") == "07-04"


shown(
    INFORMIX,
    "opened by `open_lob`",
    "made by `create_lob`",
    by="tests/informix/test_lobs.py::test_what_is_written_is_read",
)


@says(INFORMIX, "the result of `json.loads`", "`dict`, `list`, anything in `Json`", "`str` is taken as JSON text")
def _(t: Trial) -> None:
    t.table("v json")
    for value in ({"a": [1, None]}, [1, 2]):
        assert t.stored(value) == value
    for value in ({"a": 1}, [1, "é"]):
        assert t.stored(Json(value)) == value
    assert t.stored('{"a": 1}') == {"a": 1}


shown(INFORMIX, "A value is stored as informix-driver stores it", by=MATRIX)


@says(
    INFORMIX,
    "`str` is accepted for every built-in type: the server converts it, by `DBDATE`",
    "Dates inside of collections and rows are written in that form, too",
)
def _(t: Trial) -> None:
    t.table("v date, l list(date not null)")
    assert t.stored("2024-02-29") == dt.date(2024, 2, 29)
    assert t.stored([dt.date(2024, 2, 29)], "l") == "LIST{'2024-02-29'}"


@says(INFORMIX, "A value with a time zone is refused", "So are NaN and infinity")
def _(t: Trial) -> None:
    t.table("v varchar(40), d datetime year to fraction(5), f float, n decimal(16)")
    aware = INSTANT.replace(tzinfo=dt.timezone.utc)
    for column, value in (("v", aware), ("d", aware), ("d", aware.timetz()), ("f", float("nan")), ("f", float("inf")),
                          ("n", D("NaN")), ("n", D("-Infinity"))):  # fmt: skip
        t.refuses(Error, f"insert into said ({column}) values (?)", value)
    assert t.value("select count(*) from said") == 0


@says(INFORMIX, "A date whose year Python does not have follows")
def _(t: Trial) -> None:
    day, year_10000 = dt.date(2024, 2, 29), 3_000_000
    days = (day - dt.date(1899, 12, 31)).days
    sql = "select date('2024-02-29') from systables where tabid = 1"
    assert t.value(sql) == day
    for policy, value in (("none", None), ("text", "10113-09-20"), ("raise", DataError)):
        with Replacing(t.db.port) as proxy, t.db.connect(proxy.port, unrepresentable=policy) as conn:
            # The test server has no such date.
            proxy.replaced = (u32(days), u32(year_10000))
            if value is DataError:
                with pytest.raises(DataError):
                    conn.fetchval(sql)
            else:
                assert conn.fetchval(sql) == value


def sends_numpy(t: Trial) -> None:
    """Values of NumPy are what they are in Python's types."""
    for column, given, value in (
        ("n", np.int64(5), 5), ("f", np.float64(1.5), 1.5), ("d", np.datetime64("2024-02-29"), dt.date(2024, 2, 29)),
        ("d", np.datetime64("NaT"), None), ("s", np.str_("a"), "a"),
    ):  # fmt: skip
        t.table("n int, f float, d date, s varchar(9)")
        assert t.stored(given, column) == value


says(INFORMIX, "Values of NumPy are sent as what they are in Python's types")(sends_numpy)
says(CUBRID, "Values of NumPy are sent as what they are in Python's types")(sends_numpy)

# CUBRID


shown(
    CUBRID,
    "`int`, as INT or BIGINT",
    "larger ones as NUMERIC",
    "`float`, as DOUBLE",
    by="crates/cubrid/src/types/encode.rs::values_become_a_type_and_bytes",
)


@says(
    CUBRID,
    "`Decimal`, at most 38 digits",
    "NaN and infinities are refused",
    "around empty ones, which the server reads as NULL, `CAST(? AS BIT VARYING)` is written",
    "In a batch and in a collection they are refused",
)
def _(t: Trial) -> None:
    assert t.value("select ?", D("9" * 38)) == D("9" * 38)
    for value in (D("9" * 39), float("nan"), float("inf"), D("NaN"), [b""]):
        t.refuses(DataError, "select ?", value)
    assert t.value("select ?", b"") == b""
    t.table("v bit varying(80)")
    assert t.stored(b"") == b""
    with pytest.raises(DataError):
        t.conn.executemany("insert into said values (?)", [(b"x",), (b"",)])


@says(CUBRID, 'Opaque("varnchar", text.encode()')
def _(t: Trial) -> None:
    t.table("v nchar varying(20)")
    assert t.stored(Opaque("varnchar", "é한".encode() + b"\0")) == "é한"


@says(CUBRID, "fractions of a second are dropped", "naive `datetime`, to milliseconds", "aware `datetime` in UTC")
def _(t: Trial) -> None:
    t.table("c time, v datetime, z datetimetz")
    assert t.stored(dt.time(13, 14, 15, 999_000), "c") == dt.time(13, 14, 15)
    assert t.stored(INSTANT) == INSTANT.replace(microsecond=678_000)
    aware = INSTANT.replace(microsecond=0, tzinfo=dt.timezone(dt.timedelta(hours=9)))
    got = t.stored(aware, "z")
    assert (got, got.tzinfo) == (aware, dt.timezone.utc)


@says(CUBRID, "what `json.loads` makes", "`headrace.types.Json`, or text")
def _(t: Trial) -> None:
    t.table("v json")
    for value in ({"a": [1, None]}, [1, "é"]):
        assert t.stored(Json(value)) == value
    assert t.stored('{"a": 1}') == {"a": 1}


shown(
    CUBRID,
    "`int`, for `conn.returned_rows`",
    by="tests/cubrid/test_procedures.py::test_a_cursor_that_is_returned_is_read",
)
shown(CUBRID, "A value is stored as pycubrid stores it", by=MATRIX)
shown(
    CUBRID,
    "The server types a parameter when it prepares the statement",
    "headrace writes the type of the value around such a parameter",
    by="tests/cubrid/test_meaning_of_values.py::test_value_means_what_its_literal_means",
)


@says(CUBRID, "`IF(a > b, ?, 0)` makes 2 of 1.5")
def _(t: Trial) -> None:
    assert t.value("select if(2 > 1, ?, 0)", 1.5) == 1.5


@says(
    CUBRID,
    "In a comparison the server gives a parameter the type of what it is compared with",
    "Write the type where that is not what you mean",
)
def _(t: Trial) -> None:
    t.table("d date, v varchar(9)")
    t.conn.execute("insert into said values (date'2024-02-29', '5')")
    moment = dt.datetime(2024, 2, 29, 13, 14, 15)
    for condition, value, found in (
        ("d = ?", moment, 1), ("d = cast(? as datetime)", moment, 0), ("v < ?", 10, 0),
        ("v < cast(? as integer)", 10, 1),
    ):  # fmt: skip
        assert t.value(f"select count(*) from said where {condition}", value) == found, condition


@says(CUBRID, "A literal beside a column is treated alike")
def _(t: Trial) -> None:
    t.table("d date")
    t.conn.execute("insert into said values (date'2024-02-29')")
    literal = "datetime'2024-02-29 13:14:15'"
    for condition, found in (
        (f"d = {literal}", 1),
        (f"d + 0 = {literal}", 0),
        (f"d between {literal} and {literal}", 1),
    ):
        assert t.value(f"select count(*) from said where {condition}") == found, condition


@says(
    CUBRID, "and in NOT BETWEEN does a literal keep its type", "In IN with several values and in IN with rows both keep"
)
def _(t: Trial) -> None:
    t.table("d date, v varchar(9)")
    t.conn.execute("insert into said values (date'2024-02-29', '5')")
    literal = "datetime'2024-02-29 13:14:15'"
    moment = dt.datetime(2024, 2, 29, 13, 14, 15)
    for condition, values, found in (
        (f"d not between {literal} and {literal}", (), 1), ("d not between ? and ?", (moment, moment), 0),
        (f"d in ({literal})", (), 1), (f"d in ({literal}, {literal})", (), 0), ("d in (?, ?)", (moment, moment), 0),
        ("(d, v) in ((?, '5'), (?, '6'))", (moment, moment), 0), ("v in (?, ?)", (5, 6), 1),
    ):  # fmt: skip
        assert t.value(f"select count(*) from said where {condition}", *values) == found, condition
    t.conn.execute("update said set v = 'x'")
    t.refuses(DataError, "select count(*) from said where v in (?, ?)", 5, 6)


@says(CUBRID, "so it does for the arguments of NULLIF, GREATEST, LEAST, MOD, FIELD, DATE_ADD, DATE_SUB, ASCII")
def _(t: Trial) -> None:
    for call, value in (("nullif(?, 0)", 1.5), ("greatest(?, 1)", 1.5), ("least(?, 2)", 1.5), ("mod(?, 2)", 1.5)):
        assert t.value(f"select {call}", value) == value
    for call, literal, value in (
        ("ascii({})", "'a'", "a"), ("hex({})", "255", 255), ("octet_length({})", "'é'", "é"),
        ("bit_length({})", "'ab'", "ab"), ("date_add({}, interval 1 day)", "date'2024-02-28'", dt.date(2024, 2, 28)),
        ("date_sub({}, interval 1 day)", "date'2024-03-01'", dt.date(2024, 3, 1)),
    ):  # fmt: skip
        assert t.value(f"select {call.format('?')}", value) == t.value(f"select {call.format(literal)}"), call


shown(
    CUBRID,
    "its type is one that takes the values of all rows",
    by="tests/cubrid/test_meaning_of_values.py::test_batch_has_the_type_of_all_its_rows",
)


shown(
    CUBRID,
    "So it does for the operands of `+`, `-`, `*` and `/`.",
    "If the other operand is NULL in the first row",
    by="tests/cubrid/test_casts.py::test_arithmetic_after_a_null_means_what_literals_mean",
)
shown(
    CUBRID,
    "In a batch with values that have no type in common which keeps all digits",
    by="crates/cubrid/src/types/cast.rs::operands_lose_no_digits",
)


@says(CUBRID, "Bare parameters of different types in one column of a UNION are an error")
def _(t: Trial) -> None:
    t.refuses(Error, "select ? union select ?", 1.5, dt.date(2024, 2, 29))
    assert sorted(t.conn.fetch("select cast(? as double) union select 1", 1.5)) == [(1.0,), (1.5,)]


shown(
    CUBRID,
    "So it does for numbers, times and bytes in COALESCE, NVL, NVL2 and IFNULL",
    by="tests/cubrid/test_casts.py::test_what_stands_for_null_means_what_literals_mean",
)
shown(
    CUBRID,
    "And for those in TIMESTAMP, ADDTIME and EXTRACT",
    by="tests/cubrid/test_casts.py::test_times_after_noon_stay_there",
)


@says(
    CUBRID,
    "A Decimal in COALESCE makes a statement of its own for each number of digits",
    "A column without an alias is named by the text that was sent",
)
def _(t: Trial) -> None:
    def name(value: object, alias: str = "") -> str:
        cursor = t.conn.cursor()
        cursor.execute(f"select coalesce(null, ?){alias} from db_root", (value,))
        return str(cursor.description[0][0])

    names = [name(D(digits)) for digits in ("1.5", "3.5", "2.25", "12.5")]
    types = [re.findall(r"numeric\(.*?\)", each) for each in names]
    assert types == [["numeric(2,1)"], ["numeric(2,1)"], ["numeric(3,2)"], ["numeric(3,1)"]]
    assert name(D("1.5"), " as b") == "b"


shown(
    CUBRID,
    "A text in IN with several values is sent as `(CASE WHEN 1=1 THEN ? ELSE 'x' END)`",
    by="crates/cubrid/src/types/cast.rs::what_is_written_is_the_same_for_texts_of_all_lengths",
)
shown(
    CUBRID,
    "and `code IN (?, ?)` finds no shorter text",
    by="tests/cubrid/test_casts.py::test_shorter_texts_in_in_equal_those_of_a_char_column",
)
shown(
    CUBRID,
    "So are the texts in NULLIF, DECODE and FIELD.",
    by="tests/cubrid/test_casts.py::test_results_of_decode_and_nullif_have_their_own_lengths",
)
shown(
    CUBRID,
    "In a pattern of LIKE, None and a text that is empty or has nothing but `%`",
    by="tests/cubrid/test_casts.py::test_patterns_find_empty_texts_in_an_index",
)
shown(
    CUBRID,
    "Batches of a generator or iterator, and ADBC's streams of several batches, are sent as the server types them",
    by="crates/cubrid/tests/machine/documents.rs::a_batch_whose_rows_are_read_once_is_sent_as_it_is",
)
shown(
    CUBRID,
    "A parameter of LIMIT, and one that ORDERBY_NUM() or GROUPBY_NUM() is compared with, is sent as `(?+0)`.",
    by="crates/cubrid/src/mirrored.rs::parameters_of_limit_are_set_apart",
)
shown(
    CUBRID,
    "keeps one plan for `LIMIT ?`, for the same statement with a number, and for `FOR ORDERBY_NUM() <= ?`",
    "With numbers instead of parameters LIMIT and ORDERBY_NUM() still share it",
    by="tests/cubrid/test_statements.py::test_limit_by_a_parameter_beside_one_by_a_number",
)


@says(CUBRID, "A date that no calendar has (`0000-00-00`) is an error unless `unrepresentable` says otherwise")
def _(t: Trial) -> None:
    sql = "select date'0000-00-00'"
    t.refuses(DataError, sql)
    assert t.connect(unrepresentable="none").fetchval(sql) is None
    assert t.connect(unrepresentable="text").fetchval(sql) == "0000-00-00"


# Values, and what differs

shown("values.md", "What becomes of each kind of value in each type of column", by=MATRIX)
shown(
    "value-differences.md",
    "A value is stored as the same value by every way that takes it",
    "What differs is listed here",
    "a line without such a case is removed",
    by=MATRIX,
)
shown(
    "value-differences.md",
    "are named as in the tests",
    by="tests/values/test_matrix.py::test_the_page_names_what_there_is",
)
shown(
    "value-differences.md",
    "PostgreSQL's values are sent in one of three ways",
    "| by value |",
    "| by column |",
    "| by text |",
    by=MATRIX,
)
