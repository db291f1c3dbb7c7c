"""What docs/reference/mysql-types.md says in words, executed."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import math
import re
from typing import Any

import numpy as np
import pytest

from headrace.errors import DataError, Error, ProgrammingError
from headrace.types import Json

from .prose import Trial, says, sentences, shown

PAGE = "mysql-types.md"
D = decimal.Decimal
INSTANT = dt.datetime(2024, 2, 29, 13, 14, 15, 678901)
HOURS = dt.timedelta(hours=30)
MY = ("mysql",)
MARIA = ("mariadb",)
MEANING = "tests/mysql/test_meaning_of_values.py::"
ONE_MEANING = "tests/mysql/test_one_meaning.py::"
ONE_VALUE = "tests/mysql/test_one_value.py::"
OF_PROCEDURES = "tests/mysql/test_procedures.py::"
LISTS = "tests/mysql/test_lists.py::"


class Color(enum.Enum):
    RED = "red"


def executed(t: Trial, sql: str, *args: Any) -> int:
    """How many prepared statements the server has executed for it: 1 or 0."""

    def count() -> int:
        return int(
            dict(t.conn.executescript("show session status like 'Com_stmt_execute'").fetchall())["Com_stmt_execute"]
        )

    before = count()
    t.conn.execute(sql, args)
    return count() - before


shown(PAGE, "Values are exchanged in binary form", by=f"{ONE_VALUE}test_a_column_gives_one_value")
shown(
    PAGE,
    "does not depend on how it is read or sent",
    by="tests/values/test_matrix.py::test_every_value_is_the_same_by_every_way",
)


@says(PAGE, "`decimal.Decimal`, exact, with its scale")
def _(t: Trial) -> None:
    t.table("v decimal(65,30)")
    digits = D("12345678901234567890123456789012345." + "9" * 30)
    assert repr(t.stored(digits)) == repr(digits)
    assert repr(t.stored(1)) == repr(D("1." + "0" * 30))


@says(PAGE, "a member of `enum.Enum`, by its value")
def _(t: Trial) -> None:
    t.table("v varchar(9), e enum('a', 'red')")
    assert t.stored(Color.RED) == t.stored(Color.RED, "e") == "red"


@says(PAGE, "TIMESTAMP is in the session's `time_zone`", "`datetime.timedelta`, negative and over 24 hours too")
def _(t: Trial) -> None:
    t.table("v timestamp(6) null, d time(6)")
    t.conn.execute("set time_zone = '+00:00'")
    t.conn.execute("insert into said (v) values (?)", (INSTANT,))
    t.conn.execute("set time_zone = '+05:30'")
    assert t.value("select v from said") == INSTANT + dt.timedelta(hours=5, minutes=30)
    for span in (HOURS, -HOURS, dt.timedelta(microseconds=-1)):
        assert t.stored(span, "d") == span


@says(
    PAGE,
    "the result of `json.loads`",
    "text with `json_text=True`",
    "anything in `headrace.types.Json`",
    "`str` as JSON text",
    "A list for a JSON column is `headrace.types.Json([...])`",
)
def _(t: Trial) -> None:
    t.table("v json")
    for value in ([1, 1.5, "é", None, True], "text", {"a": 1}, 5):
        assert t.stored(Json(value)) == value
    assert t.stored('{"a": 1}') == {"a": 1}
    assert t.connect(json_text=True).fetchval("select v from said").replace(" ", "") == '{"a":1}'


@says(PAGE, "`bytes`: four of the SRID, then WKB")
def _(t: Trial) -> None:
    t.table("v geometry")
    t.conn.execute("insert into said values (st_geomfromtext('POINT(1 2)'))")
    got, wkb = t.value("select v from said"), t.value("select st_aswkb(v) from said")
    assert got == bytes(4) + wkb
    assert t.stored(got) == got


shown(
    PAGE,
    "`list` of numbers",
    "`bytes` where MariaDB does not describe it as one",
    "Elsewhere it is a VECTOR, or refused",
    "Text and numbers for a VECTOR are refused",
    by=f"{LISTS}test_list_elsewhere_than_after_in_is_refused "
    f"{LISTS}test_list_of_floats_is_refused_where_there_is_no_vector "
    f"{LISTS}test_prepared_statement_takes_a_list_only_where_a_vector_is_expected "
    f"{LISTS}test_bytes_of_text_and_numbers_are_no_vector",
)


@says(PAGE, "Text is sent and received as `utf8mb4`, for every character set of a table; the server converts")
def _(t: Trial) -> None:
    assert t.conn.fetch("select @@character_set_client, @@character_set_connection, @@character_set_results") == [
        ("utf8mb4",) * 3
    ]
    for name in ("latin1", "utf8mb4", "ucs2", "cp1250"):
        t.table(f"v varchar(9) character set {name}")
        assert t.stored("é") == "é"


@says(PAGE, "`FLOAT` has the six digits that the server prints", "`v + 0e0` has all digits in both")
def _(t: Trial) -> None:
    t.table("f float, v double(10,2)")
    t.conn.execute("insert into said values (1.2345678, 1.25)")
    whole, printed = float(np.float32("1.2345678")), float(np.float32("1.23457"))
    text = t.connect(prepared=False)
    assert (t.value("select f from said"), t.value("select pi()")) == (whole, math.pi)
    assert (text.fetchval("select f from said"), text.fetchval("select pi()")) == (printed, 3.141593)
    assert text.fetchval("select f + 0e0 from said") == t.value("select f + 0e0 from said") == whole
    assert next(iter(t.conn.executescript("select f from said"))) == (printed,)


shown(
    PAGE,
    "A cursor on the server (`on_server=True`) keeps its rows in a table of its own",
    "MySQL 8.0 converts to `BIGINT`",
    "A computed `BIT` is sometimes sent in digits",
    "a `DataError` is raised: select `v + 0`",
    "MariaDB reports it, except for",
    by=f"{ONE_VALUE}test_computed_bits_are_the_bits {ONE_VALUE}test_bits_that_the_server_copies_are_right_or_refused "
    f"{ONE_VALUE}test_bits_that_may_be_digits_are_refused_where_the_server_does_not_say",
)


@says(PAGE, "In text, dates and times are literals of their types", "as they are in binary form")
def _(t: Trial) -> None:
    t.table("n bigint, v datetime(6)")
    t.conn.execute("insert into said (n) values (20240229)")
    for conn in (t.conn, t.connect(prepared=False)):
        assert conn.fetchval("select count(*) from said where n = %s", dt.date(2024, 2, 29)) == 1
        conn.execute("update said set v = %s", (dt.time(1, 2, 3),))
        today, got = conn.fetch("select curdate(), v from said")[0]
        assert got == dt.datetime.combine(today, dt.time(1, 2, 3))


shown(
    PAGE,
    "`load_rows` sends text, which the server reads by the column's type alone",
    "What it would read as something else is refused",
    by=f"{ONE_MEANING}test_a_load_refuses_what_its_text_would_change "
    f"{ONE_MEANING}test_a_load_refuses_a_time_for_a_column_of_dates "
    f"{ONE_MEANING}test_a_load_takes_zero_for_the_date_that_is_none "
    "tests/mysql/test_load.py::test_numbers_are_whole_and_no_names_of_members "
    "tests/mysql/test_load.py::test_times_are_those_of_an_insert_or_refused",
)


@says(
    PAGE,
    "Bytes for a column of text must be UTF-8 there, `-0.0` in a column of text is `-0`",
    "the fraction of a time is left out for a column of whole numbers",
)
def _(t: Trial) -> None:
    loading = t.connect(local_infile=True)
    t.table("v varchar(9), n bigint")
    loading.load_rows(
        "said", [("é".encode(), None), (-0.0, None), (None, dt.time(3, 4, 5, 700_000))], columns=["v", "n"]
    )
    assert t.conn.fetch("select v, n from said") == [("é", None), ("-0", None), (None, 30405)]
    with pytest.raises(Error):
        loading.load_rows("said", [(b"\xff",)], columns=["v"])
    assert t.stored(dt.time(3, 4, 5, 700_000), "n") == (30405 if t.db.name == "mariadb" else 30406)


shown(
    PAGE,
    "`callproc` with `prepared=False`",
    "an OUT or INOUT parameter of dates or times is returned as `str`",
    "Numbers, text and bytes are the same in both",
    by=f"{OF_PROCEDURES}test_dates_and_bits_in_out_parameters {OF_PROCEDURES}test_texts_and_bytes_in_out_parameters "
    f"{OF_PROCEDURES}test_out_parameters",
)
shown(
    PAGE,
    "A BIT that is an OUT parameter is sent in digits",
    "If its bytes can be both digits and bits",
    by=f"{OF_PROCEDURES}test_bits_in_out_parameters_and_in_a_table_of_the_same_name "
    f"{OF_PROCEDURES}test_a_bit_that_may_be_digits_or_bytes_is_refused",
)


@says(
    PAGE,
    "A `datetime` that MySQL stores by a prepared INSERT, UPDATE or CALL is sent as text",
    "The same applies to a `timedelta` of more than 838 hours",
    on=MY,
)
def _(t: Trial) -> None:
    t.table("v varchar(40), n bigint")
    assert t.stored(INSTANT) == "2024-02-29 13:14:15.678901"
    assert t.stored(INSTANT, "n") == 20240229131416
    t.conn.execute("drop procedure if exists said_number")
    t.conn.execute("create procedure said_number(n bigint) select n")
    t.refuses(Error, "call said_number(?)", INSTANT)
    t.conn.execute("drop procedure said_number")
    assert t.stored(dt.timedelta(hours=838, minutes=30, microseconds=500_000)) == "838:30:00.500000"


@says(PAGE, "else six, as in a column of text", on=MY)
def _(t: Trial) -> None:
    t.table("v varchar(40)")
    assert t.stored(dt.time(3, 4, 5, 600_000)) == "03:04:05.600000"
    t.conn = t.connect(prepared=False)
    assert t.stored(dt.time(3, 4, 5, 600_000)) == "03:04:05.600000"


@says(PAGE, "more than 81 digits before the point is refused", "72 digits after the point, fewer if there are more")
def _(t: Trial) -> None:
    t.table("v varchar(200)")
    for number in (10**81, D(10**81), D("-1E+81")):
        t.refuses(DataError, "insert into said values (%s)", number)
    for whole, digits in ((1, 72), (9, 72), (10, 63), (73, 0), (81, 0)):
        long = "1" * whole + "." + "1" * 90
        assert t.stored(D(long)) == long[: whole + 1 + digits].rstrip(".")
    loading = t.connect(local_infile=True)
    loading.execute("delete from said")
    loading.load_rows("said", [(D(long),)], columns=["v"])
    assert t.value("select v from said") == t.stored(long) == long


@says(
    PAGE, "An aware `datetime` is refused", "`nan`, `inf` and other values for which the server has no type are refused"
)
def _(t: Trial) -> None:
    t.table("v datetime(6), f double")
    for conn in (t.conn, t.connect(prepared=False)):
        with pytest.raises(ProgrammingError, match="zone"):
            conn.execute("insert into said (v) values (?)", (INSTANT.replace(tzinfo=dt.timezone.utc),))
        for value in (math.nan, math.inf, -math.inf, D("NaN"), D("Infinity"), 1j, object()):
            with pytest.raises((DataError, ProgrammingError)):
                conn.execute("insert into said (f) values (?)", (value,))
    assert t.value("select count(*) from said") == 0


shown(
    PAGE,
    "(Only SQLAlchemy's dialects [remove it themselves]",
    by="tests/dialects/test_instants.py::test_mysql_has_the_time_of_the_clock",
)


@says(PAGE, "an array is a list, one of `uint8` bytes, a `datetime64` a `date` or a `datetime`, `NaT` is NULL")
def _(t: Trial) -> None:
    t.table("v datetime(6), b varbinary(9)")
    assert t.value("select count(*) from said where b in %s", np.array([1, 2])) == 0
    assert t.stored(np.array([97, 98], "uint8"), "b") == b"ab"
    assert t.stored(np.datetime64(INSTANT)) == INSTANT
    assert t.stored(np.datetime64("2024-02-29")) == dt.datetime(2024, 2, 29)
    assert t.stored(np.datetime64("NaT")) is None
    t.refuses(Error, "insert into said (v) values (?)", np.datetime64("2024-02-29T00:00:00.000000001"))


@says(PAGE, "A list after `IN` is sent as `(1, 2, 3)`; write `IN %s`, without parentheses")
def _(t: Trial) -> None:
    for conn in (t.conn, t.connect(prepared=False)):
        assert conn.fetchval("select 2 in %s", [1, 2, 3]) == 1
        assert conn.fetchval("select 'd' in %s", ["a", "b"]) == 0


shown(
    PAGE,
    "A value means what it would mean as a literal",
    "Values are bound to the parameters of a prepared statement where",
    "The text of the statement decides",
    "nothing prepares a statement whose values would mean something else",
    by=f"{MEANING}test_expressions {MEANING}test_conditions {MEANING}test_what_is_stored "
    f"{MEANING}test_usual_statements_stay_prepared {MEANING}test_what_goes_as_text_is_not_prepared_at_all",
)
shown(
    PAGE,
    "A query whose groups MySQL refuses with parameters goes as text",
    "Two parameters with one value are two expressions to it",
    by=f"{MEANING}test_reports {MEANING}test_reports_of_sqlalchemy",
)


@says(PAGE, "MySQL gives a parameter a type by what is around it", on=MY)
def _(t: Trial) -> None:
    """The server's own PREPARE does, and headrace's statement does not."""

    def bound(sql: str, literal: str) -> Any:
        for each in (f"set @v = {literal}", f"prepare said from '{sql}'"):
            t.conn.executescript(each)
        return t.conn.executescript("execute said using @v").fetchone()[0]

    assert bound("select coalesce(?, 0)", "'abc'") in ("abc", 0, "0")
    assert t.value("select coalesce(?, 0)", "abc") == "abc"
    assert t.value("select cast(? as char)", HOURS) == "30:00:00"


FORMS = {
    "INSERT ... VALUES (?, ?)": "insert into said (a, b) values (?, ?)",
    "SET a = ?": "update said set a = ? where b = 0",
    "ON DUPLICATE KEY UPDATE a = ?": "insert into said (a) values (9) on duplicate key update a = ?",
    "LIMIT ?, ?": "select a from said limit ?, ?",
    "LIMIT ? OFFSET ?": "select a from said limit ? offset ?",
    "CALL p(?, ?)": "call said_p(?, ?)",
    "SELECT ?": "select ?",
    "HAVING COUNT(*) > ?": "select a from said group by a having count(*) > ?",
}
"""Statements for the page's examples that are no conditions."""


