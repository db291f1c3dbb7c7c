"""Ways to name a server, modes of databases, code sets, sqlhosts files, TLS and refusals."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace
import headrace.aio
import headrace.informix
from headrace import errors
from headrace.informix.settings import connect_options
from headrace.pool import ConnectionPool
from headrace.testing import InformixServer, informix
from headrace.testing._certificates import Certificates, make_certificates

from .relay import Relay

QUESTION = "select tabname from systables where tabid = 1"


def answers(conn: Any) -> None:
    assert conn.fetchval(QUESTION) == "systables"
    conn.close()


# connection strings


def test_every_way_to_write_a_connection(ifx: InformixServer, url: str) -> None:
    answers(headrace.connect(url))
    answers(headrace.informix.connect(url))
    answers(headrace.connect(ifx.jdbc_url()))
    odbc = (
        f"DRIVER={{IBM INFORMIX ODBC DRIVER}};SERVER={ifx.server};DATABASE={ifx.database};HOST={ifx.host};"
        f"SERVICE={ifx.port};UID={ifx.user};PWD={ifx.password};PROTOCOL=onsoctcp"
    )
    answers(headrace.informix.connect(odbc))
    answers(headrace.informix.connect(**ifx.parameters()))


async def test_every_way_to_write_a_connection_on_a_loop(ifx: InformixServer, url: str) -> None:
    for text in (url, ifx.jdbc_url()):
        conn = await headrace.aio.connect(text)
        assert await conn.fetchval(QUESTION) == "systables"
        await conn.close()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "informix://jo:p%40ss@db.example:1526/stores?server=ol_a",
            ("db.example", 1526, "ol_a", "stores", "jo", "p@ss"),
        ),
        ("informix:///stores?server=ol_a", (None, None, "ol_a", "stores", "", None)),
        ("informix://[::1]/x?server=s&DB_LOCALE=en_us.utf8", ("::1", None, "s", "x", "", None)),
        (
            "jdbc:informix-sqli://db:9090/stores:INFORMIXSERVER=ol_a;user=jo;password=x",
            ("db", 9090, "ol_a", "stores", "jo", "x"),
        ),
        (
            "SERVER=ol_a;DATABASE=stores;UID=jo;PWD=a b;HOST=db;SERVICE=9090",
            ("db", 9090, "ol_a", "stores", "jo", "a b"),
        ),
        (
            "DRIVER={IBM INFORMIX};SERVER=ol_a;PWD={a;b}}c=};UID=jo;HOST=db",
            ("db", None, "ol_a", None, "jo", "a;b}c="),
        ),
        ("SERVER=ol_a;PWD={a;UID=jo", (None, None, "ol_a", None, "jo", "{a")),
    ],
)
def test_settings_are_read(monkeypatch: pytest.MonkeyPatch, text: str, expected: tuple[Any, ...]) -> None:
    monkeypatch.delenv("INFORMIXSERVER", raising=False)
    options = connect_options(text, {})
    found = (options.host, options.port, options.server, options.database, options.user, options.password)
    assert found == expected


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("", {"host": "x"}, "no server was named"),
        ("informix://x/y?server=s&sslmod=require", {}, "did you mean 'sslmode'"),
        ("informix://x:port/y?server=s", {}, "the port in the URL is not a number"),
        ("mumble", {}, "neither"),
        ("SERVER", {}, "neither"),
        ("SERVER=a;HOST", {}, "no value"),
        ("", {"server": "s", "port": "x"}, "port 'x' is not a number"),
        ("", {"server": "s", "lock_wait": "x"}, "lock_wait='x' is not a number"),
        ("informix://jo:s/cr?t@db/y?server=s", {}, "must be percent-encoded"),
        ("informix://x/y?server=s&keepalives=perhaps", {}, "keepalives='perhaps' is neither"),
        ("", {"server": "s", "sslmode": "prefer"}, "sslmode"),
        ("", {"server": "s", "isolation_level": "snapshot"}, "isolation level"),
        ("", {"server": "s\0"}, "NUL"),
    ],
)
def test_wrong_settings_are_named(
    monkeypatch: pytest.MonkeyPatch, text: str, settings: dict[str, Any], message: str
) -> None:
    monkeypatch.delenv("INFORMIXSERVER", raising=False)
    with pytest.raises(errors.ProgrammingError, match=message):
        connect_options(text, settings)


def test_password_is_never_shown(ifx: InformixServer) -> None:
    options = connect_options("", {**ifx.parameters(), "password": "tops3cret"})
    assert "tops3cret" not in repr(options)
    with pytest.raises(errors.InvalidPassword) as caught:
        headrace.informix.connect(**{**ifx.parameters(), "password": "tops3cret"})
    assert "tops3cret" not in str(caught.value) + repr(caught.value)


# refusals


def test_refusals_have_codes(ifx: InformixServer) -> None:
    for setting, value, code in [
        ("password", "wrong", -951),
        ("user", "nobody", -951),
        ("server", "other", -761),
        ("database", "nowhere", -329),
    ]:
        with pytest.raises(errors.OperationalError if setting != "database" else errors.Error) as caught:
            headrace.informix.connect(**{**ifx.parameters(), setting: value})
        assert isinstance(caught.value, errors.Error)
        assert caught.value.sqlcode == code


def test_closed_port_is_connect_failed(ifx: InformixServer) -> None:
    with pytest.raises(errors.OperationalError):
        headrace.informix.connect(**{**ifx.parameters(), "port": 1})
    with pytest.raises(errors.OperationalError, match="unknown"):
        headrace.informix.connect(**{**ifx.parameters(), "host": "nowhere.invalid"})


def test_another_kind_of_server_is_refused_not_misread() -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def speak() -> None:
        client, _ = listener.accept()
        client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        client.close()

    threading.Thread(target=speak, daemon=True).start()
    with pytest.raises(errors.OperationalError, match="onsoctcp"):
        headrace.informix.connect(host="127.0.0.1", port=listener.getsockname()[1], server="s", user="u")
    listener.close()


def test_connect_timeout() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    with pytest.raises(errors.ConnectionTimeout, match=r"0\.2 s"):
        headrace.informix.connect(
            host="127.0.0.1", port=listener.getsockname()[1], server="s", user="u", connect_timeout=0.2
        )
    listener.close()


# modes of databases


def test_ansi_database() -> None:
    with informix(mode="ansi") as server, headrace.informix.connect(**server.parameters()) as conn:
        assert conn.logging == "ansi"
        conn.execute("create table t (a int primary key)")
        conn.commit()
        conn.execute("insert into t values (1)")
        conn.rollback()
        assert conn.fetchval("select count(*) from t") == 0
        conn.executemany("insert into t values (?)", [(n,) for n in range(50)])
        with pytest.raises(errors.IntegrityError) as caught:
            conn.executemany("insert into t values (?)", [(n,) for n in (100, 101, 7, 102)])
        assert caught.value.row == 2
        assert conn.fetchval("select count(*) from t") == 50
        conn.commit()
        with conn.transaction():
            conn.execute("delete from t where a < 10")
        conn.rollback()
        assert conn.fetchval("select count(*) from t") == 40
        conn.commit()
        conn.autocommit = True
        conn.execute("delete from t where a < 20")
        conn.rollback()
        assert conn.fetchval("select count(*) from t") == 30
        with pytest.raises(errors.IntegrityError):
            conn.executemany("insert into t values (?)", [(500,), (501,), (500,)])
        assert conn.fetchval("select count(*) from t") == 30
        with headrace.informix.connect(**server.parameters()) as other:
            assert other.fetchval("select count(*) from t") == 30


@pytest.mark.parametrize("after_error", ["abort", "continue"])
def test_unlogged_database(after_error: Any) -> None:
    with (
        informix(mode="unlogged", after_error=after_error) as server,
        headrace.informix.connect(**server.parameters()) as conn,
    ):
        assert conn.logging == "none"
        conn.execute("create table t (a int primary key)")
        conn.execute("insert into t values (1)")
        conn.rollback()
        assert conn.fetch("select a from t") == [(1,)]
        with pytest.raises(errors.NotSupportedError, match="not logged"), conn.transaction():
            pass
        conn.executemany("insert into t values (?)", [(n,) for n in range(2, 100)])
        with pytest.raises(errors.IntegrityError) as caught:
            conn.executemany("insert into t values (?)", [(n,) for n in (200, 201, 5, 202)])
        assert caught.value.row == 2
        assert {200, 201} <= {a for (a,) in conn.fetch("select a from t where a >= 200")}
        conn.ping()


@pytest.mark.parametrize("autocommit", [True, False])
@pytest.mark.parametrize(("count", "bad"), [(100, 0), (1000, 500), (100, 99), (9000, 5000)])
def test_batches_are_atomic_when_the_server_continues_after_an_error(autocommit: bool, count: int, bad: int) -> None:
    with (
        informix(after_error="continue") as server,
        headrace.informix.connect(**server.parameters(), autocommit=autocommit) as conn,
    ):
        conn.execute("create table t (a int primary key, b varchar(20))")
        conn.execute("insert into t values (-1, 'there')")
        with pytest.raises(errors.UniqueViolation) as caught:
            conn.executemany("insert into t values (?, ?)", [(-1 if n == bad else n, f"row {n}") for n in range(count)])
        assert caught.value.row == bad
        assert conn.fetch("select a from t") == [(-1,)]


# code sets


def test_utf8_database() -> None:
    text = "Grüße \N{SNOWMAN} 漢字 \N{PILE OF POO}"
    with informix(locale="en_US.utf8") as server:
        for settings in ({}, {"DB_LOCALE": "en_US.utf8"}, {"codeset": "utf8"}):
            with headrace.informix.connect(**server.parameters(), **settings) as conn:
                assert conn.encoding == "UTF-8"
                conn.execute("create temp table t (a varchar(60), b lvarchar(100), c nchar(60), d text)")
                conn.execute("insert into t values (?, ?, ?, ?)", (text, text, text, text))
                conn.execute(f"insert into t values ('{text}', '{text}', '{text}', null)")
                rows = conn.fetch("select a, b, c, d from t")
                assert [(a, b, c.rstrip(), d) for a, b, c, d in rows] == [(text,) * 4, (text, text, text, None)]


def test_names_of_columns_in_the_code_set(conn: Any) -> None:
    conn.execute("create temp table t (größe int)")
    conn.execute("insert into t values (1)")
    cursor = conn.execute("select größe from t")
    assert cursor.description[0][0] == "größe"


def test_unknown_code_set_is_named() -> None:
    with pytest.raises(errors.ProgrammingError, match="klingon"):
        headrace.informix.connect(server="s", user="u", codeset="klingon")


# sqlhosts


def test_sqlhosts_file_and_groups(ifx: InformixServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "sqlhosts"
    file.write_text(
        "# comment\n"
        f"{ifx.server}\tonsoctcp\t{ifx.host}\t{ifx.port}\tk=1,b=32767\n"
        "shm_a onipcshm host 0\n"
        "drda drsoctcp host 9089\n"
        "csm_a onsoctcp host 1526 csm=(SPWDCSM),k=1\n"
        f"g_main group - - i=1,e=informix2\n"
        f"down onsoctcp 127.0.0.1 1 g=g_main\n"
        f"informix2 onsoctcp {ifx.host} {ifx.port} g=g_main\n"
        f"g_same group - - i=2\n"
        f"{ifx.server}_x onsoctcp 127.0.0.1 1 g=g_same\n"
    )
    monkeypatch.setenv("INFORMIXSQLHOSTS", str(file))
    login = {"user": ifx.user, "password": ifx.password, "database": ifx.database}
    answers(headrace.informix.connect(server=ifx.server, **login))
    monkeypatch.setenv("INFORMIXSERVER", ifx.server)
    answers(headrace.informix.connect(**login))
    for server in ("shm_a", "drda"):
        with pytest.raises(errors.NotSupportedError, match="onsoctcp"):
            headrace.informix.connect(server=server, **login)
    with pytest.raises(errors.NotSupportedError, match="SPWDCSM"):
        headrace.informix.connect(server="csm_a", **login)
    with pytest.raises(errors.ProgrammingError, match="not in"):
        headrace.informix.connect(server="nowhere", **login)
    with pytest.raises(errors.OperationalError, match="no connection could be made"):
        headrace.informix.connect(server="g_main", **login)
    text = file.read_text().replace("informix2 onsoctcp", f"{ifx.server} onsoctcp").replace("e=informix2", "e=x")
    file.write_text(text)
    answers(headrace.informix.connect(server="g_main", **login))


# TLS


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("tls"), client_name="informix")


@pytest.fixture(scope="module")
def tls_port(ifx: InformixServer, certificates: Certificates) -> Iterator[int]:
    """A TLS listener for the test server, like onsocssl: TLS from the first byte."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server_cert, certificates.server_key)
    with Relay(ifx.host, ifx.port, tls=context) as relay:
        yield relay.port


