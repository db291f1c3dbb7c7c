"""What servers make of parameters whose type no column decides."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from live import CUBRID_URL

AWARE = datetime.datetime(2024, 2, 29, 13, 45, 59, 123000, tzinfo=datetime.timezone.utc)
NAIVE = AWARE.replace(tzinfo=None)


@pytest.mark.parametrize("kind", ["timestampltz", "datetimeltz", "timestamptz", "datetimetz"])
def test_instants_are_cast_to_types_with_a_time_zone(conn: Any, kind: str) -> None:
    expected = AWARE if kind.startswith("datetime") else AWARE.replace(microsecond=0)
    assert conn.fetchval(f"select cast(? as {kind})", AWARE) == expected


@pytest.mark.parametrize("kind", ["timestampltz", "datetimeltz", "timestamptz", "datetimetz"])
def test_local_times_are_those_of_the_session(conn: Any, kind: str) -> None:
    conn.execute("set time zone 'Asia/Seoul'")
    expected = AWARE - datetime.timedelta(hours=9)
    expected = expected if kind.startswith("datetime") else expected.replace(microsecond=0)
    assert conn.fetchval(f"select cast(? as {kind})", NAIVE) == expected


def test_session_variables_go_with_parameters(conn: Any) -> None:
    if CUBRID_URL:
        conn.execute("set @v = ?", (5,))
    else:
        # The test server takes no parameters there.
        conn.execute("set @v = 5")
    assert conn.fetchval("select @v + ?", 1) == 6


@pytest.mark.parametrize("size", [0, 1, 81_907, 81_908, 81_909, 163_816, 400_000])
def test_large_objects_are_longer_than_one_read(conn: Any, size: int) -> None:
    data = (bytes(range(256)) * 1600)[:size]
    text = ("가나다" * 50_000)[: size // 3]
    conn.execute("drop table if exists hr_lob")
    conn.execute("create table hr_lob (b blob, c clob)")
    conn.execute("insert into hr_lob values (?, ?)", (conn.store_lob(data), conn.store_lob(text)))
    blob, clob = conn.fetchrow("select b, c from hr_lob")
    assert conn.read_lob(blob) == data
    assert conn.read_lob(clob) == text
    conn.rollback()


def test_a_label_is_its_place_where_a_number_is_wanted(conn: Any) -> None:
    conn.execute("drop table if exists hr_label")
    conn.execute("create table hr_label (e enum('one', 'two', 'three'))")
    conn.execute("insert into hr_label values ('two'), (null)")
    assert conn.fetch("select cast(e as int), cast(e as numeric(5,1)) from hr_label order by 1") == [
        (None, None), (2, 2),
    ]  # fmt: skip
    conn.execute("update hr_label set e = cast(e as int) + 1")
    assert conn.fetch("select e from hr_label where e is not null") == [("three",)]
    conn.rollback()


def test_hints_of_indexes_stand_after_each_table(conn: Any) -> None:
    conn.execute("drop table if exists hr_hinted")
    conn.execute("create table hr_hinted (n int, index hr_index (n))")
    conn.execute("insert into hr_hinted values (1), (2)")
    for hint in ("force index", "use index", "ignore key"):
        inner = f"select n from hr_hinted {hint} (hr_index) where n > 0"
        sql = f"select count(*) from hr_hinted {hint} (hr_index) join ({inner}) b on hr_hinted.n = b.n"
        assert conn.fetchval(sql) == 2, hint
    conn.rollback()


def test_a_union_that_begins_with_null_has_its_names_in_a_derived_table(conn: Any) -> None:
    sql = "select v from (select 1 as k, null as v union all select 2, X'') t order by k"
    assert conn.fetch(sql) == [(None,), (b"",)]
    assert conn.fetch("select v from (select 1.5 as v union select 2) t order by v desc") == [(2,), (1.5,)]


@pytest.mark.parametrize(
    ("literal", "precision", "scale"),
    [("0.0000001", 7, 7), ("-0.25", 2, 2), ("1.10", 3, 2), (f"0.{'0' * 37}1", 38, 38)],
)
def test_zeros_in_front_are_no_digits_of_a_literal(conn: Any, literal: str, precision: int, scale: int) -> None:
    assert conn.execute(f"select {literal}").description[0][4:6] == (precision, scale)


def test_empty_bits_are_elements_of_collections(conn: Any) -> None:
    assert sorted(conn.fetchval("select {X'', X'01'}")) == [b"", b"\x01"]


def test_parameters_in_aggregates_with_distinct_mean_what_literals_mean(conn: Any) -> None:
    conn.execute("drop table if exists hr_distinct")
    conn.execute("create table hr_distinct (a int, s varchar(10))")
    conn.executemany("insert into hr_distinct values (?, ?)", [(n % 4 or None, f"s{n % 3}") for n in range(12)])
    for expression, expected in [
        ("count(distinct a + ?)", 3),
        ("count(distinct nvl(a, ?))", 4),
        ("count(distinct abs(a * ?))", 3),
        ("sum(distinct a + ?)", 27),
        ("avg(distinct a + ?)", 9),
        ("count(distinct ?)", 1),
        ("count(distinct case when a > 1 then a + ? end)", 2),
    ]:
        assert conn.fetchval(f"select {expression} from hr_distinct", 7) == expected, expression
    assert conn.fetchval("select count(distinct concat(s, ?)) from hr_distinct", "x") == 3
    assert sorted(conn.fetchval("select group_concat(distinct a + ?) from hr_distinct", 7).split(",")) == [
        "10",
        "8",
        "9",
    ]


def test_arithmetic_after_a_null_means_what_literals_mean(conn: Any) -> None:
    """The genuine server makes the results of all rows of the column's type, where the first row has NULL there."""
    conn.execute("drop table if exists hr_operands")
    conn.execute("create table hr_operands (id int primary key, a int, c numeric(12, 3))")
    conn.executemany("insert into hr_operands values (?, ?, ?)", [(1, None, None), (2, 7, Decimal("2.25"))])
    for expression, value, expected in [
        ("a + ?", Decimal("2.25"), Decimal("9.25")),
        ("a * ?", 1.5, 10.5),
        ("? - a", Decimal("0.5"), Decimal("-6.5")),
        ("a + ?", 2**40, 2**40 + 7),
        ("a * abs(?)", Decimal("1.25"), Decimal("8.75")),
        ("c * (?)", Decimal("1.0825"), Decimal("2.435625")),
        ("round(a * ?, 2)", Decimal("1.25"), Decimal("8.75")),
        ("coalesce(a * ?, 1.5)", Decimal("2.25"), Decimal("15.75")),
    ]:
        assert conn.fetch(f"select {expression} from hr_operands order by id", value)[1] == (expected,), expression
    assert conn.fetchval("select sum(a * ?) from hr_operands", Decimal("2.25")) == Decimal("15.75")
    conn.execute("update hr_operands set c = c + ? where a * ? > ?", (Decimal("0.001"), 1.5, 10.4))
    assert conn.fetchval("select c from hr_operands where id = 2") == Decimal("2.251")
    conn.executemany("update hr_operands set c = c - ? where id = ?", [(1, 2), (Decimal("0.25"), 2), (None, 1)])
    assert conn.fetchval("select c from hr_operands where id = 2") == Decimal("1.001")