def statement(example: str) -> str:
    """The statement that a page's example stands for."""
    return FORMS.get(example) or f"select 1 from said t where {example.replace('a LIKE', 's LIKE')}"


@says(
    PAGE,
    "So a statement is prepared if each of its parameters is",
    "| stored in a column |",
    "| compared with a column or a number, in `WHERE` or `ON` |",
    "| a number of rows |",
    "| an argument of a procedure |",
    "and is sent as text if one is anything else",
)
def _(t: Trial) -> None:
    t.table("a int primary key, b int, s varchar(9)")
    t.conn.execute("drop procedure if exists said_p")
    t.conn.execute("create procedure said_p(x int, y int) begin end")
    said = list(sentences(PAGE))
    rows = [row for row in said if re.match(r"\| (stored|compared|a number of rows|an argument)", row)]
    prepared = [each for row in rows for each in re.findall(r"`([^`]*\?[^`]*)`", row)]
    texts = [each for line in said if "if one is anything else" in line for each in re.findall(r"`([^`]+)`", line)]
    assert (len(rows), len(texts)) == (4, 5)
    assert len(prepared) > 9
    for number, example in enumerate(prepared):
        sql = statement(example)
        args = ["x"] if "LIKE" in sql else [1000 + 2 * number] * sql.count("?")
        assert executed(t, sql, *args) == 1, example
    if t.db.name == "mysql":
        for example in texts:
            sql = statement(example)
            assert executed(t, sql, *[1] * sql.count("?")) == 0, example
    t.conn.execute("drop procedure said_p")


