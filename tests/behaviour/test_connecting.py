"""Connecting: where to, as whom, how well protected."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace import errors
from headrace.testing import PostgresServer


def base(server: PostgresServer) -> str:
    return f"host=127.0.0.1 port={server.port} dbname=postgres"


def test_every_way_to_say_where(server: PostgresServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    port, directory = server.port, str(server.socket_dir)
    for conninfo in (
        f"postgresql://postgres@127.0.0.1:{port}/postgres?application_name=x%20y",
        f"postgres://postgres@127.0.0.1:{port}/postgres?application_name=x y",
        f"host=127.0.0.1 port={port} user=postgres dbname = postgres application_name='x y'",
        f"postgresql://postgres@/postgres?host={directory}&port={port}&application_name=x y",
    ):
        with headrace.connect(conninfo) as conn:
            assert conn.fetchval("show application_name") == "x y", conninfo
    with headrace.connect(host="localhost", port=port, user="postgres", dbname="postgres") as conn:
        assert conn.fetchval("select 1") == 1
    for name, value in {"PGHOST": "127.0.0.1", "PGPORT": str(port), "PGUSER": "postgres", "PGDATABASE": "postgres",
                        "PGOPTIONS": "-c work_mem=5MB"}.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    with headrace.connect() as conn:
        assert conn.fetchval("show work_mem") == "5MB"
    (tmp_path / "services").write_text(f"[mine]\nhost=127.0.0.1\nport={port}\nuser=postgres\napplication_name=svc\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    with headrace.connect(service="mine") as conn:
        assert conn.fetchval("show application_name") == "svc"
    with pytest.raises(errors.ProgrammingError, match="service 'yours'"):
        headrace.connect(service="yours")


@pytest.mark.parametrize(
    ("conninfo", "message"),
    [
        ("postgresql://h:notaport/d", "the port in the URL is not a number"),
        ("oracle://h/d", "postgresql:"),
        ("hots=127.0.0.1", "did you mean 'host'"),
        ("host", "missing '='"),
        ("host='x", "no end"),
        ("postgresql://h/d?sslmode=sometimes", "sslmode='sometimes' is not one of"),
        ("host=a,b hostaddr=1.1.1.1", "2 hosts"),
        ("sslmode=prefer sslrootcert=system", "verify-full"),
        ("sslmode=prefer sslnegotiation=direct", "direct"),
        ("connect_timeout=soon", "is not a number"),
        ("require_auth=magic", "require_auth"),
        ("client_encoding=latin1", "UTF8"),
        ("postgresql://[::1/d", "IPv6"),
    ],
)
def test_bad_conninfo_is_refused_before_anything_is_sent(conninfo: str, message: str) -> None:
    with pytest.raises(errors.DatabaseError) as caught:
        headrace.connect(conninfo, user="u")
    assert message in str(caught.value)


def test_closed_port_and_silent_host() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(errors.OperationalError, match="refused"):
            headrace.connect(host="127.0.0.1", port=port, user="u")
        taken.listen()
        with pytest.raises(errors.ConnectionTimeout, match="connect_timeout"):
            headrace.connect(host="127.0.0.1", port=port, user="u", connect_timeout=0.3, sslmode="disable")
    with pytest.raises(errors.OperationalError, match="cannot be found"):
        headrace.connect(host="no-such-host.invalid", user="u")


def test_several_hosts_and_session_attributes(server: PostgresServer) -> None:
    hosts = {
        "host": "127.0.0.1,127.0.0.1",
        "port": f"1,{server.port}",
        "user": "postgres",
        "dbname": "postgres",
    }
    with headrace.connect(**hosts, target_session_attrs="read-write") as conn:
        assert conn.fetchval("select 1") == 1
    with headrace.connect(**hosts, target_session_attrs="prefer-standby", load_balance_hosts="random") as conn:
        assert conn.fetchval("select 1") == 1
    with pytest.raises(errors.OperationalError, match="standby") as caught:
        headrace.connect(**hosts, target_session_attrs="standby")
    assert "127.0.0.1:1" in str(caught.value)


def test_what_the_server_refuses(server: PostgresServer) -> None:
    with pytest.raises(errors.InvalidCatalogName):
        headrace.connect(f"{base(server)} user=postgres", dbname="nowhere")
    with pytest.raises(errors.DatabaseError, match="nobody"):
        headrace.connect(f"{base(server)} user=nobody_here")


@pytest.mark.parametrize("user", ["scram_user", "md5_user", "password_user"])
def test_password_methods(tls_server: PostgresServer, user: str, tmp_path: Path) -> None:
    where = f"{base(tls_server)} user={user}"
    with headrace.connect(where, password="secret") as conn:
        assert conn.fetchval("select current_user") == user
    with headrace.connect(where, password=lambda: "secret") as conn:
        assert conn.fetchval("select 1") == 1
    with pytest.raises(errors.InvalidPassword) as caught:
        headrace.connect(where, password="wrong-password")
    assert "wrong-password" not in repr(caught.value) + str(caught.value)
    with pytest.raises(errors.OperationalError, match="password"):
        headrace.connect(where, passfile=str(tmp_path / "none"))
    passfile = tmp_path / "pass"
    passfile.write_text(f"# comment\n127.0.0.1:*:postgres:{user}:secret\n")
    passfile.chmod(0o600)
    with headrace.connect(where, passfile=str(passfile)) as conn:
        assert conn.fetchval("select 1") == 1
    passfile.chmod(0o644)
    with pytest.warns(UserWarning, match="ignored"), pytest.raises(errors.OperationalError):
        headrace.connect(where, passfile=str(passfile))


async def test_async_password_callable(tls_server: PostgresServer) -> None:
    async def password() -> str:
        return "secret"

    conn = await headrace.aio.connect(f"{base(tls_server)} user=scram_user", password=password)
    assert await conn.fetchval("select 1") == 1
    await conn.close()


def test_all_sslmodes(tls_server: PostgresServer, server: PostgresServer) -> None:
    ca = str(tls_server.ca_file)
    where = f"{base(tls_server)} user=postgres"
    for mode, encrypted in [("disable", False), ("allow", False), ("prefer", True), ("require", True)]:
        with headrace.connect(where, sslmode=mode) as conn:
            assert (conn._core.wire.tls_info() is not None) == encrypted, mode
            assert conn.fetchval("select ssl from pg_stat_ssl where pid = pg_backend_pid()") == encrypted
    for mode in ("verify-ca", "verify-full"):
        with headrace.connect(where, sslmode=mode, sslrootcert=ca) as conn:
            assert str(conn._core.wire.tls_info()).startswith("TLS")
        with pytest.raises(errors.OperationalError, match="TLS"):
            headrace.connect(where, sslmode=mode)
    by_other_name = where.replace("host=127.0.0.1", "host=wrong.example hostaddr=127.0.0.1")
    with headrace.connect(by_other_name, sslmode="verify-ca", sslrootcert=ca) as conn:
        assert conn.fetchval("select 1") == 1
    with pytest.raises(errors.OperationalError, match="TLS"):
        headrace.connect(by_other_name, sslmode="verify-full", sslrootcert=ca)
    with pytest.raises(errors.OperationalError, match="does not offer TLS"):
        headrace.connect(f"{base(server)} user=postgres", sslmode="require")
    with headrace.connect(f"{base(server)} user=postgres", sslmode="prefer") as conn:
        assert conn._core.wire.tls_info() is None
    with pytest.raises(errors.OperationalError, match=r"nothing\.pem"):
        headrace.connect(where, sslmode="verify-ca", sslrootcert="/nothing.pem")


def test_the_server_decides_who_may_come_without_tls(tls_server: PostgresServer) -> None:
    for user, encrypted in (("tls_only", True), ("plain_only", False)):
        for mode in ("allow", "prefer"):
            with headrace.connect(f"{base(tls_server)} user={user}", sslmode=mode) as conn:
                assert (conn._core.wire.tls_info() is not None) == encrypted, (user, mode)


def test_client_certificates(tls_server: PostgresServer) -> None:
    where = f"{base(tls_server)} user=cert_user"
    cert = {"sslcert": str(tls_server.client_cert), "sslkey": str(tls_server.client_key)}
    with headrace.connect(where, sslmode="require", **cert) as conn:
        assert conn.fetchval("select current_user") == "cert_user"
    with pytest.raises(errors.DatabaseError):
        headrace.connect(where, sslmode="require")
    with pytest.raises(errors.DatabaseError, match=r"ca\.crt: no private key"):
        headrace.connect(where, sslmode="require", sslcert=cert["sslcert"], sslkey=str(tls_server.ca_file))


def test_channel_binding_and_required_methods(tls_server: PostgresServer) -> None:
    where = f"{base(tls_server)} user=scram_user password=secret"
    with headrace.connect(where, sslmode="require", channel_binding="require") as conn:
        assert conn.fetchval("select 1") == 1
    with headrace.connect(where, channel_binding="disable", require_auth="scram-sha-256") as conn:
        assert conn.fetchval("select 1") == 1
    with pytest.raises(errors.OperationalError, match="channel_binding"):
        headrace.connect(where.replace("scram_user", "md5_user"), sslmode="require", channel_binding="require")
    with pytest.raises(errors.OperationalError, match="require_auth"):
        headrace.connect(where.replace("scram_user", "md5_user"), require_auth="scram-sha-256")
    with pytest.raises(errors.OperationalError, match="require_auth"):
        headrace.connect(where, require_auth="!scram-sha-256")


def test_work_and_cancel_over_tls(tls_server: PostgresServer) -> None:
    with headrace.connect(f"{base(tls_server)} user=postgres", sslmode="require") as conn:
        assert len(conn.fetch("select g, repeat('x', 100) from generate_series(1, 50000) g")) == 50_000
        conn.execute("create temp table big (n int, t text)")
        assert (
            conn.executemany("insert into big values (%s, %s)", [(i, "y" * 50) for i in range(50_000)]).rowcount
            == 50_000
        )
        conn.commit()
        with pytest.raises(TimeoutError):
            conn.execute("select pg_sleep(30)", timeout=0.3)
        conn.rollback()
        assert conn.fetchval("select 1") == 1
        assert conn.fetchval("select '<a/>'::xml") == "<a/>"


async def test_async_over_tls(tls_server: PostgresServer) -> None:
    import asyncio

    conn: Any = await headrace.aio.connect(
        f"{base(tls_server)} user=scram_user password=secret",
        sslmode="verify-full",
        sslrootcert=str(tls_server.ca_file),
    )
    assert len(await conn.fetch("select g, repeat('x', 100) from generate_series(1, 50000) g")) == 50_000
    task = asyncio.ensure_future(conn.execute("select pg_sleep(30)"))
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await conn.rollback()
    assert await conn.fetchval("select 1") == 1
    await conn.close()
    with pytest.raises(errors.OperationalError, match="TLS"):
        await headrace.aio.connect(f"{base(tls_server)} user=postgres", sslmode="verify-full")


def test_secrets_are_not_shown(tls_server: PostgresServer) -> None:
    from headrace.postgres.settings import connect_options

    options = connect_options("postgresql://u:hunter2@h/d")
    assert "hunter2" not in repr(options)
    with headrace.connect(f"{base(tls_server)} user=scram_user password=secret") as conn:
        assert "secret" not in repr(conn)


def test_a_closed_connection_says_so(server: PostgresServer) -> None:
    conn = headrace.connect(f"{base(server)} user=postgres")
    conn.close()
    conn.close()
    for use in (lambda: conn.execute("select 1"), conn.commit, conn.cursor):
        with pytest.raises(errors.Error, match="closed"):
            use()


def test_a_statement_with_a_nul_is_refused(server: PostgresServer) -> None:
    with headrace.connect(f"{base(server)} user=postgres") as conn:
        for use in (conn.execute, conn.executescript):
            with pytest.raises(errors.ProgrammingError, match="NUL"):
                use("select 1\0")
        assert conn.fetchval("select 1") == 1


def test_terminated_session_is_an_error_and_the_connection_closed(server: PostgresServer) -> None:
    victim = headrace.connect(f"{base(server)} user=postgres", autocommit=True)
    with headrace.connect(f"{base(server)} user=postgres", autocommit=True) as killer:
        killer.execute("select pg_terminate_backend(%s)", (victim.backend_pid,))
    with pytest.raises(errors.OperationalError, match="terminat"):
        victim.execute("select 1")
    assert victim.closed


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_is_seen_at_once_and_leaves_the_connection_usable(server: PostgresServer) -> None:
    import signal
    import threading
    import time

    with headrace.connect(f"{base(server)} user=postgres") as conn:
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            conn.execute("select pg_sleep(30)")
        assert time.monotonic() - started < 5
        conn.rollback()
        assert conn.fetchval("select 1") == 1
