"""Connecting: hosts, sockets, TLS with MySQL's meaning, authentication, timeouts."""

from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress
import shutil
import socket
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace.aio.mysql
import headrace.mysql
from accepting import Accepting
from headrace import errors
from headrace.testing import MariaDBServer, mariadb
from headrace.testing._certificates import Certificates, make_certificates
from served import Served, fresh

from .between import SomeoneBetween
from .maven import mariadb_home

ZERO_CONFIGURATION = "11.4.5"
"""MariaDB whose TLS works without configuration, by Maven's version."""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("tls"), client_name="client")


@pytest.fixture(scope="module")
def tls_server(certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDBServer]:
    """The system's MariaDB with a certificate for localhost, and users for each way to authenticate."""
    folder = tmp_path_factory.mktemp("server")
    # The server runs under an account of its own.
    for parent in (folder, *folder.parents):
        if parent == Path(tempfile.gettempdir()):
            break
        parent.chmod(0o755)
    for file in (certificates.ca, certificates.server_cert, certificates.server_key):
        shutil.copyfile(file, folder / file.name)
        (folder / file.name).chmod(0o644)
    settings = {
        "ssl_ca": str(folder / certificates.ca.name),
        "ssl_cert": str(folder / certificates.server_cert.name),
        "ssl_key": str(folder / certificates.server_key.name),
        "plugin_load_add": "auth_ed25519",
        "bind_address": "127.0.0.1,127.0.0.2",
    }
    with mariadb(settings=settings) as server:
        with headrace.mysql.connect(server.url, autocommit=True) as admin:
            admin.execute("create user plain@'%' identified by 'tiger'")
            admin.execute("grant all on test.* to plain@'%'")
            admin.execute("create user ed@'%' identified via ed25519 using password('tiger')")
            admin.execute("create user encrypted@'%' identified by 'tiger' require ssl")
            admin.execute("create user certified@'%' require x509")
        yield server


@pytest.fixture(scope="module")
def zero_server() -> Iterator[MariaDBServer]:
    with mariadb(home=mariadb_home(ZERO_CONFIGURATION)) as server:
        with headrace.mysql.connect(server.url, autocommit=True) as admin:
            admin.execute("create user plain@'%' identified by 'tiger'")
            admin.execute("grant all on test.* to plain@'%'")
            admin.execute("create user open@'%'")
        yield server


def tls_of(**keywords: Any) -> str | None:
    with headrace.mysql.connect(**keywords) as conn:
        known = conn._core.wire.tls_info()
        cipher = conn.fetch("show session status like 'Ssl_cipher'")[0][1]
        assert bool(cipher) == (known is not None)
        return known


def test_tls_modes(tls_server: MariaDBServer, certificates: Certificates) -> None:
    plain = {"host": "localhost", "port": tls_server.port, "user": "plain", "password": "tiger"}
    ca, other = str(certificates.ca), str(certificates.other_ca)
    assert tls_of(**plain, ssl_mode="DISABLED") is None
    assert str(tls_of(**plain)).startswith("TLSv1.3")
    assert tls_of(**plain, ssl_mode="REQUIRED")
    assert tls_of(**plain, ssl_ca=ca)
    assert tls_of(**plain, ssl_ca=ca, ssl_mode="VERIFY_IDENTITY")
    assert tls_of(**plain, ssl_ca=ca, tls_version="TLSv1.3")
    with pytest.raises(errors.OperationalError, match="UnknownIssuer"):
        tls_of(**plain, ssl_ca=other)
    with pytest.raises(errors.OperationalError, match="UnknownIssuer"):
        tls_of(**plain, ssl_mode="VERIFY_CA")
    elsewhere = {**plain, "host": "127.0.0.2"}
    assert tls_of(**elsewhere, ssl_ca=ca, ssl_mode="VERIFY_CA")
    with pytest.raises(errors.OperationalError, match=r"127\.0\.0\.2"):
        tls_of(**elsewhere, ssl_ca=ca, ssl_mode="VERIFY_IDENTITY")


