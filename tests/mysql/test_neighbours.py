"""A KILL QUERY that would reach another server, behind a balancer, is not sent."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import headrace.aio.mysql
import headrace.mysql
from balancing import Balances
from headrace import errors
from served import Served
from waiting import until

VERSION = "8.4.3"


@pytest.mark.parametrize(
    ("thread", "beside", "row", "is_other"),
    [
        (7, 9, (9, VERSION, 1, 1), False),
        (7, 9, (9, VERSION, 1, 0), True),
        (7, 9, (9, VERSION, 1, None), True),
        # It shows no attributes.
        (7, 9, (9, VERSION, None, None), False),
        (9, 7, (7, VERSION, None, None), True),
        (9, 9, (9, VERSION, None, None), True),
        (2**32 - 5, 3, (2**32 + 3, VERSION, None, None), False),
        # Another number than in its greeting: it is a proxy.
        (9, 7, (1234, VERSION, 1, None), False),
        (9, 7, (7, "8.0.11-TiDB-v7.5.0", None, None), False),
    ],
)
def test_whether_a_kill_would_reach_another_server(
    my_server: Served, thread: int, beside: int, row: tuple[Any, ...], is_other: bool
) -> None:
    with headrace.mysql.connect(**my_server.where, database="test", autocommit=True) as conn:
        question = conn._core.wire.cancel_question(beside)
        number = conn._core.thread_id
        question = re.sub(rf"(?<= - ){number}(?=\))", str(thread), question)
        names = ("own", "version", "shown", "found")
        seen = ", ".join(
            f"{'null' if value is None else repr(value)} as {name}" for value, name in zip(row, names, strict=True)
        )
        question, replaced = re.subn(r"\(SELECT connection_id.*\) AS seen", f"(SELECT {seen}) AS seen", question)
        assert replaced == 1
        assert bool(conn.fetch(question)) is is_other


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


def kills(server: Served) -> int:
    """The KILLs that a server was sent."""
    with headrace.mysql.connect(**server.where, autocommit=True) as conn:
        return int(conn.fetch("show global status like 'Com_kill'")[0][1])


def test_adbc_sends_a_kill_to_no_other_server(adbc_dbapi: Any, balanced: str, mysql_served: Served) -> None:
    before = kills(mysql_served)
    with adbc_dbapi.connect(balanced.partition("&")[0], autocommit=True) as conn, conn.cursor() as cursor:
        over = threading.Event()

        def cancel() -> None:
            while not over.wait(0.05):
                with contextlib.suppress(adbc_dbapi.Error):
                    cursor.adbc_cancel()

        thread = threading.Thread(target=cancel)
        thread.start()
        try:
            with pytest.raises(adbc_dbapi.Error):
                cursor.execute("select sleep(60)")
                cursor.fetchall()
        finally:
            over.set()
            thread.join()
        cursor.execute("select 1")
        assert cursor.fetchall() == [(1,)]
    assert kills(mysql_served) == before


class Stalls(Balances):
    """Answers no more on a connection of a client that has sent something with this word, which is kept from the
    server."""

    def __init__(self, word: bytes, port: int) -> None:
        super().__init__(port)
        self.word = word
        self.sent: list[bytes] = []
        """What was sent on such connections."""

    def serve(self, client: socket.socket) -> None:
        server = self.connected(next(self.targets))
        self.start(self._pass, server, client)
        while block := client.recv(65536):
            if self.sent or self.word in block:
                self.sent.append(block)
            else:
                server.sendall(block)


@pytest.mark.slow
@pytest.mark.parametrize("word", [b"performance_schema", b"KILL"], ids=["question", "kill"])
def test_adbc_cancels_nothing_else_where_it_gets_no_answer(
    adbc_dbapi: Any, mariadb_served: Served, word: bytes
) -> None:
    ended: list[Any] = []

    def run(cursor: Any) -> None:
        try:
            cursor.execute("select sleep(12)")
            ended.append(cursor.fetchall())
        except adbc_dbapi.Error as error:
            ended.append(str(error))

    with Stalls(word, mariadb_served.server.port) as proxy:
        url = mariadb_served.url("test").replace(str(mariadb_served.server.port), str(proxy.port))
        with adbc_dbapi.connect(f"{url}?ssl_mode=DISABLED", autocommit=True) as conn, conn.cursor() as cursor:
            running = threading.Thread(target=run, args=(cursor,))
            running.start()
            until(lambda: is_cancelled(adbc_dbapi, cursor))
            running.join()
            if word == b"KILL":
                assert "a cancel request was sent that was not answered" in ended[0]
                with pytest.raises(adbc_dbapi.Error, match="the connection is closed"):
                    cursor.execute("select 1")
            else:
                assert ended == [[(0,)]]
                # Its question was not answered, so nothing follows it.
                assert not any(b"KILL" in block for block in proxy.sent)


def is_cancelled(adbc_dbapi: Any, cursor: Any) -> bool:
    """Cancels; returns true if something was under way."""
    try:
        cursor.adbc_cancel()
    except adbc_dbapi.Error:
        return False
    return True
