"""How often the client asks the server: what the driver promises not to ask is not asked."""

# Made by tools/async_to_sync.py of test_round_trips_async.py: edit that file, and run the tool.

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

import headrace.cubrid
from accepting import Accepting
from headrace.cubrid.settings import connect_options


class Counting(Accepting):
    """Passes everything to a server and back, and counts what the client sends after an answer."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.target = port
        self.asked = 0
        self.is_answered = True
        self.listen()

    def serve(self, client: socket.socket) -> None:
        server = self.connected(self.target)
        self.start(self._answers, server, client)
        while block := client.recv(65536):
            self.asked += self.is_answered
            self.is_answered = False
            server.sendall(block)
        server.shutdown(socket.SHUT_RDWR)

    def _answers(self, server: socket.socket, client: socket.socket) -> None:
        while block := server.recv(65536):
            self.is_answered = True
            client.sendall(block)

    def since(self) -> int:
        """The number since the last call."""
        asked, self.asked = self.asked, 0
        return asked


@pytest.fixture
def way(url: str) -> Iterator[Counting]:
    """A way to the server."""
    with Counting(connect_options(url, {}).hosts[0][1]) as counting:
        yield counting


@pytest.mark.parametrize("autocommit", [True, False])
def test_of_statements(url: str, way: Counting, autocommit: bool) -> None:
    with headrace.cubrid.connect(url, host="127.0.0.1", port=way.port, autocommit=autocommit) as conn:
        # TLS and settings would need more.
        assert way.since() in (1, 2), "the broker's answer and the session may come one after the other"
        conn.execute("drop table if exists hr_asked")
        conn.execute("create table hr_asked (id int auto_increment primary key, v int)")
        conn.commit()
        way.since()
        insert = "insert into hr_asked (v) values (?)"
        cursor = conn.execute(insert, (1,))
        assert way.since() == 2, "it is prepared and executed"
        for n in range(5):
            cursor = conn.execute(insert, (n,))
        assert way.since() == 5, "its handle is kept, and no generated value is asked for"
        assert conn.last_insert_id() == 6
        assert cursor.rowcount == 1
        assert way.since() in (1, 2), "it is asked for where it is read, which may leave a transaction open"
        conn.commit()
        way.since()
        assert conn.fetchval("select v from hr_asked where id = ?", 1) == 1
        assert way.since() == 2
        for n in range(1, 7):
            conn.fetch("select v from hr_asked where id = ?", n)
        assert way.since() == 6, "no request before a statement looks whether the process is there"
        conn.commit()
        assert way.since() == (0 if autocommit else 1)
        with conn.transaction():
            conn.execute(insert, (7,))
        assert way.since() == 2, "there is no BEGIN"
        conn.execute("drop table hr_asked")
        conn.commit()