@says(PAGE, "A value that is not of its column's kind is written, too, in that execution", on=MY)
def _(t: Trial) -> None:
    t.table("day date, made datetime, s varchar(9), y year, b bit(8), j json")
    for condition, value, times in (
        ("day = ?", dt.date(2024, 2, 29), 1), ("day = ?", "2024-02-29", 0), ("s = ?", "x", 1), ("s = ?", dt.time(1), 0),
        ("y = ?", 2024, 0), ("b = ?", 1, 0), ("j = ?", "{}", 0),
    ):  # fmt: skip
        sql = f"select 1 from said where {condition}"
        t.conn.execute(sql, (value,))
        assert executed(t, sql, value) == times, (condition, value)


@says(
    PAGE,
    "text that is stored in a column of numbers, bits, dates or times, a number in one of dates or times, "
    "and a time in one of numbers or bits",
    on=MY,
)
def _(t: Trial) -> None:
    for column, value, times in (
        ("bit(16)", "12", 0), ("bit(16)", b"12", 0), ("bit(16)", 12, 1), ("int", "12", 0), ("int", 12, 1),
        ("decimal(9,2)", "1.5", 0), ("double", decimal.Decimal(1), 1), ("time", 10203, 0), ("date", 20240229, 0),
        ("date", dt.date(2024, 2, 29), 1), ("time", dt.timedelta(1), 1), ("date", "2024-02-29", 0), ("text", "a", 1),
        ("bigint", INSTANT, 0), ("double", HOURS, 0), ("varchar(40)", INSTANT, 1),
    ):  # fmt: skip
        t.table(f"v {column}")
        sql = f"insert into said values (?) -- {column}"
        t.conn.execute(sql, (value,))
        assert executed(t, sql, value) == times, (column, value)