def test_a_second_connection_resumes_the_tls_session_of_the_first(
    tls_server: MariaDBServer, certificates: Certificates
) -> None:
    given: dict[str, Any] = {"host": "localhost", "port": tls_server.port, "user": "plain", "password": "tiger"}
    found: list[bool] = []
    for _ in range(3):
        with headrace.mysql.connect(**given, ssl_ca=str(certificates.ca), ssl_mode="VERIFY_IDENTITY") as conn:
            assert conn.fetchval("select 1") == 1
            found.append(conn._core.wire.tls_resumed())
    assert found[1:] == [True, True]


@pytest.mark.parametrize("mode", ["REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"])
def test_no_silent_downgrade(mariadb_server: MariaDBServer, certificates: Certificates, mode: str) -> None:
    plain = {"host": "127.0.0.1", "port": mariadb_server.port, "user": "tester", "password": "tiger"}
    assert tls_of(**plain) is None
    with pytest.raises(errors.OperationalError, match="does not offer TLS"):
        tls_of(**plain, ssl_mode=mode, ssl_ca=None if mode == "REQUIRED" else str(certificates.ca))


def test_authentication(tls_server: MariaDBServer, certificates: Certificates) -> None:
    where: dict[str, Any] = {"host": "127.0.0.1", "port": tls_server.port}
    for user in ("plain", "ed", "encrypted"):
        with headrace.mysql.connect(**where, user=user, password="tiger") as conn:
            assert conn.fetchval("select current_user()").startswith(user)
        with pytest.raises(errors.InvalidPassword):
            headrace.mysql.connect(**where, user=user, password="lion")
    with pytest.raises(errors.InvalidPassword):
        headrace.mysql.connect(**where, user="encrypted", password="tiger", ssl_mode="DISABLED")
    client = {"ssl_cert": str(certificates.client_cert), "ssl_key": str(certificates.client_key)}
    with headrace.mysql.connect(**where, user="certified", ssl_mode="REQUIRED", **client) as conn:
        assert conn.fetchval("select 1") == 1
    with headrace.mysql.connect(**where, user="ed", password="tiger", auth_plugins="client_ed25519") as conn:
        assert conn.fetchval("select 1") == 1
    with pytest.raises(errors.OperationalError, match="only client_ed25519 may be used"):
        headrace.mysql.connect(**where, user="plain", password="tiger", auth_plugins="client_ed25519")


def test_a_certificate_is_verified_through_the_password(zero_server: MariaDBServer, certificates: Certificates) -> None:
    where: dict[str, Any] = {"host": "127.0.0.1", "port": zero_server.port, "user": "plain", "password": "tiger"}
    assert tls_of(**where, ssl_verify_server_cert=True)
    assert tls_of(**where)
    with pytest.raises(errors.OperationalError, match="UnknownIssuer"):
        tls_of(**where, ssl_mode="VERIFY_IDENTITY")
    with pytest.raises(errors.OperationalError, match="UnknownIssuer"):
        tls_of(**where, ssl_verify_server_cert=True, ssl_ca=str(certificates.ca))
    with pytest.raises(errors.OperationalError, match="did not prove"):
        tls_of(**{**where, "user": "open", "password": ""}, ssl_verify_server_cert=True)
    with pytest.raises(errors.InvalidPassword):
        tls_of(**{**where, "password": "lion"}, ssl_verify_server_cert=True)


