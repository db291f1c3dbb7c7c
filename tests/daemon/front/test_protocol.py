"""What a client of PostgreSQL relies on, on each database behind the front."""

from __future__ import annotations

import psycopg
import pytest

from ..raw import EXECUTE, SYNC, Client, bind, close, describe, message, messages, parse, query, values
from .conftest import Front
from .plain import PlainClient
from .test_left_state import STATE


def test_a_statement_without_parameters_and_one_with(front: Front) -> None:
    front.table("people", "id int primary key, name varchar(20)")
    with front.psycopg() as client:
        assert client.execute("insert into people values (%s, %s)", (1, "Ada")).rowcount == 1
        assert client.execute("insert into people values (%s, %s)", (2, None)).rowcount == 1
        assert client.execute("select id, name from people order by id").fetchall() == [(1, "Ada"), (2, None)]
        assert client.execute("select name from people where id = %s", (1,), binary=True).fetchone() == ("Ada",)
        assert client.execute("update people set name = %s where id > %s", ("Bob", 0)).rowcount == 2
        assert client.execute("delete from people where id = %s", (2,)).rowcount == 1


@pytest.mark.parametrize("text", ["", " ", "-- none", "/* none */", ";", "; -- none\n;"])
def test_a_text_without_a_statement_is_answered_so(front: Front, text: str) -> None:
    with Client.local(front.socket, user="anyone", database=front.name) as client:
        assert [tag for tag, _ in messages(client.ask(query(text)))] == [b"I", b"Z"]


def test_a_transaction_is_one_of_the_server(front: Front) -> None:
    front.table("entries", "n int primary key")
    with front.psycopg() as client, front.psycopg() as other:
        client.execute("insert into entries values (1)")
        client.rollback()
        client.execute("insert into entries values (2)")
        with client.transaction():
            client.execute("insert into entries values (3)")
            with pytest.raises(ZeroDivisionError), client.transaction():
                client.execute("insert into entries values (4)")
                raise ZeroDivisionError
            client.execute("insert into entries values (5)")
        client.commit()
        assert other.execute("select n from entries order by n").fetchall() == [(2,), (3,), (5,)]


def test_a_savepoint_outlives_a_rollback_to_it(front: Front) -> None:
    front.table("entries", "n int primary key")
    with front.psycopg() as client:
        client.execute("insert into entries values (1)")
        client.execute("savepoint a")
        for n in (2, 3):
            client.execute("insert into entries values (%s)", (n,))
            client.execute("rollback to savepoint a")
        client.execute("release savepoint a")
        client.commit()
        assert client.execute("select n from entries").fetchall() == [(1,)]


def test_an_error_has_a_sqlstate_and_the_server_s_number(front: Front) -> None:
    front.table("entries", "n int primary key")
    with front.psycopg(autocommit=True) as client:
        client.execute("insert into entries values (1)")
        with pytest.raises(psycopg.errors.UniqueViolation) as failed:
            client.execute("insert into entries values (%s)", (1,))
        number = {"mariadb": "1062", "informix": "-268", "cubrid": "-670"}[front.name]
        assert number in str(failed.value.diag.message_detail)
        with pytest.raises(psycopg.errors.UndefinedTable):
            client.execute("select * from nowhere")
        assert client.execute("select n from entries").fetchall() == [(1,)]


def test_several_statements_in_a_text_end_with_the_first_error(front: Front) -> None:
    front.table("entries", "n int primary key")
    with front.psycopg(autocommit=True) as client:
        cursor = client.execute("insert into entries values (1); select n from entries; select n + 1 from entries")
        assert cursor.nextset()
        assert cursor.fetchall() == [(1,)]
        assert cursor.nextset()
        assert cursor.fetchall() == [(2,)]
        with pytest.raises(psycopg.errors.UndefinedTable):
            client.execute("insert into entries values (2); select n from nowhere; insert into entries values (3)")
        assert client.execute("select n from entries order by n").fetchall() == [(1,), (2,)]


def test_a_pipeline_ends_with_its_first_error(front: Front) -> None:
    front.table("entries", "n int primary key")
    with front.psycopg(autocommit=True) as client:
        with pytest.raises(psycopg.errors.UniqueViolation), client.pipeline():
            for n in (1, 1, 2):
                client.execute("insert into entries values (%s)", (n,))
            for n in range(100):
                client.execute("select n from entries where n = %s", (n,))
        with client.pipeline():
            reads = [client.execute("select n from entries where n = %s", (n,)) for n in range(300)]
            found = [cursor.fetchall() for cursor in reads]
        assert found == [[(1,)] if n == 1 else [] for n in range(300)]


def test_nothing_comes_between_an_error_and_the_end_of_its_group(front: Front) -> None:
    fails = parse("", "select n from nowhere") + bind("") + EXECUTE
    one = f"select 1{front.one_row}"
    with Client.local(front.socket, user="anyone", database=front.name) as client:
        for then in (
            parse("x", one) + describe("x") + bind("x") + EXECUTE,
            close("x") + parse("x", "select n from nowhere_else") + describe("x"),
            parse("x", one) + bind("x") + message(b"D", b"P\0") + EXECUTE,
            parse("x", "show timezone") + bind("x") + EXECUTE,
            bind("unknown"),
            query(one),
        ):
            received = client.ask(fails + then + SYNC)
            assert [tag for tag, _ in messages(received)] == [b"1", b"2", b"E", b"Z"]
            assert values(client.ask(query(one))) == ["1"]


