"""The end of a server's TLS is the end of its connection, whether or not the socket is closed."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace
import headrace.aio
from accepting import Accepting
from headrace import errors
from headrace.testing import PostgresServer
from headrace.testing._certificates import Certificates, make_certificates


class Goodbye(Accepting):
    """A relay with TLS in front of PostgreSQL. If ``ending`` is set it passes on all that the server still sends and
    the end of its own TLS in one piece, and leaves the socket open."""

    def __init__(self, port: int, certificates: Certificates) -> None:
        super().__init__()
        self.ending = threading.Event()
        self._server = port
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificates.server_cert, certificates.server_key)
        self.listen()

    def serve(self, client: socket.socket) -> None:
        assert len(client.recv(8)) == 8, "it asks for TLS"
        client.sendall(b"S")
        came, to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = self._context.wrap_bio(came, to_send, server_side=True)
        self._step(client, came, to_send, tls.do_handshake)
        server = self.connected(self._server)
        self.start(self._answer, server, client, tls, to_send)
        while block := self._step(client, came, to_send, lambda: tls.read(65536)):
            server.sendall(block)

    def _step(self, client: socket.socket, came: ssl.MemoryBIO, to_send: ssl.MemoryBIO, step: Callable[[], Any]) -> Any:
        while True:
            try:
                done = step()
            except ssl.SSLWantReadError:
                client.sendall(to_send.read())
                came.write(client.recv(65536) or b"")
            else:
                client.sendall(to_send.read())
                return done

    def _answer(self, server: socket.socket, client: socket.socket, tls: ssl.SSLObject, to_send: ssl.MemoryBIO) -> None:
        while block := server.recv(65536):
            tls.write(block)
            if not self.ending.is_set():
                client.sendall(to_send.read())
        with contextlib.suppress(ssl.SSLWantReadError):
            tls.unwrap()
        client.sendall(to_send.read())


@pytest.fixture
def relay(server: PostgresServer, tmp_path: Path) -> Iterator[tuple[Goodbye, str]]:
    certificates = make_certificates(tmp_path, client_name="postgres")
    with Goodbye(server.port, certificates) as relay:
        login = "user=postgres dbname=postgres sslmode=verify-full"
        yield relay, f"host=127.0.0.1 port={relay.port} {login} sslrootcert={certificates.ca}"


def kill(server: PostgresServer, relay: Goodbye, pid: int) -> None:
    with headrace.connect(f"host=127.0.0.1 port={server.port} user=postgres dbname=postgres", autocommit=True) as other:
        while not other.fetchval("select wait_event = 'PgSleep' from pg_stat_activity where pid = %s", pid):
            time.sleep(0.01)
        relay.ending.set()
        other.execute("select pg_terminate_backend(%s)", (pid,))


def test_end_of_tls_with_the_last_message_is_seen(server: PostgresServer, relay: tuple[Goodbye, str]) -> None:
    conn = headrace.connect(relay[1], autocommit=True)
    killer = threading.Thread(target=kill, args=(server, relay[0], conn.backend_pid))
    killer.start()
    with pytest.raises(errors.OperationalError, match="terminating connection"):
        conn.execute("select pg_sleep(60)", timeout=10)
    killer.join()
    assert conn.closed


async def test_end_of_tls_with_the_last_message_is_seen_on_a_loop(
    server: PostgresServer, relay: tuple[Goodbye, str]
) -> None:
    conn = await headrace.aio.connect(relay[1], autocommit=True)
    killing = asyncio.create_task(asyncio.to_thread(kill, server, relay[0], conn.backend_pid))
    with pytest.raises(errors.OperationalError, match="terminating connection"):
        await conn.execute("select pg_sleep(60)", timeout=10)
    await killing
    assert conn.closed
