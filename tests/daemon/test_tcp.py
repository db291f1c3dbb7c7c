"""Clients on TCP: only where the configuration says so, with SCRAM-SHA-256 and TLS. The faults that poolers have had in
their logins are tried, with their numbers."""

from __future__ import annotations

import os
import re
import socket
import ssl
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest

import headrace
from headrace.testing import PostgresServer
from headrace.testing._certificates import Certificates, make_certificates
from toolchains import java_command

from .conftest import START_SECONDS, Daemon, config, started
from .raw import Client, message, query, startup, values
from .test_status import ask

PASSWORD = "correct horse"
SSL_REQUEST = struct.pack("!ii", 8, 80877103)
EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass
class OnTcp:
    """A daemon that clients reach over TCP, with TLS and without."""

    daemon: Daemon
    port: int
    certificates: Certificates

    def where(self, database: str = "app", user: str = "jo", **more: Any) -> dict[str, Any]:
        """Keywords of libpq: certificate and name are verified, and the login is bound to the certificate."""
        given = {"sslmode": "verify-full", "sslrootcert": self.certificates.ca, "channel_binding": "require", **more}
        return {
            "host": "localhost", "port": self.port, "dbname": database, "user": user, "password": PASSWORD, **given
        }  # fmt: skip

    def answer(self, *messages: bytes) -> bytes:
        """What the daemon answers to these, each sent once something was received for the one before."""
        received = b""
        with socket.create_connection(("localhost", self.port), START_SECONDS) as raw:
            for message in messages:
                raw.sendall(message)
                if message is not messages[-1]:
                    received += raw.recv(65536)
            raw.shutdown(socket.SHUT_WR)
            while block := raw.recv(65536):
                received += block
        return received


@pytest.fixture(scope="module")
def tcp(program: Path, server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnTcp]:
    folder = tmp_path_factory.mktemp("tcp")
    certificates = make_certificates(folder, client_name="jo")
    certificates.server_key.chmod(0o600)
    text = (
        f'[daemon]\nlisten = ["127.0.0.1:0"]\n'
        f'tls_cert = "{certificates.server_cert}"\ntls_key = "{certificates.server_key}"\n'
        f'admin_users = ["chief", "limited"]\n[clients.chief]\npassword = "{PASSWORD}"\n'
        f'[clients.jo]\npassword = "{PASSWORD}"\n[clients.limited]\npassword = "{PASSWORD}"\ndatabases = ["one"]\n'
        + config(server, app="", one="pool_size = 1", asks="ask_password = true")
    )
    with started(program, folder, text, server) as daemon:
        assert daemon.process.stdout is not None
        said = daemon.process.stdout.readline()
        assert said.startswith("headraced: listening on 127.0.0.1:")
        yield OnTcp(daemon, int(said.rpartition(":")[2]), certificates)


def initial(first: bytes, mechanism: bytes = b"SCRAM-SHA-256") -> bytes:
    """SASLInitialResponse."""
    return message(b"p", mechanism + b"\0" + struct.pack("!i", len(first)) + first)


def test_clients_of_libpq_and_our_own_are_bound_to_the_certificate(tcp: OnTcp) -> None:
    with psycopg.connect(**tcp.where()) as client:
        assert client.execute("select %s::int + 1", (41,)).fetchone() == (42,)
    with headrace.connect(**tcp.where(), autocommit=True) as conn:
        assert conn.fetchval("select current_user") == "postgres"
        assert conn.executemany("select %s::int", [(n,) for n in range(1000)])
    told = " ".join(f"{name}='{value}'" for name, value in tcp.where().items())
    said = subprocess.run(["psql", "-XAt", told, "-c", "select 42"], capture_output=True, text=True, check=True)
    assert said.stdout == "42\n"


async def test_asyncpg_logs_in_by_scram(tcp: OnTcp) -> None:
    trusted = ssl.create_default_context(cafile=str(tcp.certificates.ca))
    client: Any = await asyncpg.connect(
        host="localhost", port=tcp.port, database="app", user="jo", password=PASSWORD, ssl=trusted
    )
    assert await client.fetchval("select $1::text", "ä" * 100_000) == "ä" * 100_000
    await client.close()


def test_pgjdbc_logs_in_by_scram(tcp: OnTcp) -> None:
    with headrace.connect(tcp.daemon.server.url, autocommit=True) as admin:
        admin.executescript("drop table if exists over_tcp; create table over_tcp (id int primary key, name text)")
        admin.executescript("insert into over_tcp select n, 'name ' || n from generate_series(0, 49) n")
    environment = {**os.environ, "PGUSER": "jo", "PGPASSWORD": PASSWORD, "PGSSLROOTCERT": str(tcp.certificates.ca)}
    command = [*java_command(EXAMPLES / "daemon-java"), "Daemon", f"localhost:{tcp.port}", "app", "over_tcp"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=100)
    assert done.stdout.splitlines() == ["java 8", "rows 50", "changed 2", "refused 42P01"], done.stderr


