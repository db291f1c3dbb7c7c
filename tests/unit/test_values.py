"""Values that the standard library has no class for, and type codes."""

from __future__ import annotations

import copy
import datetime
import doctest
import pickle
from typing import Any

import psycopg
import pytest

from headrace import types
from headrace.errors import ProgrammingError
from headrace.types import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    BitString,
    Json,
    Jsonb,
    Multirange,
    Notice,
    Range,
    TypeCode,
    Xid,
)

ALL = (STRING, BINARY, NUMBER, DATETIME, ROWID)


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("text", {STRING}),
        ("varchar", {STRING}),
        ("bytea", {BINARY}),
        ("int4", {NUMBER}),
        ("float8", {NUMBER}),
        ("timestamptz", {DATETIME}),
        ("interval", {DATETIME}),
        ("oid", {NUMBER, ROWID}),
        ("point", set[object]()),
    ],
)
def test_type_codes_equal_their_groups_both_ways(name: str, groups: set[object]) -> None:
    code = TypeCode(name, 1)
    for group in ALL:
        wanted = any(group is one for one in groups)
        assert (code == group, group == code, code != group, group != code) == (wanted, wanted, not wanted, not wanted)


@pytest.mark.parametrize(
    ("name", "is_text"),
    [
        *(
            (name, True)
            for name in ("int4", "BIGINT", "numeric(10,2)", "decimal(38,38)", "varchar(40)", "text", "date")
        ),
        *((name, True) for name in ("datetime", "datetime year to fraction(5)", "float4", "double", "bytea")),
        *((name, False) for name in ("numeric", "NUMERIC", "numeric(10,-2)", "decimal(16)", "decimal(65,30)", "time")),
        *(
            (name, False)
            for name in ("int4range", "int4multirange", "numeric[]", "int4[]", "point", "interval", "clob")
        ),
        *((name, False) for name in ("datetime hour to second", "datetime year to day", "set(int not null)", "blob")),
    ],
)
def test_type_codes_are_str_where_their_name_means_the_same_everywhere(name: str, is_text: bool) -> None:
    code = TypeCode(name, 7)
    assert isinstance(code, str) == is_text
    assert (str(code), f"{code:>5}", repr(code)) == (name, f"{name:>5}", repr(name))
    assert code == name == TypeCode(name, 8)
    assert code not in ("other", 8, None, TypeCode("other", 7))
    assert code == 7
    assert hash(code) == hash(name)
    assert isinstance(TypeCode("bigint", 8, plain=False), str) is False


def test_type_codes_have_the_name_of_their_type() -> None:
    code: Any = TypeCode("numeric(10,-2)", 1700, "numeric")
    assert (code, str(code), code.oid, code.base) == ("numeric(10,-2)", "numeric(10,-2)", 1700, "numeric")
    assert (code.precision, code.scale) == (10, -2)
    assert (TypeCode("int4", 23).precision, TypeCode("int4", 23).scale) == (None, None)
    assert code == NUMBER
    assert hash(TypeCode("int4", 23)) == hash("int4")
    by_code: dict[Any, int] = {TypeCode("int4", 23): 1}
    assert by_code["int4"] == 1
    assert TypeCode("int4", 23) == TypeCode("int4", 23)


def test_type_codes_and_objects_can_be_copied() -> None:
    code = TypeCode("numeric(10,2)", 1700, "numeric")
    plain = TypeCode("numeric", 1700)
    for again in (pickle.loads(pickle.dumps(plain)), copy.copy(plain), copy.deepcopy(plain)):
        assert (type(again), again, again.oid) == (TypeCode, "numeric", 1700)
    for again in (pickle.loads(pickle.dumps(code)), copy.copy(code), copy.deepcopy(code)):
        assert (type(again), again, again.oid, again.base) == (type(code), code, 1700, "numeric")
    for group in ALL:
        assert pickle.loads(pickle.dumps(group)) is group
        assert copy.deepcopy(group) is group


def test_constructors() -> None:
    assert types.Date(2026, 1, 2) == datetime.date(2026, 1, 2)
    noon = datetime.datetime(2026, 1, 2, 12, 30, 5)
    ticks = noon.timestamp()
    assert types.TimestampFromTicks(ticks) == noon
    assert types.DateFromTicks(ticks) == noon.date()
    assert types.TimeFromTicks(ticks) == noon.time()
    assert types.Binary(b"x") == b"x"


@pytest.mark.parametrize(
    ("bounds", "inside"),
    [("[]", [1, 2, 3]), ("[)", [1, 2]), ("(]", [2, 3]), ("()", [2])],
)
def test_what_is_in_a_range(bounds: str, inside: list[int]) -> None:
    assert [x for x in range(5) if x in Range(1, 3, bounds)] == inside


