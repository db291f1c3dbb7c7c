"""What only a genuine server can show: logins, TLS, compression, collations, VECTOR of MySQL 8 and 9, MariaDB 11.8."""

from __future__ import annotations

import contextlib
import struct
from typing import Any

import pytest

import headrace.aio.mysql
import headrace.mysql
from headrace import errors
from headrace.testing._certificates import Certificates, make_certificates
from robustness.proxy import Proxy
from served import Served, fresh

from .between import SomeoneBetween

KEY = b"-----BEGIN PUBLIC KEY-----"
LOGINS = ("caching_sha2_password", "sha256_password")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("tls"), client_name="client")


@pytest.fixture(scope="module", params=["mysql", "mysql80"])
def sha(request: pytest.FixtureRequest) -> Served:
    """MySQL with a user for each of its ways to log in."""
    chosen: Served = request.getfixturevalue(f"{request.param}_served")
    with headrace.mysql.connect(chosen.server.url, autocommit=True) as admin:
        for plugin in LOGINS:
            admin.execute(f"create user {plugin}@'%' identified with {plugin} by 'tiger'")
            admin.execute(f"grant all on test.* to {plugin}@'%'")
        admin.execute("create user certified@'%' require x509")
        admin.execute("create user expired@'%' identified by 'tiger' password expire")
        admin.execute("create user open@'%'")
    return chosen


def forget(served: Served) -> None:
    """Lets the server forget the hashes of passwords, so that the next login is one in full."""
    with headrace.mysql.connect(served.server.url, autocommit=True) as admin:
        admin.execute("flush privileges")


def who(**keywords: Any) -> tuple[str, bool]:
    """Whose session it is, and whether it is encrypted."""
    with headrace.mysql.connect(**keywords) as conn:
        return conn.fetchval("select current_user()").partition("@")[0], conn._core.wire.tls_info() is not None


def said(proxy: Proxy) -> tuple[bytes, bytes]:
    """All that client and server have said."""
    record = list(proxy.record)
    client = b"".join(block for from_client, block in record if from_client)
    return client, b"".join(block for from_client, block in record if not from_client)


@pytest.mark.parametrize("plugin", LOGINS)
def test_a_password_over_tls(sha: Served, certificates: Certificates, plugin: str) -> None:
    forget(sha)
    with SomeoneBetween(sha.server.port, certificates.server_cert, certificates.server_key) as between:
        where: dict[str, Any] = {"host": "127.0.0.1", "port": between.port, "user": plugin}
        assert who(**where, password="tiger", ssl_mode="REQUIRED") == (plugin, True)
        assert b"tiger\0" in between.received
        between.received = b""
        assert who(**where, password="tiger", ssl_mode="REQUIRED") == (plugin, True)
        # From now on a hash suffices, where the server keeps hashes.
        assert (b"tiger\0" in between.received) == (plugin == "sha256_password")
        with pytest.raises(errors.InvalidPassword):
            who(**where, password="lion", ssl_mode="REQUIRED")


@pytest.mark.parametrize("plugin", LOGINS)
@pytest.mark.parametrize("known", [True, False], ids=["key at hand", "key asked for"])
def test_a_password_by_rsa(sha: Served, plugin: str, known: bool) -> None:
    forget(sha)
    public = sha.server.data_dir / "public_key.pem"
    more: dict[str, Any] = {"server_public_key_path": str(public)} if known else {"get_server_public_key": True}
    with Proxy(sha.server.port) as proxy:
        where: dict[str, Any] = {"host": "127.0.0.1", "port": proxy.port, "user": plugin, "ssl_mode": "DISABLED"}
        with pytest.raises(errors.OperationalError, match=f"{plugin} needs TLS here, or the server's RSA public key"):
            who(**where, password="tiger")
        assert who(**where, password="tiger", **more) == (plugin, False)
        client, server = said(proxy)
        assert b"tiger" not in client
        assert (KEY in server) != known
        with pytest.raises(errors.InvalidPassword):
            who(**where, password="lion", **more)
        if plugin == "caching_sha2_password":
            proxy.record.clear()
            assert who(**where, password="tiger") == (plugin, False)
            assert b"\x02\x00\x00\x02\x01\x03" in said(proxy)[1]


@pytest.mark.parametrize("plugin", LOGINS)
async def test_a_password_on_a_loop(sha: Served, plugin: str) -> None:
    where: dict[str, Any] = {"host": "127.0.0.1", "port": sha.server.port, "user": plugin, "password": "tiger"}
    for more in ({"ssl_mode": "REQUIRED"}, {"ssl_mode": "DISABLED", "get_server_public_key": True}):
        forget(sha)
        for _ in range(2):
            async with await headrace.aio.mysql.connect(**where, **more) as conn:
                assert (await conn.fetchval("select current_user()")).startswith(plugin)