def test_someone_in_between_is_found_out_by_the_password(
    zero_server: MariaDBServer, certificates: Certificates
) -> None:
    with SomeoneBetween(zero_server.port, certificates.server_cert, certificates.server_key) as between:
        where: dict[str, Any] = {"host": "127.0.0.1", "port": between.port, "user": "plain", "password": "tiger"}
        with headrace.mysql.connect(**where, ssl_mode="REQUIRED") as conn:
            assert conn.fetchval("select 'to be heard'") == "to be heard"
        assert b"to be heard" in between.received
        between.received = b""
        with pytest.raises(errors.OperationalError, match="did not prove"):
            headrace.mysql.connect(**where, ssl_verify_server_cert=True)
        assert b"tiger" not in between.received
        # A certificate of a trusted authority needs no other proof.
        trusted = tls_of(**where, ssl_mode="VERIFY_IDENTITY", ssl_ca=str(certificates.ca))
        assert trusted


async def test_tls_on_a_loop(zero_server: MariaDBServer, tls_server: MariaDBServer, certificates: Certificates) -> None:
    where: dict[str, Any] = {"host": "127.0.0.1", "user": "plain", "password": "tiger"}
    for server, keywords in (
        (zero_server, {"ssl_verify_server_cert": True}),
        (tls_server, {"ssl": {"ca": certificates.ca}}),
    ):
        conn = await headrace.aio.mysql.connect(**where, port=server.port, **keywords)
        assert conn._core.wire.tls_info()
        rows = await conn.fetch("select seq, repeat('x', 100) from test.seq_1_to_20000")
        assert rows == [(n, "x" * 100) for n in range(1, 20_001)]
        await conn.close()
    between = SomeoneBetween(zero_server.port, certificates.server_cert, certificates.server_key)
    with between, pytest.raises(errors.OperationalError, match="did not prove"):
        await headrace.aio.mysql.connect(**where, port=between.port, ssl_verify_server_cert=True)


def test_unix_sockets(my_server: Served) -> None:
    with headrace.connect(my_server.server.socket_url) as conn:
        assert conn.fetchval("select @@version_comment") is not None
        assert conn.fetch("select host from information_schema.processlist where id = connection_id()") == [
            ("localhost",)
        ]
    with pytest.raises(errors.OperationalError, match="/no/such"):
        headrace.mysql.connect(unix_socket="/no/such")


@pytest.fixture
def dead() -> Iterator[int]:
    """A port without a listener, which no other program can take in the meantime."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_hosts_are_tried_in_turn(my_server: Served, dead: int) -> None:
    user = {"user": "tester", "password": "tiger"}
    with headrace.connect(f"mysql://127.0.0.1:{dead},127.0.0.1:{my_server.server.port}/test", **user) as conn:
        assert conn.fetchval("select database()") == "test"
    with pytest.raises(errors.OperationalError) as caught:
        headrace.mysql.connect(f"mysql://no-such-host.invalid,127.0.0.1:{dead}/test", **user)
    assert "no-such-host.invalid" in str(caught.value)
    assert "refused" in str(caught.value)
    assert "tiger" not in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [({"password": "lion"}, errors.InvalidPassword), ({"database": "no_such_schema"}, errors.InvalidCatalogName)],
    ids=["password", "database"],
)
async def test_a_refusal_is_not_asked_for_twice(
    my_server: Served, dead: int, wrong: dict[str, str], kind: type[errors.Error]
) -> None:
    port = my_server.server.port
    given: dict[str, Any] = {"user": "tester", "password": "tiger", "database": "test"} | wrong
    hosts = f"mysql://127.0.0.1:{dead},127.0.0.1:{port},127.0.0.1:{port}/"
    with headrace.mysql.connect(my_server.url("test"), autocommit=True) as admin:
        attempts = "show global status like 'Connections'"
        before = int(admin.fetch(attempts)[0][1])
        with pytest.raises(kind) as caught:
            headrace.mysql.connect(hosts, **given)
        assert caught.value.sqlcode
        with pytest.raises(kind):
            await headrace.aio.mysql.connect(hosts, **given)
        assert int(admin.fetch(attempts)[0][1]) == before + 2


def test_passwords_from_a_function(my_server: Served) -> None:
    calls: list[int] = []

    def password() -> str:
        calls.append(1)
        return "tiger"

    for _ in range(2):
        with headrace.mysql.connect(
            host="127.0.0.1", port=my_server.server.port, user="tester", password=password
        ) as conn:
            assert "tiger" not in repr(conn)
    assert len(calls) == 2

    async def later() -> str:
        return "tiger"

    with pytest.raises(errors.ProgrammingError, match="asynchronous"):
        headrace.mysql.connect(host="127.0.0.1", port=my_server.server.port, user="tester", password=later)

    async def connect() -> None:
        conn = await headrace.aio.mysql.connect(
            host="127.0.0.1", port=my_server.server.port, user="tester", password=later
        )
        await conn.close()

    asyncio.run(connect())


def test_compression(my_server: Served) -> None:
    where: dict[str, Any] = {"host": "127.0.0.1", "port": my_server.server.port, "user": "tester", "password": "tiger"}
    with headrace.mysql.connect(**where, compress=True, database="test", autocommit=True) as conn:
        assert conn.fetch("show status like 'Compression'") == [("Compression", "ON")]
        fresh(conn, "table squeezed (n int, t longtext)")
        rows = [(n, "abc" * (n % 1000)) for n in range(3000)]
        conn.executemany("insert into squeezed values (?, ?)", rows)
        assert conn.fetch("select * from squeezed order by n") == rows
        assert sum(len(block) for block in conn.stream_blocks("select * from squeezed", fetch_size=100)) == 3000


class Silence(Accepting):
    """Takes connections and sends nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.listen()

    def serve(self, client: socket.socket) -> None:
        return