@pytest.mark.parametrize(
    ("value", "text", "code"),
    [
        (Range(1, 3), "[1,3)", "Range(1, 3, '[)')"),
        (Range(None, 3, "[]"), "(,3]", "Range(None, 3, '(]')"),
        (Range(1, None), "[1,)", "Range(1, None, '[)')"),
        (Range[int](), "(,)", "Range(None, None, '()')"),
        (Range(1, 2, empty=True), "empty", "Range(empty=True)"),
    ],
)
def test_ranges_are_shown_copied_and_compared(value: Range[int], text: str, code: str) -> None:
    assert (str(value), repr(value)) == (text, code)
    for again in (eval(code, {"Range": Range}), pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
        assert again == value
        assert hash(again) == hash(value)
    assert value != text


def test_the_parts_of_a_range() -> None:
    value = Range(1, None, "[]")
    assert (value.lower, value.upper, value.bounds) == (1, None, "[)")
    assert (value.lower_inc, value.upper_inc, value.lower_inf, value.upper_inf) == (True, False, False, True)
    empty = Range(1, 2, empty=True)
    assert (empty.isempty, bool(empty), empty.lower, empty.lower_inf, 1 in empty) == (True, False, None, False, False)
    with pytest.raises(ValueError, match="bounds"):
        Range(1, 2, "<>")
    with pytest.raises(AttributeError):
        value.lower = 2  # type: ignore[misc]


def test_ranges_are_in_postgresqls_order() -> None:
    ordered = [
        Range(empty=True),
        Range(None, 1),
        Range(None, 1, "(]"),
        Range[int](),
        Range(1, 2),
        Range(1, 2, "[]"),
        Range(1, None),
        Range(1, 2, "()"),
        Range(2, 3),
    ]
    assert sorted(ordered, reverse=True) == ordered[::-1]
    for i, a in enumerate(ordered):
        for j, b in enumerate(ordered):
            assert (a < b, a <= b, a > b, a >= b) == (i < j, i <= j, i > j, i >= j)
    other: Any = 1
    with pytest.raises(TypeError):
        assert Range(1, 2) < other


def test_multiranges_are_sequences() -> None:
    value = Multirange([Range(1, 2), Range(5, None)])
    assert len(value) == 2
    assert value[0] == Range(1, 2)
    assert value[1:] == Multirange([Range(5, None)])
    assert Range(1, 2) in value
    assert list(value) == [Range(1, 2), Range(5, None)]
    assert (str(value), str(Multirange())) == ("{[1,2),[5,)}", "{}")
    assert eval(repr(value), {"Range": Range, "Multirange": Multirange}) == value
    assert hash(pickle.loads(pickle.dumps(value))) == hash(value)
    assert Multirange() < value < Multirange([Range(2, 3)])
    assert value != [Range(1, 2), Range(5, None)]


@pytest.mark.parametrize(
    ("xid", "text"),
    [
        (Xid(1, "transfer", "bank"), "1_dHJhbnNmZXI=_YmFuaw=="),
        (Xid(0, "", ""), "0__"),
        (Xid(2**31 - 1, "é", "_"), "2147483647_w6k=_Xw=="),
        (Xid(None, "plain", None), "plain"),
    ],
)
def test_transaction_ids_are_text_and_back(xid: Xid, text: str) -> None:
    assert str(xid) == text
    assert Xid.parse(text) == xid


def test_transaction_ids_are_those_of_psycopg() -> None:
    for parts in ((1, "transfer", "bank"), (42, "é" * 20, "x_y")):
        their = psycopg.Xid.from_parts(*parts) if parts[1].isascii() else None
        if their is not None:
            assert str(their) == str(Xid(*parts))


@pytest.mark.parametrize("text", ["1_x_y", "1_YQ_Yg", "01_YQ==_Yg==", "1_YR==_Yg==", "9999999999_YQ==_Yg==", "1_/w==_",
                                  "a_b", "x_YQ==_Yg==", "²_YQ==_Yg==", "1_YQ==_Yg==_"])  # fmt: skip
def test_what_only_looks_like_one_stays_as_it_is(text: str) -> None:
    assert Xid.parse(text) == Xid(None, text, None)
    assert str(Xid.parse(text)) == text


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((-1, "a", "b"), "format_id -1"),
        ((2**31, "a", "b"), "format_id"),
        ((1, "a" * 65, "b"), "global transaction id"),
        ((1, "a", "é" * 33), "branch qualifier"),
        ((None, "a", "b"), "branch qualifier"),
        ((None, "", None), "1 to 199"),
        ((None, "a" * 200, None), "1 to 199"),
        ((None, "a\0", None), "NUL"),
    ],
)
def test_transaction_ids_that_do_not_fit(parts: tuple[Any, str, Any], message: str) -> None:
    with pytest.raises(ProgrammingError, match=message):
        Xid(*parts)


def test_what_recovery_tells_is_no_part_of_the_id() -> None:
    assert Xid(1, "a", "b", owner="ada", database="d") == Xid(1, "a", "b")


def test_json() -> None:
    assert (Json({"a": 1}).dumps(), Jsonb([1]).dumps()) == ('{"a": 1}', "[1]")
    assert Json(1, lambda x: b"two").dumps() == b"two"
    assert Json(1) != Jsonb(1)


def test_bit_strings() -> None:
    assert BitString("0101") == "0101"
    with pytest.raises(ValueError, match="012"):
        BitString("012")


def test_notices() -> None:
    notice = Notice("NOTICE", "m", {"C": "00000", "D": "d", "H": "h"})
    assert (notice.sqlstate, notice.detail, notice.hint) == ("00000", "d", "h")
    assert Notice("NOTICE", "m", {}).detail is None


def test_examples() -> None:
    assert doctest.testmod(types).failed == 0
