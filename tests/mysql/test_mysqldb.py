"""The facade, where neither mysqlclient's suite nor Django's looks: side by side with mysqlclient itself."""

from __future__ import annotations

import datetime
import enum
import errno
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import MySQLdb
import pytest

from headrace.compat import mysqldb
from headrace.compat.mysqldb import infile
from served import Served


@pytest.fixture(params=[MySQLdb, mysqldb], ids=["mysqlclient", "headrace"])
def connection(request: pytest.FixtureRequest, my_server: Served) -> Iterator[Any]:
    conn = request.param.connect(**my_server.where, database="test")
    yield conn
    if conn.open:
        conn.close()


@pytest.fixture(scope="module")
def connections(my_server: Served) -> Iterator[tuple[Any, Any]]:
    """The modules of mysqlclient and of headrace, and a table that refuses many values."""
    pair = [module.connect(**my_server.where, database="test", autocommit=True) for module in (MySQLdb, mysqldb)]
    with pair[0].cursor() as cursor:
        cursor.execute("drop table if exists errors_of")
        cursor.execute(
            "create table errors_of (id int primary key auto_increment, kind enum('a') not null, short varchar(3), "
            "day date, year year, parent int references errors_of (id), positive int check (positive > 0), "
            "foreign key (parent) references errors_of (id))"
        )
        cursor.execute("insert into errors_of (id, kind) values (1, 'a')")
    yield pair[0], pair[1]
    for conn in pair:
        conn.close()


@pytest.mark.parametrize("value", [b"\xffA", b"1\xff"])
@pytest.mark.parametrize("place", ["%s", "_binary %s", "_binary%s"])
def test_bytes_that_are_no_text_are_a_string(connection: Any, value: bytes, place: str) -> None:
    cursor = connection.cursor()
    cursor.execute("create temporary table bytes_of (n double, v varbinary(30), b blob)")
    with pytest.raises((MySQLdb.Error, mysqldb.Error)) as caught:
        cursor.execute(f"insert into bytes_of (n) values ({place})", (value,))
    assert caught.value.args[0] in (1265, 1366)
    text = "_x _binary _binary x'41'"
    rows = [(value, b"plain"), (b"plain", value), (value, value), (value, text.encode())]
    cursor.executemany(f"insert into bytes_of (v, b) values ({place}, {place})", rows)
    cursor.execute(f"insert into bytes_of (v, b) values ({place}, %s)", (value, text))
    cursor.execute("select v, b from bytes_of")
    assert cursor.fetchall() == (*rows, (value, text.encode()))
    cursor.execute(f"select count(*) from bytes_of where v = {place}", (value,))
    assert cursor.fetchone() == (4,)


@pytest.mark.parametrize("mode", ["", "NO_BACKSLASH_ESCAPES"])
def test_the_mode_of_a_routine_does_not_change_how_text_is_escaped(my_server: Served, mode: str) -> None:
    routines = {
        "procedure": ("without_escapes() set sql_mode = 'NO_BACKSLASH_ESCAPES'", "call without_escapes()"),
        "function": ("with_escapes() returns int no sql begin set sql_mode = ''; return 1; end", "do with_escapes()"),
    }
    with mysqldb.connect(**my_server.where, database="test") as conn, conn.cursor() as cursor:
        for kind, (body, _) in routines.items():
            cursor.execute(f"drop {kind} if exists {body.partition('(')[0]}")
            cursor.execute(f"create {kind} {body}")
        conn.set_sql_mode(mode)
        for _, call in routines.values():
            for text in ("a\\", "\\' or 1=1 -- ", '"'):
                cursor.execute("select @@sql_mode, %s", (text,))
                assert cursor.fetchall() == ((mode, text),)
                cursor.execute(call)
        cursor.execute("set sql_mode = ''")
        cursor.execute("select %s", ("a\\",))
        assert cursor.fetchall() == (("a\\",),)


