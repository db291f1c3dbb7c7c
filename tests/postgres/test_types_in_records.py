"""Types that stand only inside a record: no description of a result has them, only the bytes of its values."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable
from typing import Any

import pyarrow
import pytest

from headrace import errors

from .conftest import Connect

TYPES = (
    "create domain d as int; create domain d2 as d; create type mood as enum ('happy', 'AAAA'); "
    "create domain label as text; create type inner_pair as (a d, b mood); "
    "create type pair as (a inner_pair, b label[]); create type spans as range (subtype = d); "
    "create domain few as d[]; create domain some_pair as inner_pair; "
    "create type found as (n int, t tsvector, l label[]); create domain words as tsvector"
)
LETTERS = 0x41414141
"""A number whose bytes are letters."""
CASES: dict[str, tuple[str, Any]] = {
    "a domain": (f"select row({LETTERS}::d)", (LETTERS,)),
    "a domain of a domain": (f"select row({LETTERS}::d2, 1)", (LETTERS, 1)),
    "an enumeration": ("select row('AAAA'::mood, 1)", ("AAAA", 1)),
    "an array of an enumeration": ("select row(array['AAAA', null]::mood[])", (["AAAA", None],)),
    "a domain of text": ("select row('AAAA'::label)", ("AAAA",)),
    "a domain of an array": (f"select row(array[{LETTERS}]::few)", ([LETTERS],)),
    "a composite": (f"select row(row({LETTERS}, 'AAAA')::inner_pair)", ((LETTERS, "AAAA"),)),
    "a domain of a composite": (f"select row(row({LETTERS}, 'AAAA')::some_pair)", ((LETTERS, "AAAA"),)),
    "a composite of a composite": (
        f"select row(row(row({LETTERS}, 'AAAA'), array['AAAA'])::pair)",
        (((LETTERS, "AAAA"), ["AAAA"]),),
    ),
    "a record in a record": (f"select row(row(1, row({LETTERS}::d)))", ((1, (LETTERS,)),)),
    "an array of records": (f"select array[row({LETTERS}::d), row(1::d)]", [(LETTERS,), (1,)]),
    "an array of arrays of records": (
        f"select array[array[row({LETTERS}::d)], array[row(1::d)]]",
        [[(LETTERS,)], [(1,)]],
    ),
    "a record of an array of records": (f"select row(array[row({LETTERS}::d)])", ([(LETTERS,)],)),
    "NULL": ("select row(null::d, null::mood)", (None, None)),
    "a function": (f"select f from (select {LETTERS}::d, 'AAAA'::mood) f", (LETTERS, "AAAA")),
}


def batch(conn: Any, sql: str) -> Any:
    cursor = conn.executemany(f"{sql} where $1 > 0", [(1,), (2,)], returning=True)
    found = cursor.fetchall()
    while cursor.nextset():
        found += cursor.fetchall()
    assert found[0] == found[-1]
    return found[0][0]


def pipeline(conn: Any, sql: str) -> Any:
    with conn.pipeline():
        cursors = [conn.execute(text) for text in ("select 1", sql, sql, "select 2")]
    found = [cursor.fetchone() for cursor in cursors]
    assert found[0] == (1,)
    assert found[1] == found[2]
    assert found[3] == (2,)
    return found[1][0]


def block(conn: Any, sql: str) -> Any:
    with conn.transaction():
        return conn.fetchval(sql)


WAYS: dict[str, Callable[[Any, str], Any]] = {
    "execute": lambda conn, sql: conn.execute(sql).fetchone()[0],
    "fetchval": lambda conn, sql: conn.fetchval(sql),
    "fetchrow": lambda conn, sql: conn.fetchrow(sql)[0],
    "stream": lambda conn, sql: next(iter(conn.stream(sql)))[0],
    "block": block,
    "pipeline": pipeline,
    "batch": batch,
}
TEXTS: dict[str, tuple[str, Any]] = {
    "a text of its own": ("select row('a:1'::tsvector, '0/1'::pg_lsn, 1)", ("'a':1", "0/1", 1)),
    "an array": ("select row(array['a:1', null]::tsvector[])", (["'a':1", None],)),
    "a composite": ("select row(row(1, 'a:1', array['AAAA'])::found)", ((1, "'a':1", ["AAAA"]),)),
    "in a record in an array": ("select array[row(row('(0,1)'::tid), 1)]", [(("(0,1)",), 1)]),
    "a name of the catalogue": ("select row('pg_class'::regclass, 'int4'::regtype)", ("pg_class", "integer")),
    "a domain": ("select row('a:1'::words)", ("'a':1",)),
    "vectors": ("select row(array['', '1 2', '3', null]::oidvector[])", ('{"","1 2",3,NULL}',)),
    "vectors without items": ("select array[row(array['']::int2vector[], 1)]", [('{""}', 1)]),
}
"""Types that have no binary form here, and are text."""


@pytest.fixture
def types(dba: Any, schema: str) -> str:
    """A schema with types that no session has met."""
    dba.executescript(TYPES)
    return f"-c search_path={schema},public"


@pytest.mark.parametrize("case", CASES)
def test_a_type_met_first_in_a_record_has_its_value(connect: Connect, types: str, case: str) -> None:
    sql, expected = CASES[case]
    wrong: list[Any] = []
    for name, way in WAYS.items():
        for options in ({}, {"prepared": False}, {"autocommit": True}):
            conn = connect(options=types, **options)
            for attempt in range(3):
                found = way(conn, sql)
                if found != expected:
                    wrong.append((name, options, attempt, found))
    assert wrong == []


@pytest.mark.parametrize("case", TEXTS)
def test_what_is_read_only_as_text_is_that_in_a_record_too(connect: Connect, types: str, case: str) -> None:
    sql, expected = TEXTS[case]
    for name, way in WAYS.items():
        conn = connect(options=types, autocommit=True)
        for _ in range(2):
            assert way(conn, sql) == expected, name


def test_a_cast_to_text_is_not_the_text_of_a_value_in_a_record(connect: Connect, dba: Any, types: str) -> None:
    dba.executescript(
        "create function found_text(found) returns text language sql as $$select 'cast'$$; "
        "create cast (found as text) with function found_text(found)"
    )
    conn = connect(options=types, autocommit=True)
    for _ in range(2):
        assert conn.fetchval("select row(row(1, 'a:1', array['AAAA'])::found)") == ((1, "'a':1", ["AAAA"]),)


@pytest.mark.parametrize("part", ["s.histogram_bounds", "s", "(select r from pg_rewrite r limit 1)"])
def test_what_the_server_does_not_read_leaves_the_transaction_open(
    connect: Connect, dba: Any, types: str, part: str
) -> None:
    dba.executescript("create table counted as select generate_series(1, 1000) a; analyze counted")
    conn = connect(options=types)
    with pytest.raises(errors.DataError, match=r"in(side of a record| binary form)"):
        conn.execute(f"select row({part}) from pg_stats s where tablename = 'counted'")
    assert conn.fetchval("select 1") == 1


def test_a_value_that_the_server_does_not_read_is_an_error_that_says_what_is_stored(
    connect: Connect, dba: Any, types: str
) -> None:
    functions = {"in": ("cstring", "sent", "int4in"), "out": ("sent", "cstring", "int4out")}
    dba.execute("create type sent")
    for name, (of, to, code) in {**functions, "send": ("sent", "bytea", "int4send")}.items():
        dba.execute(f"create function sent_{name}({of}) returns {to} immutable strict language internal as '{code}'")
    dba.execute("create type sent (input = sent_in, output = sent_out, send = sent_send, like = int4)")
    dba.execute("create table stored (n int)")
    conn = connect(options=types, autocommit=True)
    for count in (1, 2):
        with pytest.raises(errors.DataError, match="the statement was executed, and what it has changed stays"):
            conn.execute("insert into stored values (1) returning row('7'::sent)")
        assert conn.fetchval("select count(*) from stored") == count
    with pytest.raises(errors.DataError, match="the statement was executed"):
        list(conn.copy_out("select row('7'::sent)"))
    assert conn.fetchval("select '7'::sent") == "7"
    with pytest.raises(errors.DatabaseError, match="no binary output function"):
        conn.execute("insert into stored values (1) returning row(null::aclitem, 'postgres=r/postgres'::aclitem)")
    assert conn.fetchval("select count(*) from stored") == 2


def test_many_values_that_are_text_are_asked_for_in_parts(connect: Connect, types: str) -> None:
    conn = connect(options=types)
    sql = "select row(repeat('x' || n % 9000 || ' ', n % 40 + 1)::tsvector, n) from generate_series(1, 12000) n"
    found = conn.fetch(sql)
    assert found == [((f"'x{n % 9000}'", n),) for n in range(1, 12001)]
    large = "select row((select string_agg('w' || m, ' ') from generate_series(n, n + 100000) m)::tsvector) from "
    assert [len(row[0][0]) > 800_000 for row in conn.fetch(f"{large} generate_series(1, 3) n")] == [True] * 3
    oid = 23
    conn.register_adapters(loaders={oid: lambda data: ("text", data)})
    assert conn.fetchval("select row(5, 'a:1'::tsvector)") == (("text", b"5"), "'a':1")


@pytest.mark.parametrize("case", [*CASES, *TEXTS])
def test_a_copy_has_the_values_of_a_select(connect: Connect, types: str, case: str) -> None:
    sql, expected = {**CASES, **TEXTS}[case]
    conn = connect(options=types, autocommit=True)
    for _ in range(2):
        assert list(conn.copy_out(sql)) == [(expected,)]
    assert conn.fetchval(sql) == expected


def test_rows_of_a_copy_wait_for_their_types_in_order(connect: Connect, types: str) -> None:
    for rare in ("row(1::d)", "row('a:1'::tsvector, 1::d)", "row(row(row(1::d), null::mood)::record, 'a:1'::tsvector)"):
        conn = connect(options=types)
        sql = f"select n, case when n % 7000 = 5 then {rare} else row(n) end from generate_series(1, 20000) n"
        expected = conn.fetch(sql)
        conn.close()
        for last in (20000, 3):
            conn = connect(options=types)
            copied = conn.copy_out(f"select * from ({sql}) r where n <= {last}")
            assert list(copied) == expected[:last]
            assert conn.fetchval("select 1") == 1


def test_more_rows_of_a_copy_than_are_kept_are_an_error_that_says_so(connect: Connect, types: str) -> None:
    conn = connect(options=types, autocommit=True)
    sql = "select row(1::d), repeat('x', 1000000) from generate_series(1, 80)"
    with pytest.raises(errors.DataError, match="select the rows instead"):
        list(conn.copy_out(sql))
    assert conn.fetchval("select row(1::d)") == (1,)
    assert len(list(conn.copy_out(sql))) == 80


def test_an_error_of_a_copy_whose_rows_wait_is_raised(connect: Connect, types: str) -> None:
    conn = connect(options=types, autocommit=True)
    with pytest.raises(errors.DataError, match="division by zero"):
        list(conn.copy_out("select row(1::d), 1 / (3 - n) from generate_series(1, 3) n"))
    assert conn.fetchval("select 1") == 1


def test_an_insert_that_returns_a_record_is_stored_and_its_row_comes(connect: Connect, dba: Any, types: str) -> None:
    dba.execute("create table t (v d, m mood)")
    sql = f"insert into t values ({LETTERS}, 'AAAA') returning row(v, m), 1"
    for number in range(3):
        conn = connect(options=types, autocommit=number > 0)
        assert conn.execute(sql).fetchall() == [((LETTERS, "AAAA"), 1)]
        conn.close()
        assert dba.fetchval("select count(*) from t") == number


@pytest.mark.parametrize("column", ["row(1::d)", "row(1, 'happy')::inner_pair", "row(1)"])
def test_types_that_were_forgotten_are_looked_up_beside_records(connect: Connect, types: str, column: str) -> None:
    conn = connect(options=types, autocommit=True)
    sql = f"select {column}, 'AAAA'::mood, array[{LETTERS}]::few, array['AAAA']::label[]"
    expected = conn.fetch(sql)
    for way in (lambda: conn.fetch(sql), lambda: list(conn.stream(sql)), lambda: list(conn.copy_out(sql))):
        # What cannot be sent may be of a type that has changed.
        for wrong in ("select $1::inner_pair", "select $1::few", "select $1::label[]"):
            with pytest.raises(errors.ProgrammingError):
                conn.execute(wrong, (object(),))
        assert [way(), way()] == [expected, expected]


def test_records_of_one_result_may_have_different_types(connect: Connect, types: str) -> None:
    conn = connect(options=types, autocommit=True)
    conn.execute("create temporary table many (n int)")
    conn.execute("insert into many select generate_series(1, 20000)")
    sql = (
        "select n, case n % 20000 when 19000 then row(n::d) when 19999 then row('AAAA'::mood) else row(n) end "
        "from many order by n"
    )

    def expected(n: int) -> Any:
        return ("AAAA",) if n == 19999 else (n,)

    wanted = [(n, expected(n)) for n in range(1, 20001)]
    for way in (lambda: conn.fetch(sql), lambda: conn.execute(sql).fetchall(), lambda: list(conn.stream(sql))):
        assert way() == wanted
        # The types are forgotten.
        conn.execute("create temporary table if not exists other (n int)")
        conn.execute("drop table other")
    # What was fetched ahead is of types that are known, and stays behind.
    for rare in ("row(1::d)", "row('a:1'::tsvector, 1::d)", "row(row(row(1::d), null::mood)::record, 'a:1'::tsvector)"):
        mixed = f"select n, case when n % 7000 = 5 then {rare} else row(n) end as r from many order by n"
        for size in (100, 1024, 3000):
            batches = list(conn.stream_arrow(mixed, batch_rows=size))
            found = [n for batch in batches for n in pyarrow.record_batch(batch).column(0).to_pylist()]
            assert found == list(range(1, 20001)), (rare, size)
            assert [row[0] for row in conn.stream(mixed)] == found
            conn.execute("create temporary table if not exists other (n int)")
            conn.execute("drop table other")
    table = conn.fetch_arrow_table(sql)
    assert table.column(0).to_pylist() == [n for n, _ in wanted]
    assert table.column(1).to_pylist()[18998:] == [*[f"({n})" for n in range(18999, 19999)], "(AAAA)", "(20000)"]


def test_a_type_made_anew_or_altered_is_read_as_it_is(connect: Connect, dba: Any, types: str) -> None:
    conn = connect(options=types, autocommit=True)
    texts = (f"select row({LETTERS}::d)", "select row(row(1, 'happy')::inner_pair)")
    assert [conn.fetchval(sql) for sql in texts] == [(LETTERS,), ((1, "happy"),)]
    dba.executescript(
        "drop domain d cascade; create domain d as bigint; create domain letters as int; "
        "alter type inner_pair add attribute c letters; alter type inner_pair add attribute e letters[]"
    )
    texts = ("select row(1094795585::d)", "select row(row('happy', 1094795585, array[1094795585])::inner_pair)")
    for _ in range(3):
        assert [conn.fetchval(sql) for sql in texts] == [(LETTERS,), (("happy", LETTERS, [LETTERS]),)]
    # A column of the composite type, too.
    old = connect(options=types, autocommit=True)
    assert old.fetchval("select row('happy', 1, null)::inner_pair") == ("happy", 1, None)
    dba.executescript("create domain more as int; alter type inner_pair add attribute f more")
    sql = 'select json_populate_record(null::inner_pair, \'{"c": 1, "f": 1094795585}\')'
    for connection in (conn, old):
        for _ in range(2):
            assert connection.fetchval(sql) == (None, 1, None, LETTERS)


def test_a_type_that_the_snapshot_does_not_have_is_an_error(connect: Connect, dba: Any, types: str) -> None:
    conn = connect(options=types)
    conn.execute("set transaction isolation level repeatable read")
    conn.execute("select 1")
    dba.execute("create domain fresh as int")
    with pytest.raises(errors.DataError, match=r"inside of a record"):
        conn.fetchval("select row(1094795585::fresh)")
    conn.rollback()
    assert conn.fetchval("select row(1094795585::fresh)") == (LETTERS,)


def test_a_failed_transaction_has_an_error_in_place_of_types(connect: Connect, types: str) -> None:
    conn = connect(options=types)
    with pytest.raises(errors.Error), conn.pipeline():
        first = conn.execute(f"select row({LETTERS}::d)")
        conn.execute("select 1 / 0")
    conn.rollback()
    # An event loop may have looked them up before the next statement is sent.
    with contextlib.suppress(errors.Error):
        assert first.fetchall() == [((LETTERS,),)]
    assert conn.fetchval(f"select row({LETTERS}::d)") == (LETTERS,)


def test_a_script_has_an_error_and_no_other_value(connect: Connect, types: str) -> None:
    conn = connect(options=types, autocommit=True)
    with pytest.raises(errors.DataError, match=r"came as text"):
        conn.executescript(f"select row({LETTERS}::d)").fetchall()


def test_records_nested_without_end_are_refused(conn: Any) -> None:
    depth = 200
    with pytest.raises(errors.DataError, match=r"nested"):
        conn.fetchval(f"select {'row(' * depth}1{')' * depth}")
    assert conn.fetchval("select 1") == 1


class Mood(enum.Enum):
    HAPPY = "happy"
    LETTERS = "AAAA"


def test_what_is_registered_applies_in_records_and_not_in_arrow(connect: Connect, types: str) -> None:
    conn = connect(options=types, autocommit=True)
    sql = f"select 'AAAA'::mood as m, array['happy'::mood] as ms, {LETTERS}::d as d"
    plain = conn.fetch_arrow_table(sql)
    oid = conn.fetchval("select 'd'::regtype::oid::int8")
    conn.register_enum("mood", Mood)
    conn.register_adapters(loaders={oid: lambda data: ("own", data)}, binary={oid})
    assert conn.fetchval("select row('AAAA'::mood, 1)") == (Mood.LETTERS, 1)
    assert conn.fetchval(f"select row({LETTERS}::d)") == (("own", b"AAAA"),)
    assert conn.fetch_arrow_table(sql) == plain
    # One that needs the text: an enumeration's is its bytes.
    oid = conn.fetchval("select 'mood'::regtype::oid::int8")
    conn.register_adapters(loaders={oid: lambda data: ("text", data)})
    assert conn.fetchval("select row('AAAA'::mood)") == (("text", b"AAAA"),)
    assert conn.fetch_arrow_table(sql) == plain