@says(
    PAGE,
    "So is text with a character that its column's character set lacks, which MySQL refuses to bind (error 3988)",
    "with text beyond ASCII it always is from then on",
    "In a pipeline the first such text is that error, unless it is in the last statement",
    "So it is with `on_server=True`, whose queries are refused with the literal, too",
    on=MY,
)
def _(t: Trial) -> None:
    t.conn = t.connect(sql_mode="")
    t.table("s varchar(9) character set latin1")
    sql = "insert into said values (?)"
    assert [executed(t, sql, text) for text in ("é", "日", "é", "e", "日")] == [1, 0, 0, 1, 0]
    assert t.conn.fetch("select s from said") == [("é",), ("?",), ("é",), ("e",), ("?",)]
    sql = "select s, 'piped' from said where s = ?"
    with pytest.raises(DataError) as caught, t.conn.pipeline():
        for text in ("é", "日", "é"):
            t.conn.execute(sql, (text,))
    assert caught.value.sqlcode == 3988
    with t.conn.pipeline():
        for text in ("è", "日"):
            t.conn.execute("insert into said (s) values (?)", (text,))
    assert t.conn.fetch("select s from said")[-2:] == [("è",), ("?",)]
    for way in (
        lambda: list(t.conn.stream(sql, ("日",), on_server=True)),
        lambda: t.conn.fetch(sql.replace("?", "'日'")),
    ):
        with pytest.raises(DataError):
            way()


