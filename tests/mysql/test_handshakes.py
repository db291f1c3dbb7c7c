"""MySQL's own logins: caching_sha2_password fast, full over TLS and with RSA, sha256_password, mysql_clear_password."""

from __future__ import annotations

import contextlib
import datetime as dt
import decimal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace.aio.mysql
import headrace.mysql
from headrace import errors
from headrace.testing._certificates import Certificates, make_certificates

from .between import SomeoneBetween
from .golang import go_mysql_server
from .rsaserver import RsaServer, make_key


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("tls"), client_name="client")


@pytest.fixture(scope="module")
def go_port(certificates: Certificates) -> Iterator[int]:
    with go_mysql_server(certificates.server_cert, certificates.server_key) as port:
        yield port


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_key(tmp_path_factory.mktemp("rsa"))


def who(port: int, **keywords: Any) -> tuple[str, bool]:
    """Whose session it is, and whether it is encrypted."""
    with headrace.mysql.connect(host="127.0.0.1", port=port, **keywords) as conn:
        return conn.fetchval("select current_user()").partition("@")[0], conn._core.wire.tls_info() is not None


def test_caching_sha2_password_in_full_over_tls(go_port: int, certificates: Certificates) -> None:
    with SomeoneBetween(go_port, certificates.server_cert, certificates.server_key) as between:
        assert who(between.port, user="sha", password="tiger", ssl_mode="REQUIRED") == ("sha", True)
    # The password itself, inside TLS: this server keeps no hashes, with which it could go fast.
    assert b"tiger\0" in between.received


@pytest.mark.parametrize("mode", ["PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"])
def test_caching_sha2_password_by_tls_mode(go_port: int, certificates: Certificates, mode: str) -> None:
    ca = {"ssl_ca": str(certificates.ca)} if mode.startswith("VERIFY") else {}
    assert who(go_port, user="sha", password="tiger", ssl_mode=mode, **ca) == ("sha", True)
    with pytest.raises(errors.InvalidPassword):
        who(go_port, user="sha", password="lion", ssl_mode=mode, **ca)


def test_other_plugins(go_port: int) -> None:
    assert who(go_port, user="native", password="tiger") == ("native", True)
    # A switch away from the plugin of the greeting, in the clear.
    assert who(go_port, user="native", password="tiger", ssl_mode="DISABLED") == ("native", False)
    assert who(go_port, user="nobody") == ("nobody", True)
    assert who(go_port, user="asked", password="tiger") == ("asked", True)
    with pytest.raises(errors.InvalidPassword):
        who(go_port, user="asked", password="lion")
    with pytest.raises(errors.OperationalError):
        who(go_port, user="asked", password="tiger", ssl_mode="DISABLED")
    with pytest.raises(errors.OperationalError, match="only mysql_native_password may be used"):
        who(go_port, user="asked", password="tiger", auth_plugins="mysql_native_password")


async def test_on_a_loop(go_port: int, certificates: Certificates) -> None:
    for _ in range(2):
        where = {"host": "127.0.0.1", "port": go_port, "user": "sha", "password": "tiger"}
        conn = await headrace.aio.mysql.connect(**where, ssl_ca=str(certificates.ca))
        assert await conn.fetchval("select 40 + 2") == 42
        await conn.close()


@pytest.mark.parametrize("prepared", [True, False], ids=["binary", "text"])
def test_a_server_that_is_no_kin_of_mariadb(go_port: int, prepared: bool) -> None:
    """Neither bulk execution, nor metadata that are left out, nor statements executed as they are prepared."""
    where: dict[str, Any] = {"host": "127.0.0.1", "port": go_port, "user": "sha", "password": "tiger"}
    with headrace.mysql.connect(**where, database="test", autocommit=True, prepared=prepared) as conn:
        name = f"kinds_{prepared}"
        conn.execute(
            f"create table {name} (id int primary key, t varchar(20), n bigint unsigned, f double, d date, "
            "m datetime(6), p decimal(10,2), b varbinary(10), z int null)"
        )
        day, timestamp = dt.date(2020, 1, 1), dt.datetime(2020, 1, 2, 3, 4, 5, 600_000)
        rows = [
            (n, f"näme {n}", 2**64 - 1 - n, n / 7, day, timestamp, decimal.Decimal("1.25"), b"\0\xff", None)
            for n in range(1000)
        ]
        cursor = conn.executemany(f"insert into {name} values (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        assert cursor.rowcount == 1000
        assert conn.fetch(f"select * from {name} order by id") == rows
        assert conn.fetchrow(f"select t from {name} where id = ?", 7) == ("näme 7",)
        with pytest.raises(errors.UniqueViolation):
            conn.execute(f"insert into {name} (id) values (?)", (5,))
        with conn.pipeline():
            cursors = [conn.execute(f"select id from {name} where id = ?", (n,)) for n in range(50)]
        assert [cursor.fetchone() for cursor in cursors] == [(n,) for n in range(50)]
        assert conn.session_state.schema == "test"


PLUGINS = pytest.mark.parametrize("plugin", ["caching_sha2_password", "sha256_password"])


@PLUGINS
def test_a_password_encrypted_with_the_servers_key(plugin: str, key: tuple[Path, Path]) -> None:
    with RsaServer(plugin, *key) as server:
        where: dict[str, Any] = {"host": "127.0.0.1", "port": server.port, "user": "jo", "password": "tiger"}
        fast = ["fast"] if plugin == "caching_sha2_password" else []
        full = ["full"] if plugin == "caching_sha2_password" else []
        with headrace.mysql.connect(**where, server_public_key_path=str(key[1])) as conn:
            conn.ping()
        assert server.seen == full
        server.seen, server.cached = [], False
        with headrace.mysql.connect(**where, get_server_public_key=True) as conn:
            conn.ping()
        assert server.seen == [*full, "key asked for"]
        server.seen = []
        with headrace.mysql.connect(**where, get_server_public_key=True) as conn:
            conn.ping()
        assert server.seen == (fast or ["key asked for"])
        with pytest.raises(errors.InvalidPassword):
            headrace.mysql.connect(**{**where, "password": "lion"}, get_server_public_key=True)
        assert b"tiger" not in server.received


@PLUGINS
def test_without_tls_or_key_the_password_stays_here(plugin: str, key: tuple[Path, Path]) -> None:
    with RsaServer(plugin, *key) as server:
        where: dict[str, Any] = {"host": "127.0.0.1", "port": server.port, "user": "jo", "password": "tiger"}
        with pytest.raises(errors.OperationalError, match=f"{plugin} needs TLS here, or the server's RSA public key"):
            headrace.mysql.connect(**where)
        assert b"tiger" not in server.received
        assert "key asked for" not in server.seen
        # What the hash of the password suffices for needs neither.
        if plugin == "caching_sha2_password":
            server.cached = True
            with headrace.mysql.connect(**where) as conn:
                conn.ping()


@PLUGINS
async def test_a_password_encrypted_on_a_loop(plugin: str, key: tuple[Path, Path]) -> None:
    with RsaServer(plugin, *key) as server:
        conn = await headrace.aio.mysql.connect(
            host="127.0.0.1", port=server.port, user="jo", password="tiger", get_server_public_key=True
        )
        with contextlib.closing(conn._core.wire):
            await conn.ping()
        assert server.seen[-1] == "key asked for"
