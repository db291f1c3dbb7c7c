"""Clients on TCP whose passwords the server has, and clients with certificates."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

import headrace
from headrace.testing import PostgresServer, postgres
from headrace.testing._certificates import Certificates, make_certificates, signed

from .conftest import Daemon, config, started

PASSWORD, OTHER = "correct horse", "battery staple"
HOLDS_SECONDS = 5
"""How long the daemon takes an answer of the server to hold."""


@dataclass
class Logins:
    """A daemon on TCP, and its server."""

    daemon: Daemon
    port: int
    certificates: Certificates
    server: PostgresServer

    def connect(self, user: str, database: str = "asked", **more: Any) -> psycopg.Connection[Any]:
        """A client."""
        given = {"sslmode": "verify-full", "sslrootcert": self.certificates.ca, **more}
        return psycopg.connect(host="localhost", port=self.port, dbname=database, user=user, autocommit=True, **given)

    def refused(self, user: str, database: str = "asked", **more: Any) -> str:
        """What a client is told that is not let in."""
        with pytest.raises(psycopg.OperationalError) as caught:
            self.connect(user, database, **more)
        return str(caught.value)

    def run(self, script: str) -> None:
        """Runs a script as the superuser."""
        with headrace.connect(self.server.url, autocommit=True) as admin:
            admin.executescript(script)


@pytest.fixture(scope="module")
def logins(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Logins]:
    folder = tmp_path_factory.mktemp("logins")
    certificates = make_certificates(folder, client_name="Joan")
    (folder / "other").mkdir()
    signed(folder / "eve.crt", folder / "eve.key", folder, "eve", "extendedKeyUsage=clientAuth")
    foreign = make_certificates(folder / "other", client_name="Joan")
    assert foreign.client_cert.exists()
    with postgres(hba=["host all pooler 127.0.0.1/32 scram-sha-256"]) as server, contextlib.ExitStack() as closing:
        with headrace.connect(server.url, autocommit=True) as admin:
            admin.executescript(
                f"create role pooler login superuser password '{OTHER}';"
                "create table public.users (name text primary key, verifier text)"
            )
        asks = f'[databases.NAME.auth_query]\nuser = "pooler"\npassword = "{OTHER}"'
        listed = asks + "\nquery = 'select name, verifier from public.users where name = $1'"
        text = (
            f'[daemon]\nlisten = ["127.0.0.1:0"]\ntls_client_ca = "{certificates.ca}"\n'
            f'tls_cert = "{certificates.server_cert}"\ntls_key = "{certificates.server_key}"\n'
            '[clients.jo]\ncert_names = ["Joan", "jo"]\ndatabases = ["app"]\n'
            f'[clients.both]\ncert_names = ["Joan"]\npassword = "{PASSWORD}"\n'
            f'[clients.plain]\npassword = "{PASSWORD}"\n'
            + config(server, app="", asked=asks.replace("NAME", "asked"), listed=listed.replace("NAME", "listed"))
            + config(server, broken=asks.replace("NAME", "broken") + "\nquery = 'select no_such_column, $1::text'")
        )
        daemon = closing.enter_context(started(program, folder, text, server))
        assert daemon.process.stdout is not None
        yield Logins(daemon, int(daemon.process.stdout.readline().rpartition(":")[2]), certificates, server)


def test_users_of_the_server_log_in_with_their_passwords_there(logins: Logins) -> None:
    logins.run(f"create role bob login password '{PASSWORD}'; create role nologin password '{PASSWORD}'")
    with logins.connect("bob", password=PASSWORD, channel_binding="require") as client:
        assert client.execute("select 42").fetchone() == (42,)
    told = logins.refused("bob", password=OTHER)
    assert told == logins.refused("nobody", password=PASSWORD).replace("nobody", "bob")
    assert "password authentication failed" in told
    assert "password authentication failed" in logins.refused("nologin", password=PASSWORD)
    assert "password authentication failed" in logins.refused("bob", "app", password=PASSWORD), "it is not asked there"
    with logins.connect("plain", "app", password=PASSWORD) as client:
        assert client.execute("select 1").fetchone() == (1,)


def test_changed_and_expired_passwords_are_noticed(logins: Logins) -> None:
    logins.run(f"create role carol login password '{PASSWORD}'")
    logins.connect("carol", password=PASSWORD).close()
    logins.run(f"alter role carol password '{OTHER}'")
    # The new one is wrong once, by what was known; then the server is asked again.
    with contextlib.suppress(psycopg.OperationalError):
        logins.connect("carol", password=OTHER).close()
    logins.connect("carol", password=OTHER).close()
    assert "failed" in logins.refused("carol", password=PASSWORD)
    logins.run("alter role carol valid until 'yesterday'")
    deadline = time.monotonic() + HOLDS_SECONDS + 1
    while True:
        try:
            logins.connect("carol", password=OTHER).close()
        except psycopg.OperationalError:
            break
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_user_who_may_log_in_again_is_let_in_at_the_second_attempt(logins: Logins) -> None:
    logins.run("create role gina nologin")
    assert "failed" in logins.refused("gina", password=PASSWORD)
    logins.run(f"alter role gina login password '{PASSWORD}'")
    # It was not let in by what was known; then the server is asked again.
    with contextlib.suppress(psycopg.OperationalError):
        logins.connect("gina", password=PASSWORD).close()
    logins.connect("gina", password=PASSWORD).close()


def test_query_of_the_configuration_is_asked(logins: Logins) -> None:
    with psycopg.connect(logins.server.url) as admin:
        made = admin.pgconn.encrypt_password(PASSWORD.encode(), b"dave", b"scram-sha-256")
    logins.run(
        f"insert into public.users values ('dave', '{made.decode()}'), ('o''neil', '{made.decode()}'),"
        f" ('md5', 'md5{'0' * 32}'), ('text', '{PASSWORD}'), ('null', null)"
    )
    for user in ("dave", "o'neil"):
        with logins.connect(user, "listed", password=PASSWORD) as client:
            assert client.execute("select 42").fetchone() == (42,)
    for user, password in (("md5", f"md5{'0' * 32}"), ("text", PASSWORD), ("null", ""), ("' or true --", PASSWORD)):
        assert "password authentication failed" in logins.refused(user, "listed", password=password or "x"), user


def test_connection_that_asks_is_opened_again_when_it_is_lost(logins: Logins) -> None:
    logins.run(f"create role erin login password '{PASSWORD}'")
    logins.connect("erin", password=PASSWORD).close()
    logins.run(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'headraced auth_query';"
        f"create role frank login password '{PASSWORD}'"
    )
    with logins.connect("frank", password=PASSWORD) as client:
        assert client.execute("select 42").fetchone() == (42,)


def test_query_that_the_server_refuses_lets_nobody_in(logins: Logins) -> None:
    told = logins.refused("bob", "broken", password=PASSWORD)
    assert "cannot be asked" in told
    assert "no_such_column" not in told


def test_certificate_is_enough_for_who_has_no_password(logins: Logins) -> None:
    own = {"sslcert": logins.certificates.client_cert, "sslkey": logins.certificates.client_key}
    with logins.connect("jo", "app", **own) as client:
        assert client.execute("select 42").fetchone() == (42,)
    with headrace.connect(
        host="localhost", port=logins.port, dbname="app", user="jo", sslmode="verify-full",
        sslrootcert=str(logins.certificates.ca), **{name: str(path) for name, path in own.items()},
    ) as conn:  # fmt: skip
        assert conn.fetchval("select 42") == 42
    assert "may not use database" in logins.refused("jo", "asked", **own)
    with logins.connect("both", "app", password=PASSWORD, **own) as client:
        assert client.execute("select 42").fetchone() == (42,)
    assert "failed" in logins.refused("both", "app", password=OTHER, **own)


def test_certificate_of_another_name_or_authority_lets_nobody_in(logins: Logins) -> None:
    folder = logins.certificates.ca.parent
    eve = {"sslcert": folder / "eve.crt", "sslkey": folder / "eve.key"}
    for more in ({}, eve, {"sslmode": "disable"}):
        for user in ("jo", "both"):
            told = logins.refused(user, "app", password=PASSWORD, **more)
            assert "password authentication failed" in told, "as for who is not known"
    other = {"sslcert": folder / "other" / "client.crt", "sslkey": folder / "other" / "client.key"}
    for user in ("jo", "plain"):
        # The handshake fails; with TLS 1.3 the client finds out when it reads.
        assert logins.refused(user, "app", password=PASSWORD, **other)
    with logins.connect("plain", "app", password=PASSWORD, **eve) as client:
        assert client.execute("select 1").fetchone() == (1,), "it needs none"


@pytest.mark.parametrize("value", ["database", "true", "1", "on"])
def test_replication_is_refused_with_the_reason(logins: Logins, value: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="replication needs a connection to the server itself") as caught:
        logins.connect("plain", "app", password=PASSWORD, replication=value)
    assert caught.value.sqlstate in (None, "28000")