@pytest.mark.parametrize("sslmode", ["verify-full", "verify-ca", "require"])
def test_tls(ifx: InformixServer, tls_port: int, certificates: Certificates, sslmode: str) -> None:
    given: dict[str, Any] = {**ifx.parameters(), "port": tls_port, "sslmode": sslmode}
    with headrace.informix.connect(**given, sslrootcert=str(certificates.ca)) as conn:
        assert "TLS" in (conn._core.wire.tls_info() or "")
        conn.execute("create temp table t (a int, b varchar(200))")
        rows = [(n, "x" * 200) for n in range(5000)]
        conn.executemany("insert into t values (?, ?)", rows)
        assert conn.fetch("select a, b from t order by a") == rows
        with pytest.raises(errors.NotSupportedError, match="TLS"):
            conn.cancel()


async def test_tls_on_a_loop(ifx: InformixServer, tls_port: int, certificates: Certificates) -> None:
    given: dict[str, Any] = {**ifx.parameters(), "port": tls_port, "sslmode": "verify-full"}
    conn = await headrace.aio.informix.connect(**given, sslrootcert=str(certificates.ca))
    assert await conn.fetchval(QUESTION) == "systables"
    await conn.close()


@pytest.mark.slow
def test_tls_is_verified(ifx: InformixServer, tls_port: int, certificates: Certificates) -> None:
    given: dict[str, Any] = {**ifx.parameters(), "port": tls_port, "sslrootcert": str(certificates.other_ca)}
    for sslmode in ("verify-full", "verify-ca"):
        with pytest.raises(errors.OperationalError, match="certificate"):
            headrace.informix.connect(**given, sslmode=sslmode)
    with pytest.raises(errors.OperationalError):
        headrace.informix.connect(**{**ifx.parameters(), "sslmode": "require", "connect_timeout": 2})