def test_what_stands_for_null_means_what_literals_mean(conn: Any) -> None:
    """The genuine server makes the results of all groups of the type that the first one's has, where that is the
    parameter's."""
    conn.execute("drop table if exists hr_alternatives")
    columns = "id int primary key, a int, c numeric(12, 3), d double, dy date, moment datetime, bv bit varying(64)"
    conn.execute(f"create table hr_alternatives ({columns})")
    at = datetime.datetime(2020, 1, 2, 3, 4, 5, 678000)
    row = (7, Decimal("2.125"), 0.25, datetime.date(2020, 1, 2), at, b"\x01")
    conn.executemany("insert into hr_alternatives values (?, ?, ?, ?, ?, ?, ?)", [(1, *[None] * 6), (2, *row)])
    for expression, value, expected in [
        ("coalesce(sum(c), ?)", 0, Decimal("2.125")),
        ("nvl(max(c), ?)", Decimal("2.5"), Decimal("2.125")),
        ("ifnull(avg(d), ?)", 0, 0.25),
        ("nvl2(max(c), max(c), ?)", 0, Decimal("2.125")),
        ("coalesce(max(c), max(d), ?)", 0, 2.125),
        ("max(c / a)", None, Decimal("0.303571429")),
        ("coalesce(max(c / a), ?)", 0, Decimal("0.303571429")),
        ("round(coalesce(sum(c), ?), 2)", 0, Decimal("2.13")),
        ("coalesce(max(moment), ?)", datetime.date(2021, 1, 1), at),
        ("max(adddate(coalesce(dy, ?), 3))", datetime.date(2021, 1, 1), datetime.date(2020, 1, 5)),
        ("max(coalesce(bv, ?))", b"\x01\x02", b"\x01"),
    ]:
        values = [] if value is None else [value]
        sql = f"select {expression} from hr_alternatives group by id order by id"
        found = conn.fetch(sql, *values)[1][0]
        assert (found, type(found)) == (expected, type(expected)), expression
    query = "select max(c) from hr_alternatives b where b.id = o.id"
    sql = f"select coalesce(({query}), ?) from hr_alternatives o order by id"
    assert [found for (found,) in conn.fetch(sql, 0)] == [0, Decimal("2.125")]
    assert conn.fetch("select id from hr_alternatives group by id having coalesce(sum(d), ?) > 0.1", 0) == [(2,)]
    conn.executemany("update hr_alternatives set c = coalesce(?, c) where id = ?", [(None, 2), (Decimal("1.125"), 1)])
    assert conn.fetch("select c from hr_alternatives order by id") == [(Decimal("1.125"),), (Decimal("2.125"),)]


