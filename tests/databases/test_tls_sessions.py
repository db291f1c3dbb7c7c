"""TLS sessions: a second connection resumes the session of the first if the server issues tickets."""

from __future__ import annotations

from typing import Any

import headrace
import headrace.aio
import headrace.informix
from headrace.testing import PostgresServer, informix
from served import Served


def resumed(url: str, **keywords: Any) -> list[bool]:
    """Returns true if each of three connections in a row took up an earlier session."""
    out: list[bool] = []
    for _ in range(3):
        with headrace.connect(url, **keywords) as conn:
            conn.rollback()
            assert conn._core.wire.tls_info() is not None
            # Tickets are sent after the handshake.
            conn.execute("select 1" if "informix" not in url else "select 1 from systables where tabid = 1").fetchall()
            out.append(conn._core.wire.tls_resumed())
    return out


async def resumed_on_a_loop(url: str, **keywords: Any) -> list[bool]:
    """The same on asyncio."""
    out: list[bool] = []
    for _ in range(3):
        async with await headrace.aio.connect(url, **keywords) as conn:
            assert await conn.fetchval("select 1") == 1
            out.append(conn._core.wire.tls_resumed())
    return out


async def test_mysql_resumes_sessions(mysql_served: Served) -> None:
    url = mysql_served.url("test")
    assert resumed(url, ssl_mode="REQUIRED")[1:] == [True, True]
    assert all(await resumed_on_a_loop(url, ssl_mode="REQUIRED"))


def test_the_informix_test_server_resumes_sessions() -> None:
    with informix(tls=True) as server:
        login = f"{server.user}:{server.password}"
        url = f"informix://{login}@127.0.0.1:{server.tls_port}/{server.database}?server={server.server}"
        assert resumed(url, sslmode="verify-full", sslrootcert=str(server.authority)) == [False, True, True]


async def test_postgresql_gives_out_no_tickets(tls_server: PostgresServer) -> None:
    """It turns session tickets off by itself; should it begin to send them, docs/howto/connecting.md is wrong."""
    assert resumed(tls_server.url, sslmode="require") == [False] * 3
    assert await resumed_on_a_loop(tls_server.url, sslmode="require") == [False] * 3