@pytest.mark.slow
def test_timeout_over_tls_closes_the_connection(
    ifx: InformixServer, tls_port: int, certificates: Certificates, slow: str, conn: Any
) -> None:
    conn.commit()
    given: dict[str, Any] = {**ifx.parameters(), "port": tls_port, "sslmode": "verify-full"}
    secured = headrace.informix.connect(**given, sslrootcert=str(certificates.ca))
    with pytest.raises(TimeoutError):
        secured.cursor().execute(slow, timeout=0.2)
    assert secured.closed


# settings of the session


def test_isolation_and_lock_mode(ifx: InformixServer) -> None:
    with headrace.informix.connect(**ifx.parameters(), isolation_level="dirty read", lock_wait=5) as conn:
        assert (conn.isolation_level, conn.lock_wait) == ("dirty read", 5)
        for level in ("committed read", "cursor stability", "repeatable read", "last committed", "serializable"):
            conn.isolation_level = level
            assert conn.isolation_level == level
        with pytest.raises(errors.ProgrammingError, match="isolation"):
            conn.isolation_level = "snapshot"
        conn.lock_wait = 0
        conn.ping()


def test_lock_timeouts_are_errors(ifx: InformixServer, table: str) -> None:
    with (
        headrace.informix.connect(**ifx.parameters()) as first,
        headrace.informix.connect(**ifx.parameters(), lock_wait=0) as second,
    ):
        first.execute(f"create table {table} (a int)")
        first.commit()
        first.execute(f"insert into {table} values (1)")
        with pytest.raises(errors.LockNotAvailable) as caught:
            second.execute(f"insert into {table} values (2)")
        assert caught.value.isamcode in (-107, -113, -154)
        first.commit()
        second.rollback()
        second.execute(f"insert into {table} values (2)")
        second.commit()