def test_loopback_may_do_without_tls_and_never_without_the_password(tcp: OnTcp) -> None:
    plain = {"sslmode": "disable", "channel_binding": "disable"}
    with psycopg.connect(**tcp.where(**plain)) as client:
        assert client.execute("select 42").fetchone() == (42,)
    for wrong in ({"password": "battery staple"}, {"user": "nobody"}, {"user": "postgres"}, {"password": "x" * 5000}):
        for more in (plain, {}):
            with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
                psycopg.connect(**tcp.where(**{**more, **wrong}))


def test_clients_use_their_databases_and_name_no_server(tcp: OnTcp) -> None:
    with psycopg.connect(**tcp.where("one", "limited")) as client:
        assert client.execute("select 42").fetchone() == (42,)
    with pytest.raises(psycopg.OperationalError, match="may not use database"):
        psycopg.connect(**tcp.where("app", "limited"))
    with pytest.raises(psycopg.OperationalError, match="on the Unix socket only"):
        psycopg.connect(**tcp.where("asks"))
    with pytest.raises(headrace.OperationalError):
        headrace.connect(tcp.daemon.server.url, host="localhost", port=tcp.port, user="jo", password="wrong")


def test_console_is_for_operators_who_have_logged_in(tcp: OnTcp) -> None:
    with psycopg.connect(**tcp.where("pgbouncer", "chief"), autocommit=True) as operator:
        cursor = operator.execute("show clients")
        assert cursor.description is not None
        at = [column.name for column in cursor.description].index("tls")
        assert [row[at] for row in cursor] == ["TLS"]
    for user, why in (("jo", "may not use the console"), ("limited", "may not use database"), ("pgbouncer", "failed")):
        with pytest.raises(psycopg.OperationalError, match=why):
            psycopg.connect(**tcp.where("pgbouncer", user))


def test_cancel_request_comes_over_tls_too(tcp: OnTcp) -> None:
    with headrace.connect(**tcp.where(), autocommit=True) as conn:
        with pytest.raises(TimeoutError):
            conn.execute("select pg_sleep(60)", timeout=0.2)
        assert conn.fetchval("select 1") == 1


def test_what_is_sent_before_the_handshake_is_not_taken_for_encrypted(tcp: OnTcp) -> None:
    """CVE-2021-3935, CVE-2021-43766: what somebody puts between the request for TLS and the handshake."""
    said = tcp.answer(SSL_REQUEST + startup(user="jo", database="app"))
    assert said[:1] == b"E"
    assert b"not encrypted" in said


def test_second_startup_message_during_the_login_is_refused(tcp: OnTcp) -> None:
    """CVE-2026-107350: the login goes on as somebody else."""
    for second in (startup(user="limited", database="one"), startup(user="jo", database="not_there")):
        said = tcp.answer(startup(user="jo", database="not_there"), second)
        assert said.startswith(b"R")
        assert b"C08P01" in said
        said = tcp.answer(startup(user="jo", database="app"), initial(b"n,,n=,r=abc"), second)
        assert b"C08P01" in said


def test_nobody_is_let_in_without_a_login(tcp: OnTcp) -> None:
    """CVE-2015-6817: a user that does not exist; CVE-2015-4054: messages in another order. A query changes nothing."""
    query = message(b"Q", b"select 42\0")
    for messages in (
        (message(b"p", b"secret\0"),),
        (query,),
        (startup(user="jo", database="app") + query,),
        (startup(user="jo", database="app"), query),
        (startup(user="jo", database="app"), message(b"p", PASSWORD.encode() + b"\0")),
        (startup(user="jo", database="app"), initial(b"", b"PLAIN")),
        (startup(user="jo", database="app"), initial(b"n,,n=,r=abc"), message(b"p", b"")),
        (startup(user="jo", database="app"), initial(b"n,,n=,r=abc"), message(b"p", b"c=biws,r=abc,p=AAAA")),
        (startup(user="jo", database="app"), message(b"p", b"SCRAM-SHA-256\0" + b"\xff\xff\xff\xff")),
        (startup(database="app"), initial(b"n,,n=,r=abc"), message(b"p", b"c=biws,r=abc,p=AAAA")),
    ):
        said = tcp.answer(*messages)
        assert b"C08P01" in said or b"C28" in said, said
        # The value of a row; a nonce may have these two characters.
        assert b"\0\0\0\x0242" not in said
        assert b"Z\0\0\0\5" not in said
    assert tcp.daemon.process.poll() is None


def test_a_reload_does_not_show_which_users_there_are(tcp: OnTcp) -> None:
    """By salts that change for these and not for others."""

    def salts() -> list[bytes]:
        said = [
            tcp.answer(startup(user=user, database="app"), initial(b"n,,n=,r=abc"), message(b"p", b""))
            for user in ("jo", "chief", "nobody")
        ]
        return [re.findall(rb",s=([^,]+),", each)[0] for each in said]

    before = salts()
    assert len(set(before)) == len(before)
    assert ask(tcp.daemon, "POST", "/reload")[0] == 200
    assert salts() == before
    with headrace.connect(**tcp.where()) as conn:
        assert conn.fetchval("select 1") == 1