def test_results_of_decode_and_nullif_have_their_own_lengths(conn: Any) -> None:
    conn.execute("drop table if exists hr_lengths")
    conn.execute("create table hr_lengths (id int primary key, c char(5), v varchar(10))")
    conn.executemany("insert into hr_lengths values (?, ?, ?)", [(1, "a", "a"), (2, "", "ab"), (3, "abc", None)])
    for expression, values, expected in [
        ("decode(id, 1, ?, ?)", ("x", "longer"), ["x", "longer", "longer"]),
        ("decode(id, 1, ?, v)", ("x",), ["x", "ab", None]),
        ("decode(id, 1, v, ?)", ("x",), ["a", "x", "x"]),
        ("decode(c, ?, 1, ?, 2, 0)", ("a", ""), [1, 2, 0]),
        ("nullif(?, ?) || '!'", ("x", "longer"), ["x!", "x!", "x!"]),
        ("nullif(v, ?)", ("ab",), ["a", None, None]),
        # The test server has no FIELD.
        *([("field(c, ?, ?)", ("abc", ""), [0, 2, 1])] if CUBRID_URL else []),
    ]:
        found = conn.fetch(f"select {expression} from hr_lengths order by id", *values)
        assert [value for (value,) in found] == expected, (expression, values)


@pytest.mark.skipif(not CUBRID_URL, reason="the test server makes no TIMESTAMP of a DATE and a TIME")
def test_times_after_noon_stay_there(conn: Any) -> None:
    day, afternoon = datetime.date(2020, 1, 2), datetime.time(14, 5, 58)
    moment = datetime.datetime(2020, 1, 2, 14, 5, 58)
    assert conn.fetchval("select timestamp(date'2020-01-02', ?) from db_root", afternoon) == moment
    assert conn.fetchval("select timestamp(?, ?) from db_root", day, afternoon) == moment
    assert conn.fetchval("select addtime(datetime'2020-01-02 01:00:00', ?) from db_root", afternoon) == moment.replace(
        hour=15
    )
    assert conn.fetchval("select extract(hour from ?) from db_root", afternoon) == 14