def test_delimited_identifiers(ifx: InformixServer) -> None:
    with headrace.informix.connect(**ifx.parameters(), DELIMIDENT="y") as conn:
        conn.execute('create temp table t ("Two Words" int)')
        cursor = conn.execute('select "Two Words" from t')
        assert cursor.description is not None
        assert cursor.description[0][0] == "Two Words"


def test_routines(conn: Any) -> None:
    conn.execute("create function twice(a int) returning int; return a * 2; end function")
    assert conn.execute("execute function twice(21)").fetchall() == [(42,)]
    assert conn.execute("execute function twice(?)", (4,)).fetchall() == [(8,)]
    cursor = conn.cursor()
    assert cursor.callproc("twice", (5,)) == (5,)
    assert cursor.fetchall() == [(10,)]
    with pytest.raises(errors.ProgrammingError, match="is not the name of a routine"):
        cursor.callproc("twice(1); drop table x", ())


def test_pool_of_threads(url: str) -> None:
    with ConnectionPool(url, min_size=1, max_size=3) as pool:
        wrong: list[Any] = []

        def work(n: int) -> None:
            for _ in range(20):
                with pool.connection() as conn:
                    got = conn.fetchval("select tabid from systables where tabid = ?", n % 3 + 1)
                    if got != n % 3 + 1:
                        wrong.append(got)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
        assert pool.stats().size <= 3