def test_lengths_that_no_message_has_are_refused_at_once(tcp: OnTcp) -> None:
    """CVE-2026-107348: a length above 2^31; CVE-2026-107349: options without a name."""
    for first in (b"\x80\0\0\0\0\3\0\0", b"\xff\xff\xff\xff", struct.pack("!ii", 10_001, 196608)):
        assert b"C08P01" in tcp.answer(first)
    login = startup(user="jo", database="app")
    for tag in (b"p\x80\0\0\0", b"p\xff\xff\xff\xff", b"p\0\0\0\0"):
        assert b"C08P01" in tcp.answer(login, tag)
    for options in ("-c=", "-c =", "-c", "--=x", "-c search_path"):
        with psycopg.connect(**tcp.where(), autocommit=True) as client:
            assert client.execute("select 1").fetchone() == (1,)
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(**tcp.where(options=options))


@pytest.mark.parametrize("length", [1, 100, 0x7FFFFFFF, -0x80000000, -2, -100])
@pytest.mark.parametrize("first", [b"", b"n,,n=,r=abc"])
def test_length_within_a_message_of_the_login_is_not_believed(tcp: OnTcp, first: bytes, length: int) -> None:
    """CVE-2026-6664: a length in a message of SCRAM is added to, and overflows."""
    login = startup(user="jo", database="app")
    said = tcp.answer(login, message(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", length) + first))
    assert b"C08P01" in said or b"C28" in said, said
    with psycopg.connect(**tcp.where()) as client:
        assert client.execute("select 42").fetchone() == (42,)


@pytest.mark.parametrize("field", ["user", "database", "application_name", "not_a_setting"])
def test_names_of_any_length_are_no_more_than_wrong(tcp: OnTcp, field: str) -> None:
    """CVE-2012-4575: the name of a database is longer than the pooler has room for."""
    for length in (63, 64, 128, 1024, 9_900, 100_000):
        fields = {"user": "jo", "database": "app", field: "x" * length}
        said = tcp.answer(startup(**fields))
        assert said[:1] in (b"R", b"E"), (length, said)
        with Client.local(tcp.daemon.socket, user="me", database="one") as client:
            assert values(client.ask(query("select 42"))) == ["42"]
        with socket.socket(socket.AF_UNIX) as raw:
            raw.connect(str(tcp.daemon.socket))
            raw.sendall(startup(**{**fields, "user": "me" if field != "user" else "x" * length}))
            assert raw.recv(65536)[:1] in (b"R", b"E")
    assert tcp.daemon.process.poll() is None


def test_search_path_of_a_client_is_no_sql(tcp: OnTcp) -> None:
    """CVE-2025-12819: a search path from the StartupMessage reaches statements of the pooler's own."""
    with headrace.connect(tcp.daemon.server.url, autocommit=True) as admin:
        admin.executescript(
            "create schema if not exists evil;"
            "create or replace function evil.set_config(text, text, boolean) returns text language sql as"
            " $$ select 'caught' $$"
        )
    path = "evil, pg_catalog'; create table injected (); --"
    with headrace.connect(**tcp.where("one"), autocommit=True) as conn:
        conn.execute("select pg_catalog.set_config('search_path', %s, false)", ("evil, pg_catalog",))
        assert conn.fetchval("show search_path") == "evil, pg_catalog"
    with pytest.raises(headrace.Error):
        headrace.connect(**tcp.where("one"), options=f"-c search_path={path}").execute("select 1")
    with headrace.connect(**tcp.where("one"), autocommit=True) as conn:
        assert conn.fetchval("select to_regclass('injected') is null")
        assert conn.fetchval("show search_path") == '"$user", public'


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ('listen = ["0.0.0.0:0"]\n[clients.jo]\npassword = "x"', "can be reached from other machines"),
        ('listen = ["localhost:1"]\n[clients.jo]\npassword = "x"', "is not an address with a port"),
        ('listen = ["127.0.0.1:0"]', "no client may log in"),
        ('listen = ["127.0.0.1:0"]\n[clients.jo]', "one of password, password_file and password_env"),
        ('listen = ["127.0.0.1:0"]\n[clients.jo]\npassword = ""', "the password is empty"),
        ('listen = ["127.0.0.1:0"]\ntls_cert = "x"\n[clients.jo]\npassword = "x"', "must be set together"),
        ('tls_cert = "/dev/null"\ntls_key = "KEY"', "may be read by other users"),
        ('listen = ["127.0.0.1:0"]\ntls_client_ca = "x"\n[clients.jo]\npassword = "x"', "needs tls_cert and tls_key"),
        ('listen = ["127.0.0.1:0"]\n[clients.jo]\ncert_names = ["jo"]', "cert_names needs tls_client_ca"),
    ],
)
def test_configuration_that_would_be_open_is_refused(program: Path, folder: Path, lines: str, told: str) -> None:
    key = folder / "key"
    key.touch(mode=0o644)
    (folder / "c.toml").write_text(f"databases = {{}}\n[daemon]\n{lines.replace('KEY', str(key))}\n")
    command = [program, "--config", folder / "c.toml", "--folder", folder / "run"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=START_SECONDS)
    assert done.returncode == 1
    assert told in done.stderr
