"""A KILL QUERY that would reach another server, behind a balancer, is not sent."""

from __future__ import annotations

import asyncio
import itertools
import socket
import threading
from collections.abc import Iterator
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

import headrace.aio.mysql
import headrace.mysql
from accepting import Accepting
from headrace import errors
from headrace.mysql import neighbours
from served import Served

ONE = Decimal(1)
VERSION = "8.4.3"


@pytest.mark.parametrize(
    ("thread", "beside", "row", "is_other"),
    [
        (7, 9, (9, VERSION, ONE, ONE), False),
        (7, 9, (9, VERSION, ONE, Decimal(0)), True),
        (7, 9, (9, VERSION, ONE, None), True),
        # It shows no attributes.
        (7, 9, (9, VERSION, None, None), False),
        (9, 7, (7, VERSION, None, None), True),
        (9, 9, (9, VERSION, None, None), True),
        (2**32 - 5, 3, (2**32 + 3, VERSION, None, None), False),
        # Another number than in its greeting: it is a proxy.
        (9, 7, (1234, VERSION, ONE, None), False),
        (9, 7, (7, "8.0.11-TiDB-v7.5.0", None, None), False),
    ],
)
def test_whether_a_kill_would_reach_another_server(
    thread: int, beside: int, row: tuple[Any, ...], is_other: bool
) -> None:
    answer = [SimpleNamespace(rows=[row])]
    if is_other:
        with pytest.raises(errors.OperationalError, match=f"KILL QUERY {thread} would have reached another server"):
            neighbours.check(thread, beside, answer)
    else:
        neighbours.check(thread, beside, answer)


class Balances(Accepting):
    """Passes each connection to the next of several servers."""

    def __init__(self, *ports: int) -> None:
        super().__init__()
        self.targets = itertools.cycle(ports)
        self.listen()

    def serve(self, client: socket.socket) -> None:
        server = self.connected(next(self.targets))
        self.start(self._pass, server, client)
        self._pass(client, server)

    def _pass(self, of: socket.socket, to: socket.socket) -> None:
        while block := of.recv(65536):
            to.sendall(block)


@pytest.fixture
def balanced(mariadb_served: Served, mysql_served: Served) -> Iterator[str]:
    """The URL of MariaDB, then of MySQL, and so on."""
    with Balances(mariadb_served.server.port, mysql_served.server.port) as proxy:
        url = mariadb_served.url("test").replace(str(mariadb_served.server.port), str(proxy.port))
        yield f"{url}?ssl_mode=DISABLED&get_server_public_key=true"


def test_a_kill_is_sent_to_no_other_server(balanced: str) -> None:
    with headrace.mysql.connect(balanced, autocommit=True) as conn:
        assert "MariaDB" in conn.fetchval("select version()")
        ended: list[Any] = []
        thread = threading.Thread(target=lambda: ended.append(conn.fetchval("select sleep(0.5)")))
        thread.start()
        with pytest.raises(errors.OperationalError, match="would have reached another server"):
            while thread.is_alive():
                conn.cancel()
        thread.join()
        assert ended == [0]
        assert conn.fetchval("select 1") == 1


async def test_a_kill_is_sent_to_no_other_server_on_a_loop(balanced: str) -> None:
    async with await headrace.aio.mysql.connect(balanced, autocommit=True) as conn:
        running = asyncio.ensure_future(conn.fetchval("select sleep(0.5)"))
        await asyncio.sleep(0)
        with pytest.raises(errors.OperationalError, match="would have reached another server"):
            await conn.cancel()
        assert await running == 0
        assert await conn.fetchval("select 1") == 1