def test_questions_that_clients_ask_are_answered(front: Front) -> None:
    with front.psycopg(autocommit=True) as client:
        assert "headraced" in client.execute("select pg_catalog.version()").fetchone()[0]  # type: ignore[index]
        client.execute("set application_name to 'a test'")
        assert client.execute("show application_name").fetchone() == ("a test",)
        assert client.info.parameter_status("application_name") == "a test"
        assert client.execute("show transaction isolation level").fetchone() == ("read committed",)
        assert client.execute("show standard_conforming_strings").fetchone() == ("on",)
        assert client.execute("select current_schema()").fetchone()
        client.execute("discard all")
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="exists only in PostgreSQL"):
            client.execute("select * from pg_catalog.pg_class")


def test_copy_to_stdout_streams_rows(front: Front) -> None:
    front.table("words", "n int primary key, word varchar(30)")
    with front.psycopg() as client:
        for n, word in enumerate(["a\tb", "back\\slash", None, '"quoted", with a comma']):
            client.execute("insert into words values (%s, %s)", (n, word))
        with client.cursor().copy("copy (select n, word from words order by n) to stdout") as copy:
            assert list(copy.rows()) == [
                ("0", "a\tb"), ("1", "back\\slash"), ("2", None), ("3", '"quoted", with a comma'),
            ]  # fmt: skip
        with client.cursor().copy("copy (select n, word from words order by n) to stdout (format csv, header)") as copy:
            text = b"".join(bytes(block) for block in copy).decode()
        assert text == 'n,word\n0,a\tb\n1,back\\slash\n2,\n3,"""quoted"", with a comma"\n'
        with client.cursor().copy("copy (select n, word from words order by n) to stdout (format binary)") as copy:
            copy.set_types(["int4", "text"])
            assert list(copy.rows())[2:] == [(2, None), (3, '"quoted", with a comma')]


def test_a_portal_delivers_its_rows_in_parts(front: Front) -> None:
    front.table("entries", "n int primary key")
    with front.direct() as admin:
        admin.executemany("insert into entries values (?)", [(n,) for n in range(250)])
    with front.psycopg() as client:
        cursor = client.cursor()
        found = [row[0] for row in cursor.stream("select n from entries order by n")]
        assert found == list(range(250))


def test_comments_after_a_statement_reach_the_server(front: Front) -> None:
    with front.psycopg(autocommit=True) as client:
        assert client.execute(f"select 1{front.one_row} -- one;".encode()).fetchall() == [(1,)]
        assert client.execute(f"select 1{front.one_row} /* ; */ ; /* none */".encode()).fetchall() == [(1,)]


def test_comment_that_mariadb_executes_is_executed(fronts: dict[str, Front]) -> None:
    with fronts["mariadb"].psycopg(autocommit=True) as client:
        assert client.execute("select 1 /*! + 1 */").fetchall() == [(2,)]
        client.execute("/*!40101 SET @a=3 */;")
        assert client.execute("select @a /*!99999 + 1 */;").fetchall() == [(3,)]


def test_texts_are_read_in_the_sql_mode_of_the_session(fronts: dict[str, Front]) -> None:
    with PlainClient(fronts["mariadb"]) as client:
        text = "select concat('a\\', ';$1 b')"
        assert client.query("set sql_mode = 'NO_BACKSLASH_ESCAPES'") == []
        assert client.query(text) == ["a\\;$1 b"]
        assert values(client.ask(parse("", text) + bind("") + EXECUTE + SYNC)) == ["a\\;$1 b"]
        assert client.query("set sql_mode = ''") == []
        assert client.query(f"set sql_mode = 'NO_BACKSLASH_ESCAPES'; {text}") == ["a\\;$1 b"]
        assert client.query("set sql_mode = ''") == []
        changing = parse("", "set sql_mode = 'NO_BACKSLASH_ESCAPES'") + bind("") + EXECUTE
        assert values(client.ask(changing + parse("", text) + bind("") + EXECUTE + SYNC)) == ["a\\;$1 b"]


def test_simple_protocol_has_no_message_for_a_statement_without_rows(front: Front) -> None:
    table = front.table("silent", "n int primary key")
    leaves = STATE[front.name][0]
    with PlainClient(front) as client:
        assert client.tags(query(f"insert into {table} values (1)")) == "CZ"
        assert client.tags(query(f"insert into {table} values (2); select n from {table}")) == "CTDDCZ"
        assert client.tags(query(leaves)) == "CZ"
        assert client.tags(query(";")) == client.tags(query("")) == client.tags(query("-- none")) == "IZ"
        insert = parse("", f"insert into {table} values (3)") + bind("")
        assert client.tags(insert + message(b"D", b"P\0") + EXECUTE + SYNC) == "12nCZ"


def test_columns_and_tables_of_the_user_may_be_called_as_in_postgresql(front: Front) -> None:
    with PlainClient(front) as client:
        table = front.table("pg_ratings", "pg_rating int primary key, pg_type int")
        assert client.query(f"insert into {table} (pg_rating, pg_type) values (1, 2)") == []
        assert client.query(f"select pg_type from {table} where pg_rating = 1") == ["2"]