def test_a_later_statement_that_fails_does_not_hide_the_results_before_it(connection: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("select 1; select 2, 'x'; select * from no_such_table; select 3")
    assert cursor.fetchall() == ((1,),)
    assert cursor.nextset()
    assert cursor.fetchall() == ((2, "x"),)
    with pytest.raises(Exception, match="no_such_table") as caught:
        cursor.nextset()
    assert type(caught.value).__name__ == "ProgrammingError"
    assert caught.value.args[0] == 1146
    cursor.close()
    with connection.cursor() as other:
        other.execute("select 42")
        assert other.fetchall() == ((42,),)


def test_a_select_into_variables_has_no_rows_on_a_streaming_cursor(connection: Any) -> None:
    server_side = (
        sys.modules[connection.cursorclass.__module__].SSCursor if hasattr(connection, "cursorclass") else None
    )
    with connection.cursor(server_side) as cursor:
        cursor.execute("select 7 into @seven")
        assert cursor.description is None
        cursor.execute("select @seven")
        assert cursor.fetchall() == ((7,),)


def test_the_first_statement_that_fails_raises_at_once(connection: Any) -> None:
    with connection.cursor() as cursor:
        with pytest.raises(Exception, match="no_such_table"):
            cursor.execute("select * from no_such_table; select 3")
        cursor.execute("select 42")
        assert cursor.fetchall() == ((42,),)


def test_autocommit_is_off_from_the_first_statement_on(connection: Any) -> None:
    assert connection.get_autocommit() is False
    with connection.cursor() as cursor:
        cursor.execute("drop table if exists facade_off")
        cursor.execute("create table facade_off (n int)")
        cursor.execute("insert into facade_off values (1)")
        connection.rollback()
        cursor.execute("select count(*) from facade_off")
        assert cursor.fetchall() == ((0,),)


def test_a_streaming_cursor_does_not_know_how_many_rows_there_are(connection: Any) -> None:
    with _cursor(connection, "SSCursor") as cursor:
        assert cursor.execute("select n from numbers where n < 3 order by n") == -1
        assert (cursor.fetchmany(2), cursor.rowcount) == (((0,), (1,)), -1)
        assert (cursor.fetchall(), cursor.rowcount) == (((2,),), -1)
        assert cursor.execute("show tables like 'numbers'") == -1
        assert (cursor.fetchall(), cursor.rowcount) == ((("numbers",),), -1)
        cursor.execute("create temporary table counted (n int)")
        assert cursor.execute("insert into counted values (1), (2)") == cursor.rowcount == 2


def _cursor(connection: Any, name: str) -> Any:
    return connection.cursor(getattr(sys.modules[type(connection.cursor()).__module__], name))


@pytest.mark.parametrize("kind", ["json", "longtext", "longblob", "geometry", "varchar(9)", "blob", "int", "double"])
def test_lengths_in_descriptions_are_those_of_mysqldb(connections: tuple[Any, Any], kind: str) -> None:
    found: list[Any] = []
    for conn in connections:
        with conn.cursor() as cursor:
            cursor.execute(f"create temporary table lengths (a {kind}, b {kind} not null)")
            cursor.execute("select a, b from lengths")
            found.append([(name, code, *lengths) for name, code, _, *lengths in cursor.description])
            cursor.execute("drop temporary table lengths")
    assert found[0] == found[1]


class Odd:
    """What a converter of the program refuses."""


@pytest.mark.parametrize("error", [TypeError, ValueError, KeyError, ZeroDivisionError])
def test_what_a_converter_raises_is_the_programs_own(connection: Any, error: type[Exception]) -> None:
    def refused(value: Any, _: Any) -> str:
        raise error("mine")

    connection.encoders[Odd] = refused
    with connection.cursor() as cursor:
        for parameters in ((Odd(),), {"a": Odd()}):
            with pytest.raises(error, match="mine"):
                cursor.execute("select %s" if isinstance(parameters, tuple) else "select %(a)s", parameters)
        with pytest.raises(error, match="mine"):
            cursor.executemany("insert into numbers values (%s)", [(Odd(),)])


@pytest.mark.parametrize(
    ("sql", "parameters", "error"),
    [
        ("select %s, %s", (1,), "ProgrammingError"),
        ("select %s", (1, 2), "ProgrammingError"),
        ("select %d", (1,), "ProgrammingError"),
        ("select %(b)s", {"a": 1}, "KeyError"),
        ("select %y", (1,), "ValueError"),
        ("select %s", ("\ud800",), "UnicodeEncodeError"),
    ],
)
def test_parameters_that_do_not_fit_raise_as_mysqldb(connection: Any, sql: str, parameters: Any, error: str) -> None:
    with connection.cursor() as cursor, pytest.raises(Exception, match=r".") as caught:
        cursor.execute(sql, parameters)
    assert type(caught.value).__name__ == error


@pytest.mark.parametrize(
    "statement",
    [
        "select missing", "select", "select * from missing", "insert into errors_of (id) values (1)",
        "drop table missing", "insert into errors_of (kind) values ('zz')",
        "insert into errors_of (id, short) values (9)", "use missing", "create table errors_of (a int)",
        "create database test", "select (select 1 union select 2)", "select sum(sum(1))",
        "insert into errors_of (short) values ('too long for it')",
        "insert into errors_of (day) values ('yesterday')", "insert into errors_of (year) values (99999)",
        "insert into errors_of (kind, parent) values (null, 1)",
        "insert into errors_of (kind, parent) values ('a', 99)",
        "insert into errors_of (kind, positive) values ('a', -1)", "signal sqlstate '45000' set mysql_errno = 1644",
        "signal sqlstate '45000' set mysql_errno = 1000", "", "select cast(-1 as unsigned) * 2",
        "set character_set_client = nonsense", "kill 4000000000", "set global read_only = default(x)",
        "create table missing.t (a int)", "alter table errors_of drop column missing",
        "select /*+ */ 1 from errors_of a, errors_of a", "insert into errors_of (id, id) values (2, 2)",
        "create table t ()", "create table t (a int) engine = nonsense", "call missing()",
        "grant select on missing.* to nobody_at_all",
    ],
)  # fmt: skip
def test_errors_have_the_classes_of_mysqldb(connections: tuple[Any, Any], statement: str) -> None:
    raised: list[tuple[str, int]] = []
    for conn in connections:
        with conn.cursor() as cursor, pytest.raises(type(conn).Error) as caught:
            cursor.execute(statement)
        raised.append((type(caught.value).__name__, caught.value.args[0]))
    assert raised[0] == raised[1]
    assert connections[1].errno() == raised[1][1]
    assert connections[1].sqlstate() not in ("", "00000")


def test_a_connection_that_was_lost_is_closed_without_an_error(connection: Any, my_server: Served) -> None:
    with mysqldb.connect(**my_server.where) as admin:
        admin.kill(connection.thread_id())
    with pytest.raises(Exception, match=r".") as caught, connection.cursor() as cursor:
        cursor.execute("select 1")
    assert type(caught.value).__name__ == "OperationalError"
    assert connection.open
    connection.close()
    assert not connection.open
    with pytest.raises(type(connection).Error):
        connection.close()


def test_single_precision_is_what_the_server_prints(connection: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("drop table if exists singles")
        cursor.execute("create table singles (a float, b float(12, 4), c double)")
        cursor.execute("insert into singles values (1.1, 12345.6789, 1.1), (-3.4e38, 0, 0), (null, null, null)")
        cursor.execute("select * from singles")
        assert cursor.fetchall() == ((1.1, 12345.6787, 1.1), (-3.4e38, 0.0, 0.0), (None, None, None))
    server_side = sys.modules[type(cursor).__module__].SSCursor
    with connection.cursor(server_side) as cursor:
        cursor.execute("select a, b from singles")
        assert cursor.fetchone() == (1.1, 12345.6787)


def test_what_ibis_asks_a_connection_for_is_there(connections: tuple[Any, Any]) -> None:
    other, ours = connections
    found, usual = ours.get_character_set_info(), other.get_character_set_info()
    # The collation of mysqlclient is its library's, not the session's.
    collation = ours.query("select @@collation_connection") or ours.store_result().fetch_row(0)[0][0]
    assert found == usual | {"collation": collation}
    assert ours._server_version == other._server_version


def test_sqlalchemy_finds_the_flags_of_a_connection_by_the_modules_name() -> None:
    """As its dialect looks for FOUND_ROWS, without which it counts the rows that an UPDATE changed."""
    script = (
        "import headrace.compat.mysqldb as ours; ours.install_as_MySQLdb(); ours.install_as_MySQLdb(); import MySQLdb; "
        "flags = __import__(MySQLdb.__name__ + '.constants.CLIENT').constants.CLIENT; "
        "import MySQLdb.cursors, MySQLdb.constants.ER; print(MySQLdb.__name__, flags.FOUND_ROWS, MySQLdb is ours)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["MySQLdb", "2", "True"]


@pytest.fixture(params=[MySQLdb, mysqldb], ids=["mysqlclient", "headrace"])
def loader(request: pytest.FixtureRequest, my_server: Served) -> Iterator[Any]:
    """A connection that may send files, and an empty table."""
    conn = request.param.connect(**my_server.where, database="test", local_infile=1)
    with conn.cursor() as cursor:
        cursor.execute("create temporary table loaded (a int primary key, b varchar(20))")
    yield conn
    conn.close()


def test_load_data_local_sends_the_file_that_the_statement_names(loader: Any, tmp_path: Path) -> None:
    file = tmp_path / "it's.txt"
    file.write_text("1\tone\n2\ttwo\n")
    with loader.cursor() as cursor:
        assert cursor.execute("/* rows */ load data local infile %s into table loaded", (str(file),)) == 2
        cursor.execute("select a, b from loaded order by a")
        assert cursor.fetchall() == ((1, "one"), (2, "two"))


def test_load_data_local_of_a_missing_file_raises_and_leaves_the_connection_usable(loader: Any, tmp_path: Path) -> None:
    with loader.cursor() as cursor:
        with pytest.raises(Exception, match=r"missing\.txt"):
            cursor.execute("load data local infile %s into table loaded", (str(tmp_path / "missing.txt"),))
        cursor.execute("select count(*) from loaded")
        assert cursor.fetchall() == ((0,),)


def test_a_file_that_no_first_statement_names_is_refused_at_once(my_server: Served, tmp_path: Path) -> None:
    (file := tmp_path / "rows.txt").write_text("1\n")
    with mysqldb.connect(**my_server.where, database="test", local_infile=1) as conn, conn.cursor() as cursor:
        cursor.execute("create temporary table loaded (a int)")
        with pytest.raises(mysqldb.OperationalError, match="refused"):
            cursor.execute(f"set @a = 1; load data local infile '{file}' into table loaded")


def test_without_local_infile_no_file_is_read(my_server: Served, tmp_path: Path) -> None:
    (file := tmp_path / "rows.txt").write_text("1\n")
    with mysqldb.connect(**my_server.where, database="test") as conn, conn.cursor() as cursor:
        cursor.execute("create temporary table loaded (a int)")
        with pytest.raises(mysqldb.MySQLError):
            cursor.execute("load data local infile %s into table loaded", (str(file),))


class Word(str, enum.Enum):
    RED = "red"


class Name(str):
    def __str__(self) -> str:
        return self.upper()


@pytest.mark.parametrize(
    "value",
    [Word.RED, Name("it's"), datetime.time(1, 2, tzinfo=datetime.timezone.utc), datetime.time(1, 2, 3, 4), {"a"}],
    ids=str,
)
def test_literals_are_those_of_mysqlclient(connections: tuple[Any, Any], value: Any) -> None:
    theirs, ours = connections
    assert ours.literal(value) == theirs.literal(value)
    found = []
    for conn in connections:
        with conn.cursor() as cursor:
            cursor.execute("select %s", (value,))
            found.append(cursor.fetchall())
    assert found[0] == found[1]


def test_a_set_has_texts(connection: Any) -> None:
    with pytest.raises(TypeError, match="set elements must be strings"):
        connection.cursor().execute("select %s", ({1},))


class BadDisk(io.BytesIO):
    """A file whose second read fails."""

    name = "rows.txt"

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell():
            raise OSError(errno.EIO, "Input/output error")
        return super().read(size)


def test_a_file_that_cannot_be_read_to_its_end_leaves_no_rows(
    my_server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(infile, "open_file", lambda _: BadDisk(b"1\n2\n"))
    where = {**my_server.where, "database": "test", "autocommit": True}
    with mysqldb.connect(**where) as other, other.cursor() as look:
        look.execute("drop table if exists half")
        look.execute("create table half (a int)")
        conn = mysqldb.connect(**where, local_infile=1)
        with pytest.raises(mysqldb.OperationalError, match=r"'rows\.txt' cannot be read"):
            conn.cursor().execute("load data local infile 'rows.txt' into table half")
        # Waits for the table until the lost session has let go of it.
        look.execute("set lock_wait_timeout = 10")
        look.execute("lock tables half write")
        look.execute("select count(*) from half")
        assert look.fetchall() == ((0,),)
        look.execute("unlock tables")