@pytest.mark.parametrize("plugin", LOGINS)
def test_a_password_over_a_unix_socket(sha: Served, plugin: str) -> None:
    forget(sha)
    where: dict[str, Any] = {"unix_socket": str(sha.server.socket), "user": plugin}
    if plugin == "sha256_password":
        # The server does not count a socket as safe for it.
        with pytest.raises(errors.OperationalError, match="needs TLS here"):
            who(**where, password="tiger")
        where["get_server_public_key"] = True
    for _ in range(2):
        assert who(**where, password="tiger")[0] == plugin
    with pytest.raises(errors.InvalidPassword):
        who(**where, password="lion")


def test_switches_and_refusals(sha: Served) -> None:
    where: dict[str, Any] = {"host": "127.0.0.1", "port": sha.server.port}
    assert who(**where, user="open")[0] == "open"
    with pytest.raises(errors.InvalidPassword):
        who(**where, user="open", password="tiger")
    with pytest.raises(errors.InvalidPassword):
        who(**where, user="nobody at all", password="tiger")
    with pytest.raises(errors.OperationalError, match="only caching_sha2_password may be used"):
        who(**where, user="sha256_password", password="tiger", auth_plugins="caching_sha2_password")
    with pytest.raises(errors.DatabaseError) as caught:
        who(**where, user="expired", password="tiger")
    assert caught.value.sqlcode == 1862


def test_the_certificates_that_mysql_makes(sha: Served) -> None:
    folder = sha.server.data_dir
    where: dict[str, Any] = {**sha.where, "host": "localhost", "ssl_ca": str(folder / "ca.pem")}
    assert who(**where, ssl_mode="VERIFY_CA") == ("tester", True)
    # They are for no host's name.
    with pytest.raises(errors.OperationalError, match="certificate"):
        who(**where, ssl_mode="VERIFY_IDENTITY")
    client = {"ssl_cert": str(folder / "client-cert.pem"), "ssl_key": str(folder / "client-key.pem")}
    certified = {**where, "user": "certified", "password": ""}
    assert who(**certified, **client) == ("certified", True)
    with pytest.raises(errors.InvalidPassword):
        who(**certified)


@pytest.mark.parametrize(("asked", "agreed"), [("zlib", "zlib"), ("zstd", "zstd"), (None, "")])
@pytest.mark.parametrize("tls", ["DISABLED", "REQUIRED"])
@pytest.mark.servers("mysql", "mysql80")
@pytest.mark.slow
async def test_compression(my_server: Served, my_url: str, asked: str | None, agreed: str, tls: str) -> None:
    more: dict[str, Any] = {"compression": asked} if asked else {}
    rows = [(n, "abc" * (n % 1000)) for n in range(3000)]
    large = bytes(range(256)) * 80_000
    with headrace.mysql.connect(my_url, **more, ssl_mode=tls, autocommit=True, local_infile=True) as conn:
        found = dict(conn.fetch("show session status like 'Compression%'"))
        assert found["Compression"] == ("ON" if asked else "OFF")
        assert found["Compression_algorithm"] == agreed
        fresh(conn, "table squeezed (n int, t longtext)")
        conn.executemany("insert into squeezed values (?, ?)", rows)
        assert conn.load_rows("squeezed", rows) == 3000
        assert conn.fetch("select * from squeezed order by n") == [row for row in rows for _ in range(2)]
        assert sum(len(block) for block in conn.stream_blocks("select * from squeezed", fetch_size=100)) == 6000
        assert conn.fetchval("select cast(? as binary)", large) == large
        with pytest.raises(errors.UndefinedTable):
            conn.execute("select * from missing")
        assert conn.fetchval("select 42") == 42
    async with await headrace.aio.mysql.connect(my_url, **more, ssl_mode=tls) as aconn:
        assert await aconn.fetch("select n, t from squeezed order by n limit 2") == [(0, "")] * 2


@pytest.mark.parametrize(
    "collation", ["utf8mb4_0900_ai_ci", "utf8mb4_0900_as_cs", "utf8mb4_ja_0900_as_cs", "utf8mb4_bin"]
)
@pytest.mark.servers("mysql")
def test_collations(my_server: Served, my_url: str, collation: str) -> None:
    for prepared in (True, False):
        with headrace.mysql.connect(my_url, collation=collation, prepared=prepared, autocommit=True) as conn:
            assert conn.fetchval("select @@collation_connection") == collation
            fresh(conn, f"table words (w varchar(20) collate {collation}, b varbinary(20))")
            conn.executemany("insert into words values (?, ?)", [("Äpfel", b"\xc4"), ("ばか", b""), ("😀", None)])
            assert conn.fetch("select w, b from words where w = ?", "😀") == [("😀", None)]
            assert set(conn.fetch("select w from words")) == {("Äpfel",), ("ばか",), ("😀",)}
            insensitive = collation == "utf8mb4_0900_ai_ci"
            assert conn.fetchval("select count(*) from words where w = ?", "apfel") == int(insensitive)


def single(value: list[float]) -> list[float]:
    """The nearest numbers of four bytes."""
    return [*struct.unpack("3f", struct.pack("3f", *value))]