def test_pool_rolls_back_what_was_left_open(url: str, table: str) -> None:
    with ConnectionPool(url, min_size=1, max_size=1) as pool:
        with pool.connection() as conn:
            conn.execute(f"create table {table} (a int)")
        conn = pool.getconn()
        conn.execute(f"insert into {table} values (1)")
        pool.putconn(conn)
        with pool.connection() as conn:
            assert conn.fetchval(f"select count(*) from {table}") == 0


# a password that is asked for


async def test_password_function_is_called_for_each_connection(ifx: InformixServer) -> None:
    where, calls = ifx.parameters(), []

    def password() -> str:
        calls.append("blocking")
        return str(where["password"])

    async def later() -> str:
        calls.append("asyncio")
        return str(where["password"])

    for _ in range(2):
        with headrace.informix.connect(**{**where, "password": password}) as conn:
            assert conn.fetchval("select 1 from systables where tabid = 1") == 1
        async with await headrace.aio.informix.connect(**{**where, "password": later}) as loop_conn:
            assert await loop_conn.fetchval("select 1 from systables where tabid = 1") == 1
    assert calls == ["blocking", "asyncio"] * 2
    with pytest.raises(errors.ProgrammingError, match="asynchronous"):
        headrace.informix.connect(**{**where, "password": later})
