"""What ``error.code`` says of a connection that could not be made, or is gone: the same for all databases."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

import headrace
import headrace.aio
from accepting import Accepting
from servers import Database

Attempt = Callable[[str], None]


def blocking(url: str) -> None:
    """Connects, asks, and closes."""
    with headrace.connect(url, connect_timeout=10) as conn:
        conn.execute("select 1")


def on_a_loop(url: str) -> None:
    """The same on a loop."""

    async def attempt() -> None:
        async with await headrace.aio.connect(url, connect_timeout=10) as conn:
            await conn.execute("select 1")

    asyncio.run(attempt())


both = pytest.mark.parametrize("attempt", [blocking, on_a_loop], ids=["blocking", "asyncio"])


def elsewhere(database: Database, port: int) -> str:
    """The URL of the same database at another port of this machine."""
    url = urlsplit(database.url)
    user = f"{url.username}:{url.password or ''}" if url.username else ""
    return url._replace(netloc=f"{user}@127.0.0.1:{port}").geturl()


def untold(database: Database, port: int) -> str:
    """The same, where TLS is not asked for first."""
    return elsewhere(database, port) + database.plain


class Stranger(Accepting):
    """Says the same to everybody, and then no more."""

    def __init__(self, said: bytes) -> None:
        super().__init__()
        self.said = said
        self.listen()

    def serve(self, client: socket.socket) -> None:
        client.sendall(self.said)
        client.shutdown(socket.SHUT_WR)
        while client.recv(65536):
            pass


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port without a listener, which no other program can take."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@both
def test_closed_port_is_connect_failed(any_db: Database, attempt: Attempt, closed_port: int) -> None:
    with pytest.raises(headrace.OperationalError) as caught:
        attempt(elsewhere(any_db, closed_port))
    assert caught.value.code == "connect_failed"


@both
def test_something_closes_without_a_word(any_db: Database, attempt: Attempt) -> None:
    with Stranger(b"") as stranger, pytest.raises(headrace.errors.ConnectionClosed) as caught:
        attempt(untold(any_db, stranger.port))
    assert caught.value.code == "connection_lost"


@both
def test_something_else_listens(any_db: Database, attempt: Attempt) -> None:
    with Stranger(any_db.garbage) as stranger, pytest.raises(headrace.OperationalError) as caught:
        attempt(untold(any_db, stranger.port))
    assert caught.value.code == "protocol_violation", caught.value


@both
def test_the_server_refuses_the_login(any_db: Database, attempt: Attempt) -> None:
    with pytest.raises(headrace.DatabaseError) as caught:
        attempt(any_db.refused_url)
    assert caught.value.code == "login_refused"
    assert caught.value.sqlstate or caught.value.sqlcode


def test_a_closed_connection(any_db: Database) -> None:
    conn: Any = any_db.connect()
    conn.close()
    with pytest.raises(headrace.errors.ConnectionClosed) as caught:
        conn.execute("select 1")
    assert caught.value.code == "connection_closed"


def test_a_statement_that_is_wrong_has_no_code(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn, pytest.raises(headrace.DatabaseError) as caught:
        conn.execute("select nothing from nowhere_at_all")
    assert caught.value.code is None