@says(
    PAGE,
    "MariaDB gives a parameter the type of its value, but in an expression it cuts `abs(?)`",
    on=MARIA,
)
def _(t: Trial) -> None:
    t.table("a int primary key, b int")
    t.conn.execute("drop procedure if exists said_p")
    t.conn.execute("create procedure said_p(x int) begin end")
    for sql, times in (
        ("select ?", 0), ("select a + ? from said", 0), ("insert into said (a) values (? + 1)", 0),
        ("replace into said (a) values (? + 2)", 0), ("update said set b = ? + 1", 0),
        ("delete from said where a = ? + 1", 0),
        ("with q as (select ? as n) select n from q", 0), ("with q as (select 1 as n) select n from q where n = ?", 1),
        ("call said_p(?)", 1), ("do ?", 0), ("set @a = ?", 0),
        ("set statement max_statement_time = ? for select 1", 0),
        ("select ? union select 2", 0), ("select time(?)", 0), ("select timestamp(?)", 0),
        ("select cast(? as char(3))", 0), ("select convert(?, binary(9))", 0),
        ("select distinct coalesce(b, ?) from said", 0), ("select coalesce(b, ?) as c from said group by c", 0),
        ("insert into said (a) select a + ? + 90 from said", 0), ("select sum(a + ?) over () from said", 0),
        ("select distinct a from said where b = ?", 1), ("select a from said where b = ? union select 2", 1),
        ("create or replace trigger said_t before insert on said for each row set new.b = ?", 0),
    ):  # fmt: skip
        assert executed(t, sql, 5) == times, sql
    t.conn.execute("insert into said (a) values (77)")
    assert t.value("select b from said where a = 77") == 5
    t.conn.execute("drop procedure said_p")