def test_patterns_find_empty_texts_in_an_index(conn: Any) -> None:
    conn.execute("drop table if exists hr_patterns")
    conn.execute("create table hr_patterns (id int primary key, s varchar(20), c char(5))")
    conn.execute("create index hr_patterns_s on hr_patterns (s)")
    rows = [(1, "", ""), (2, "a", "a"), (3, None, None), (4, "ab", "ab")]
    conn.executemany("insert into hr_patterns values (?, ?, ?)", rows)
    for condition, value, expected in [
        ("s like ?", "%", [1, 2, 4]),
        ("s like ?", "%%", [1, 2, 4]),
        ("s like ?", "", [1]),
        ("s like ?", "a%", [2, 4]),
        ("s like ?", "%b", [4]),
        ("s like '%' || ? || '%'", "", [1, 2, 4]),
        ("s like '%' || ? || '%'", "b", [4]),
        ("s like concat(?, '%') escape '#'", "", [1, 2, 4]),
        ("s like ? and id > 1", "%", [2, 4]),
        ("s not like ?", "%", []),
        ("s like ?", None, []),
        ("s like nvl(?, '%')", None, [1, 2, 4]),
        ("s like '%' || coalesce(?, '') || '%'", None, [1, 2, 4]),
        ("s like '%' + ? + '%'", "", [1, 2, 4]),
        ("s like '%' + ? + '%'", "b", [4]),
        ("s like upper(?) + '%'", "", [1, 2, 4]),
        (
            "(select count(*) from hr_patterns a inner join hr_patterns b on a.id = b.id and b.s like ?) = 3",
            "%",
            [1, 2, 3, 4],
        ),
    ]:
        found = conn.fetch(f"select id from hr_patterns where {condition} order by id", value)
        assert [number for (number,) in found] == expected, (condition, value)
    for condition in ("s like ? where (b.c = ? or b.c = ?)", "s like ? where (b.c in (?, ?))"):
        joined = f"select b.id from hr_patterns a join hr_patterns b on a.id = b.id and b.{condition} order by 1"
        assert conn.fetch(joined, "%", "", "ab") == [(1,), (4,)], condition
    grouped = "select max(c) from hr_patterns where s like ? having (max(c) = ?)"
    assert [value.rstrip() for (value,) in conn.fetch(grouped, "%", "ab")] == ["ab"]
    conn.executemany("update hr_patterns set s = s || 'x' where s like ?", [("b%",), ("%",)])
    assert conn.fetch("select s from hr_patterns order by id") == [("x",), ("ax",), (None,), ("abx",)]


def test_shorter_texts_in_in_equal_those_of_a_char_column(conn: Any) -> None:
    conn.execute("drop table if exists hr_codes")
    conn.execute("create table hr_codes (id int primary key, c char(5), v varchar(5))")
    rows = [(1, "a", "a"), (2, "ab", "ab"), (3, "abcde", ""), (4, None, None), (5, "가", "가")]
    conn.executemany("insert into hr_codes values (?, ?, ?)", rows)
    for where, values, expected in [
        ("c in (?, ?)", ("a", "ab"), [1, 2]),
        ("c in (?, 'abcde')", ("ab",), [2, 3]),
        ("c not in (?, ?)", ("a", "가"), [2, 3]),
        ("c in (?, ?)", ("a", None), [1]),
        ("v in (?, ?)", ("a", "ab"), [1, 2]),
        ("v in (?, ?)", ("ab", "가"), [2, 5]),
        ("(c, id) in ((?, 1), (?, 3))", ("a", "ab"), [1]),
        ("nullif(c, ?) is null", ("a",), [1, 4]),
    ]:
        found = [row[0] for row in conn.execute(f"select id from hr_codes where {where} order by id", values)]
        assert found == expected, where
    conn.executemany("delete from hr_codes where c in (?, ?)", [("a", "zz"), (None, "zz"), ("abcde", "가")])
    assert conn.fetch("select id from hr_codes order by id") == [(2,), (4,)]


def test_texts_of_several_lengths_in_in_are_one_statement(conn: Any) -> None:
    """Beside another collation than the database's a list of CHARs of several lengths was an error (-181)."""
    conn.execute("drop table if exists hr_collated")
    conn.execute("create table hr_collated (id int primary key, v varchar(5) collate utf8_en_ci)")
    conn.executemany("insert into hr_collated values (?, ?)", [(1, "a"), (2, "ab"), (3, "ABC")])
    for values, expected in [(("a", "ABC"), [1, 3]), (("ab", "x"), [2]), (("", "ABC"), [3]), (("ab", None), [2])]:
        found = conn.fetch("select id from hr_collated where v in (?, ?) order by id", *values)
        assert [number for (number,) in found] == expected, values
