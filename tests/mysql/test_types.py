"""Every column type both ways with NULL: in the binary protocol, as text, by bulk execution and by LOAD DATA, compared
with what PyMySQL and mysqlclient make of the same column."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import decimal
import ipaddress
import json
import struct
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import MySQLdb
import pymysql
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from MySQLdb.converters import conversions as mysqldb_conversions

import headrace.mysql
from headrace import errors
from headrace.types import BitString, Json
from long import times
from served import Served, fresh

Conn = headrace.mysql.Connection[Any]
D = decimal.Decimal

EXAMPLES = times(12)
"""Batches of values per type."""


@dataclasses.dataclass(frozen=True)
class Column:
    """A type: its values, and what one becomes where that is not the value itself; how those of other drivers
    differ."""

    sql: str
    values: st.SearchStrategy[Any]
    becomes: Callable[[Any], Any] = lambda value: value
    others: Callable[[Any], Any] = lambda value: value
    is_json: bool = False
    printed: Callable[[Any], Any] = lambda value: value
    """What the server itself makes of it when it prints it."""


def integers(bits: int, unsigned: bool) -> st.SearchStrategy[int]:
    return st.integers(0, 2**bits - 1) if unsigned else st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def decimals(digits: int, places: int) -> st.SearchStrategy[D]:
    return st.integers(-(10**digits) + 1, 10**digits - 1).map(
        lambda n: decimal.Context(prec=100).create_decimal(n).scaleb(-places, decimal.Context(prec=100))
    )


def single(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])


def text(most: int) -> st.SearchStrategy[str]:
    return st.text(st.characters(exclude_categories=["Cs"]), max_size=most)


SPANS = st.integers(-(838 * 3600 + 59 * 60 + 59) * 10**6, (838 * 3600 + 59 * 60 + 59) * 10**6)
DATES = st.dates(dt.date(1, 1, 1))
MOMENTS = st.datetimes(dt.datetime(1, 1, 1))
POINT = bytes.fromhex("000000000101000000")
FLOATS = st.floats(allow_nan=False, allow_infinity=False)

TYPES: dict[str, Column] = {
    **{
        f"{name}{sign}": Column(f"{name}{sign}", integers(bits, bool(sign)))
        for name, bits in (("tinyint", 8), ("smallint", 16), ("mediumint", 24), ("int", 32), ("bigint", 64))
        for sign in ("", " unsigned")
    },
    "decimal(65,30)": Column("decimal(65,30)", decimals(65, 30)),
    "decimal(10,0)": Column("decimal(10,0)", decimals(10, 0)),
    "decimal(38,38)": Column("decimal(38,38)", decimals(38, 38)),
    "decimal(30,30)": Column("decimal(30,30)", decimals(30, 30)),
    "double": Column("double", FLOATS),
    # The server prints six digits of a FLOAT as text, so that other drivers return another number.
    "float": Column(
        "float", st.floats(allow_nan=False, allow_infinity=False, width=32), single,
        others=lambda v: float(f"{v:.5e}"), printed=lambda v: single(float(f"{v:.5e}")),
    ),
    "bit(1)": Column("bit(1)", st.integers(0, 1), lambda n: BitString(f"{n:b}"), lambda b: bytes([int(b, 2)])),
    "bit(64)": Column(
        "bit(64)", integers(64, True), lambda n: BitString(f"{n:064b}"), lambda b: int(b, 2).to_bytes(8, "big")
    ),
    "bit(11) of bits": Column(
        "bit(11)", st.text("01", min_size=11, max_size=11).map(BitString), others=lambda b: int(b, 2).to_bytes(2, "big")
    ),
    "char(20)": Column("char(20)", text(20).map(lambda s: s.rstrip(" "))),
    "varchar(100)": Column("varchar(100)", text(100)),
    "longtext": Column("longtext", text(300)),
    "text of latin1": Column(
        "text character set latin1", st.text(st.characters(codec="latin-1", exclude_categories=["Cc"]))
    ),
    "varbinary(50)": Column("varbinary(50)", st.binary(max_size=50)),
    "binary(8)": Column("binary(8)", st.binary(min_size=8, max_size=8)),
    "longblob": Column("longblob", st.binary(max_size=500)),
    "enum": Column("enum('a','b''c','ü','')", st.sampled_from(["a", "b'c", "ü", ""])),
    "set": Column("set('a','b','ü')", st.sampled_from(["", "a", "b", "a,b", "a,ü", "a,b,ü"])),
    "date": Column("date", DATES),
    "datetime(6)": Column("datetime(6)", MOMENTS),
    "datetime": Column("datetime", MOMENTS.map(lambda m: m.replace(microsecond=0))),
    "timestamp(6)": Column(
        "timestamp(6)", st.datetimes(dt.datetime(1970, 1, 2), dt.datetime(2038, 1, 18)),
    ),
    "time(6)": Column("time(6)", SPANS.map(lambda n: dt.timedelta(microseconds=n))),
    "time of day": Column(
        "time(6)", st.times(),
        lambda t: dt.timedelta(hours=t.hour, minutes=t.minute, seconds=t.second, microseconds=t.microsecond),
    ),
    "year": Column("year", st.sampled_from([0, *range(1901, 2156)])),
    "json": Column(
        "json",
        st.recursive(
            st.none() | st.booleans() | st.integers(-(2**53), 2**53) | text(20),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text(5), inner, max_size=3),
            max_leaves=8,
        ).map(lambda value: [value]).map(Json),
        lambda j: j.value,
        others=json.dumps,
        is_json=True,
    ),
    "uuid": Column("uuid", st.uuids(version=4), others=str),
    "inet6": Column("inet6", st.ip_addresses(v=6)),
    "inet4": Column("inet4", st.ip_addresses(v=4)),
    "geometry": Column(
        "geometry", st.tuples(FLOATS, FLOATS).map(lambda p: POINT + struct.pack("<dd", *p)),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def conns(my_url: str) -> Iterator[dict[str, Conn]]:
    with contextlib.ExitStack() as stack:
        yield {
            name: stack.enter_context(
                headrace.mysql.connect(my_url, autocommit=True, local_infile=True, prepared=prepared)
            )
            for name, prepared in (("binary", True), ("text", False))
        }


@pytest.fixture(scope="module")
def others(my_server: Served, my_url: str) -> Iterator[dict[str, Any]]:
    where: dict[str, Any] = {
        **my_server.where, "database": my_url.rpartition("/")[2], "charset": "utf8mb4",
    }  # fmt: skip
    opened = {
        "pymysql": pymysql.connect(**where, autocommit=True),
        "mysqlclient": MySQLdb.connect(**where, autocommit=True, conv={**mysqldb_conversions}),
    }
    yield opened
    for other in opened.values():
        other.close()


def same(a: Any, b: Any) -> bool:
    """Equal, of the same type; JSON by what it says."""
    return type(a) is type(b) and a == b


MARIADB_ONLY = ("decimal(38,38)", "uuid", "inet6", "inet4")
EVERYWHERE = pytest.mark.parametrize(
    ("my_server", "name"),
    [
        (server, name)
        for server in ("mariadb", "mysql")
        for name in TYPES
        if server == "mariadb" or name not in MARIADB_ONLY
    ],
    indirect=["my_server"],
    scope="module",
)


@EVERYWHERE
def test_round_trips(conns: dict[str, Conn], others: dict[str, Any], name: str) -> None:
    column = TYPES[name]
    for conn in conns.values():
        conn.execute("set time_zone = '+00:00'")
    for other in others.values():
        other.cursor().execute("set time_zone = '+00:00'")
    fresh(conns["binary"], f"table typed (id int primary key, v {column.sql} null)")

    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(st.lists(st.none() | column.values, min_size=1, max_size=8))
    def check(values: list[Any]) -> None:
        rows = [*enumerate(values)]
        right = [None if value is None else column.becomes(value) for value in values]
        insert, select = "insert into typed values (?, ?)", "select v from typed order by id"
        writers: dict[str, Callable[[], Any]] = {
            "bulk": lambda: conns["binary"].executemany(insert, rows),
            "joined": lambda: conns["text"].executemany(insert, rows),
            "single": lambda: [conns["binary"].execute(insert, row) for row in rows],
            "literal": lambda: [conns["text"].execute(insert, row) for row in rows],
            "load": lambda: conns["binary"].load_rows("typed", rows),
        }
        for how, write in writers.items():
            conns["binary"].execute("delete from typed")
            write()
            for protocol, conn in conns.items():
                got = [value for (value,) in conn.fetch(select)]
                assert len(got) == len(right)
                wanted = right
                if protocol == "text":
                    wanted = [None if value is None else column.printed(value) for value in right]
                assert all(map(same, got, wanted)), (how, protocol, got, wanted)
        for who, other in others.items():
            cursor = other.cursor()
            cursor.execute(select)
            for (got,), expected in zip(cursor.fetchall(), right, strict=True):
                wanted = None if expected is None else column.others(expected)
                if isinstance(wanted, str) and isinstance(got, bytes):
                    got = got.decode()
                if got is not None and "inet" in name:
                    got = ipaddress.ip_address(got)
                if column.is_json and got is not None:
                    got, wanted = json.loads(got), json.loads(wanted)
                assert got == wanted, (who, got, wanted)

    check()


@EVERYWHERE
@pytest.mark.slow
def test_values_of_other_drivers_are_read(conns: dict[str, Conn], others: dict[str, Any], name: str) -> None:
    """What mysqlclient inserts is read as it would be had we inserted it."""
    column = TYPES[name]
    fresh(conns["binary"], f"table others (id int auto_increment primary key, v {column.sql} null)")
    cursor = others["mysqlclient"].cursor()

    @settings(
        max_examples=times(5), deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(column.values)
    def check(value: Any) -> None:
        given_ = value
        if isinstance(value, Json):
            given_ = json.dumps(value.value)
        elif isinstance(value, (uuid.UUID, ipaddress.IPv4Address, ipaddress.IPv6Address)):
            given_ = str(value)
        elif isinstance(value, BitString):
            given_ = int(value, 2)
        elif isinstance(value, dt.time):
            given_ = value.isoformat()
        elif isinstance(value, float):
            # mysqlclient's literal has 15 digits.
            given_ = repr(value)
        elif isinstance(value, D):
            given_ = f"{value:f}"
        elif isinstance(value, (dt.date, dt.datetime)):
            given_ = value.isoformat(*([" "] if isinstance(value, dt.datetime) else []))
        elif isinstance(value, dt.timedelta):
            micros = abs(value) // dt.timedelta(microseconds=1)
            sign = "-" if value < dt.timedelta(0) else ""
            given_ = f"{sign}{micros // 3_600_000_000}:{micros // 60_000_000 % 60}:{micros // 1_000_000 % 60}"
            given_ += f".{micros % 1_000_000:06}"
        cursor.execute("delete from others")
        cursor.execute("set time_zone = @@global.time_zone")
        cursor.execute("insert into others (v) values (%s)", (given_,))
        for conn in conns.values():
            conn.execute("set time_zone = @@global.time_zone")
        expected = column.becomes(value)
        assert same(conns["binary"].fetchval("select v from others"), expected)
        assert same(conns["text"].fetchval("select v from others"), column.printed(expected))

    check()


ZEROS = ["0000-00-00", "2024-00-10", "2024-02-00", "2024-02-31"]


@pytest.mark.parametrize("prepared", [True, False], ids=["binary", "text"])
def test_dates_that_no_calendar_has_follow_one_policy(my_url: str, prepared: bool) -> None:
    def connect(**keywords: Any) -> Conn:
        return headrace.mysql.connect(
            my_url, autocommit=True, prepared=prepared, sql_mode="ALLOW_INVALID_DATES", **keywords
        )

    with connect() as conn:
        fresh(conn, "table zero (id int primary key, d date, m datetime(3))")
        for n, day in enumerate(ZEROS):
            conn.execute("insert into zero values (?, ?, ?)", (n, day, f"{day} 01:02:03.5"))
        for column in ("d", "m"):
            with pytest.raises(errors.DataError, match="unrepresentable='none'"):
                conn.fetch(f"select {column} from zero where id = 0")
        assert conn.fetchval("select count(*) from zero") == 4
    query = "select d, m from zero order by id"
    with connect(unrepresentable="none") as conn:
        assert conn.fetch(query) == [(None, None)] * 4
    with connect(unrepresentable="text") as conn:
        assert conn.fetch(query) == [(day, f"{day} 01:02:03.500000") for day in ZEROS]


@pytest.mark.parametrize(
    ("value", "error"),
    [
        pytest.param(float("nan"), errors.DataError, id="nan"),
        pytest.param(float("inf"), errors.DataError, id="inf"),
        pytest.param(D("NaN"), errors.DataError, id="decimal-nan"),
        pytest.param(dt.timedelta(hours=839), errors.DataError, id="839-hours"),
        pytest.param(dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc), errors.ProgrammingError, id="aware"),
        pytest.param(object(), errors.ProgrammingError, id="object"),
    ],
)
@pytest.mark.parametrize("protocol", ["binary", "text"])
def test_values_without_a_type_are_refused_before_anything_is_sent(
    conns: dict[str, Conn], protocol: str, value: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        conns[protocol].execute("select ?", (value,))
    assert conns[protocol].fetchval("select ?", 7) == 7


@pytest.mark.parametrize("size", [(1 << 24) - 10, (1 << 24) - 1, 1 << 24, (1 << 24) + 1, 25_000_000])
@pytest.mark.parametrize("protocol", ["binary", "text"])
def test_values_around_sixteen_megabytes(conns: dict[str, Conn], protocol: str, size: int) -> None:
    """A packet holds 16 MiB less one byte; what is longer travels in several, and an exact multiple ends with an empty
    one."""
    conn = conns[protocol]
    value = (b"0123456789abcdef" * (size // 16 + 1))[:size]
    # MySQL takes a parameter without a context for text.
    query = "select length(?), cast(? as binary), 'behind'"
    assert conn.fetchrow(query, value, value) == (size, value, "behind")
    rows = conn.fetch("select repeat('x', ?), 1 union all select 'short', 2", size)
    assert [(len(text), n) for text, n in rows] == [(size, 1), (5, 2)]


def test_a_packet_larger_than_the_server_takes_is_an_error_not_a_hang(my_url: str) -> None:
    with headrace.mysql.connect(my_url) as conn, pytest.raises(errors.OperationalError):
        conn.execute("select length(?)", (b"x" * 70_000_000,))
    assert conn.closed
    with headrace.mysql.connect(my_url) as conn:
        assert conn.fetchval("select 1") == 1