shown(
    PAGE,
    "A statement with a query after `IN`, `EXISTS`, `ANY`, `SOME` or `ALL`",
    by="tests/mysql/test_executed_again.py::test_queries",
)


@says(
    PAGE, "Columns of `FLOAT` and `DOUBLE(10,2)` have the digits of the text protocol in what is sent as text", on=MARIA
)
def _(t: Trial) -> None:
    t.table("f float")
    t.conn.execute("insert into said values (1.2345678)")
    whole, printed = float(np.float32("1.2345678")), float(np.float32("1.23457"))
    for _ in range(2):
        assert t.value("select f from said where exists (select 1)") == printed
        assert t.value("select f + 0e0 from said where exists (select 1)") == t.value("select f from said") == whole


shown(PAGE, "`callproc` always binds", by=f"{OF_PROCEDURES}test_dates_and_bits_in_out_parameters")
shown(
    PAGE,
    "A stream with `on_server=True` has its cursor in any case",
    by=f"{MEANING}test_cursors_on_the_server_read_block_by_block",
)
shown(
    PAGE,
    "Of the different statements of a session of SQLAlchemy's ORM",
    by="tests/dialects/test_prepared_share.py::test_what_share_is_prepared_the_documentation_says",
)


@says(
    PAGE,
    "Dates that do not exist (`0000-00-00`, `2024-02-00`, `2024-02-31` under `ALLOW_INVALID_DATES`)",
    '| `"raise"` (default) |',
    '| `"none"` | `None` |',
    '| `"text"` | the text form of the server |',
)
def _(t: Trial) -> None:
    t.table("v date")
    none, text = t.connect(unrepresentable="none"), t.connect(unrepresentable="text")
    for day in ("0000-00-00", "2024-02-00", "2024-02-31"):
        t.conn.execute("set sql_mode = 'ALLOW_INVALID_DATES'")
        t.conn.execute("delete from said")
        t.conn.execute(f"insert into said values ('{day}')")
        with pytest.raises(DataError):
            t.conn.execute("select v from said")
        assert t.value("select 1") == 1
        assert none.fetch("select v from said") == [(None,)]
        assert text.fetch("select v from said") == [(day,)]


@says(
    PAGE,
    "is the SQL name of the type as text (`decimal`, `varbinary`, `uuid`)",
    "its attribute `oid` is the protocol's number",
)
def _(t: Trial) -> None:
    module = t.db.module
    t.table("a decimal(10,2), b varbinary(9), c datetime, d varchar(9), e int")
    codes = [column[1] for column in t.conn.execute("select * from said").description]
    assert [str(code) for code in codes] == ["decimal", "varbinary", "datetime", "varchar", "int"]
    groups = (module.NUMBER, module.BINARY, module.DATETIME, module.STRING, module.NUMBER)
    assert all(code == group for code, group in zip(codes, groups, strict=True))
    # MYSQL_TYPE_NEWDECIMAL, MYSQL_TYPE_LONG: field types of the protocol.
    assert (codes[0].oid, codes[4].oid) == (246, 3)
    if t.db.name == "mariadb":
        assert str(t.conn.execute("select cast(uuid() as uuid)").description[0][1]) == "uuid"