@pytest.mark.parametrize("prepared", [True, False], ids=["binary", "text"])
@pytest.mark.servers("mysql", "mariadb118")
def test_vectors(my_server: Served, my_url: str, prepared: bool) -> None:
    values = [[1.0, -2.5, 3.25], [0.0, 0.0, 0.0], [1e-3, 1e15, -1e-15]]
    near = {"mysql": "vector_to_string(v)", "mariadb118": "vec_totext(v)"}[my_server.name]
    with headrace.mysql.connect(my_url, autocommit=True, prepared=prepared, local_infile=True) as conn:
        fresh(conn, "table vectors (id int primary key, v vector(3))")
        conn.execute("insert into vectors values (?, ?)", (0, values[0]))
        conn.executemany("insert into vectors values (?, ?)", [(n, value) for n, value in enumerate(values[1:], 1)])
        conn.load_rows("vectors", [(n, value) for n, value in enumerate(values, 10)])
        conn.execute("insert into vectors values (?, ?)", (20, None))
        rows = conn.fetch("select id, v from vectors order by id")
        if my_server.is_mariadb:
            # It does not say of a column that it is a VECTOR.
            assert all(isinstance(value, bytes) for _, value in rows[:-1])
            rows = [(n, value and [*struct.unpack("3f", value)]) for n, value in rows]
        assert rows[:3] == [(n, single(value)) for n, value in enumerate(values)]
        assert rows[3:] == [*((n, single(value)) for n, value in enumerate(values, 10)), (20, None)]
        assert conn.fetchval(f"select {near} from vectors where id = 0").startswith("[1")
        kind = "varbinary" if my_server.is_mariadb else "vector"
        assert conn.execute("select v from vectors").description[0][1] == kind
        with pytest.raises(errors.DatabaseError):
            conn.execute("insert into vectors values (?, ?)", (99, [1.0, 2.0, 3.0, 4.0]))


@pytest.fixture(scope="module")
def parsec(mariadb118_served: Served) -> Served:
    """MariaDB 11.8 with a user for each of its ways to log in."""
    with headrace.mysql.connect(mariadb118_served.server.url, autocommit=True) as admin:
        with contextlib.suppress(errors.DatabaseError):
            admin.execute("install soname 'auth_ed25519'")
        for plugin in ("parsec", "ed25519", "mysql_native_password"):
            admin.execute(f"create user {plugin}@'%' identified via {plugin} using password('tiger')")
            admin.execute(f"grant all on test.* to {plugin}@'%'")
    return mariadb118_served


@pytest.mark.parametrize("plugin", ["parsec", "ed25519", "mysql_native_password"])
async def test_logins_of_mariadb(parsec: Served, certificates: Certificates, plugin: str) -> None:
    where: dict[str, Any] = {"host": "127.0.0.1", "port": parsec.server.port, "user": plugin}
    assert who(**where, password="tiger") == (plugin, True)
    assert who(**where, password="tiger", ssl_mode="DISABLED") == (plugin, False)
    assert who(**where, password="tiger", ssl_verify_server_cert=True) == (plugin, True)
    for mode in ("DISABLED", "REQUIRED"):
        with pytest.raises(errors.InvalidPassword):
            who(**where, password="lion", ssl_mode=mode)
    async with await headrace.aio.mysql.connect(**where, password="tiger", ssl_verify_server_cert=True) as conn:
        assert await conn.fetchval("select 42") == 42
    with SomeoneBetween(parsec.server.port, certificates.server_cert, certificates.server_key) as between:
        with pytest.raises(errors.OperationalError, match="did not prove"):
            who(**{**where, "port": between.port}, password="tiger", ssl_verify_server_cert=True)
        assert b"tiger" not in between.received


@pytest.mark.servers("mariadb118")
def test_what_is_new_in_mariadb(my: Any, my_url: str) -> None:
    assert my.fetchval("select @@collation_connection").startswith("utf8mb4_")
    with headrace.mysql.connect(my_url, collation="utf8mb4_uca1400_as_cs", autocommit=True) as conn:
        assert conn.fetchval("select @@collation_connection") == "utf8mb4_uca1400_as_cs"
        assert conn.fetchval("select ? = 'ä'", "a") == 0
    fresh(my, "table returned (id int primary key auto_increment, n int)")
    assert my.execute("insert into returned (n) values (?) returning id, n", (5,)).fetchall() == [(1, 5)]
    my.executemany("update returned set n = ? where id = ?", [(7, 1), (8, 2)])
    assert my.fetch("select * from returned") == [(1, 7)]


@pytest.mark.servers("mysql56")
def test_logins_of_old_servers(my_server: Served) -> None:
    assert who(**my_server.where) == ("tester", False)
    with pytest.raises(errors.InvalidPassword):
        who(**{**my_server.where, "password": "lion"})
    assert who(unix_socket=str(my_server.server.socket), user="root") == ("root", False)
    with pytest.raises(errors.OperationalError, match="does not offer TLS"):
        who(**my_server.where, ssl_mode="REQUIRED")
    with headrace.mysql.connect(my_server.server.url, autocommit=True) as admin:
        admin.execute("create user old@'%' identified with mysql_old_password")
        admin.execute("set old_passwords = 1")
        admin.execute("set password for old@'%' = password('tiger')")
    with pytest.raises(errors.OperationalError, match="mysql_old_password"):
        who(**{**my_server.where, "user": "old"})