def test_connecting_ends_in_time() -> None:
    with Silence() as silence:
        started = time.monotonic()
        with pytest.raises(errors.ConnectionTimeout, match=r"connect_timeout=0\.3"):
            headrace.mysql.connect(host="127.0.0.1", port=silence.port, user="u", connect_timeout=0.3)
        assert time.monotonic() - started < 3


async def test_connecting_on_a_loop_ends_in_time() -> None:
    with Silence() as silence, pytest.raises(errors.ConnectionTimeout):
        await headrace.aio.mysql.connect(host="127.0.0.1", port=silence.port, user="u", connect_timeout=0.3)


class Deaf(Accepting):
    """Passes everything to a server and back, until it stops to read from its clients."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.target = port
        self.deaf = threading.Event()
        self.listen()

    def serve(self, client: socket.socket) -> None:
        # Of a buffer that grows the kernel might have made one for all that is sent.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        server = self.connected(self.target)
        self.start(self._pass, server, client, False)
        self._pass(client, server, True)

    def _pass(self, source: socket.socket, sink: socket.socket, from_client: bool) -> None:
        while not (from_client and self.deaf.is_set()) and (block := source.recv(65536)):
            sink.sendall(block)


LARGE = b"x" * 30_000_000
"""More than sockets hold."""
BOUND = 30
"""Seconds. Nothing else would end it, and the error names the timeout; a busy machine may take long to copy it. So the
timeout is not shorter: what passes the bytes on is a thread of this process."""


@pytest.mark.slow
def test_a_server_that_reads_nothing_is_given_up(my_server: Served) -> None:
    with Deaf(my_server.server.port) as deaf:
        where: dict[str, Any] = {**my_server.where, "port": deaf.port, "ssl_mode": "DISABLED"}
        with headrace.mysql.connect(**where, write_timeout=1.5, autocommit=True) as conn:
            # What is answered late is not what this is about.
            assert conn.fetchval("select sleep(1.8)") == 0
            assert conn.fetchval("select length(?)", LARGE) == len(LARGE)
            # The thread may read one more block.
            deaf.deaf.set()
            started = time.monotonic()
            with pytest.raises(errors.OperationalError, match=r"write_timeout=1\.5"):
                conn.execute("select length(?)", (LARGE,))
            assert 1.4 < time.monotonic() - started < BOUND
            assert conn.closed


@pytest.mark.slow
async def test_a_server_that_reads_nothing_is_given_up_on_a_loop(my_server: Served) -> None:
    with Deaf(my_server.server.port) as deaf:
        conn = await headrace.aio.mysql.connect(
            **{**my_server.where, "port": deaf.port}, ssl_mode="DISABLED", write_timeout=1.5
        )
        assert await conn.fetchval("select sleep(1.8)") == 0
        assert await conn.fetchval("select length(?)", LARGE) == len(LARGE)
        deaf.deaf.set()
        started = time.monotonic()
        with pytest.raises(errors.OperationalError, match=r"write_timeout=1\.5"):
            await conn.execute("select length(?)", (LARGE,))
        assert 1.4 < time.monotonic() - started < BOUND
        assert conn.closed
        await conn.close()


@pytest.mark.slow
def test_a_server_that_says_nothing_is_given_up(my_server: Served, my_url: str) -> None:
    with headrace.mysql.connect(my_url, read_timeout=0.5, autocommit=True) as conn:
        assert conn.fetchval("select sleep(0.2)") == 0
        # A server that keeps sending rows is not silent, however long they take.
        total = 0
        query = f"select seq, sleep(0.01), repeat('x', 20000) from {my_server.series(120)}"
        for _ in conn.stream_blocks(query, fetch_size=10):
            total += 10
        assert total == 120
        with pytest.raises(TimeoutError):
            conn.execute("select sleep(10)", timeout=0.2)
        started = time.monotonic()
        with pytest.raises(errors.OperationalError, match=r"read_timeout=0\.5"):
            conn.execute("select sleep(10)")
        assert 0.4 < time.monotonic() - started < 3
        assert conn.closed


@pytest.mark.slow
async def test_a_server_that_says_nothing_is_given_up_on_a_loop(my_server: Served, my_url: str) -> None:
    conn = await headrace.aio.mysql.connect(my_url, read_timeout=0.5)
    assert await conn.fetchval("select sleep(0.2)") == 0
    await asyncio.sleep(0.8)
    assert await conn.fetchval("select 1") == 1
    async for _ in conn.stream_blocks(f"select seq from {my_server.series(200_000)}", fetch_size=100_000):
        await asyncio.sleep(0.7)
    started = time.monotonic()
    with pytest.raises(errors.OperationalError, match=r"read_timeout=0\.5"):
        await conn.execute("select sleep(10)")
    assert 0.4 < time.monotonic() - started < 3
    assert conn.closed
    await conn.close()


@pytest.mark.parametrize("prepared", [True, False], ids=["binary", "text"])
def test_types_that_only_mariadb_has(zero_server: MariaDBServer, prepared: bool) -> None:
    """Of 11.4, over TLS; those of 10.11 are in test_types."""
    row = (
        1, uuid.UUID("0123456789ab4def8123456789abcdef"), ipaddress.IPv4Address("10.1.2.3"),
        ipaddress.IPv6Address("2001:db8::ff00:42:8329"), dt.datetime(2100, 1, 1, 0, 0, 0, 1), None,
    )  # fmt: skip
    with headrace.mysql.connect(
        host="127.0.0.1", port=zero_server.port, user="plain", password="tiger", database="test", prepared=prepared,
        autocommit=True, local_infile=True,
    ) as conn:  # fmt: skip
        fresh(
            conn, "table kinds (id int, u uuid, four inet4, six inet6, m datetime(6), n inet6 null, primary key (id))"
        )
        conn.execute("insert into kinds values (?, ?, ?, ?, ?, ?)", row)
        conn.executemany("insert into kinds values (?, ?, ?, ?, ?, ?)", [(2, *row[1:]), (3, *row[1:])])
        conn.load_rows("kinds", [(4, *row[1:])])
        assert conn.fetch("select * from kinds order by id") == [(n, *row[1:]) for n in range(1, 5)]
        assert conn.fetchval("select count(*) from kinds where u = ? and six = ?", row[1], row[3]) == 4
