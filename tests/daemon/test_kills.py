"""Sessions of the server are killed under load: nothing committed is reported as failed, lost or doubled."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import headrace
from headrace.testing import PostgresServer

from .conftest import config, started
from .raw import EXECUTE, SYNC, Client, bind, parse, query, sqlstates

WRITERS, KILLS = 12, 60
KILL = (
    "select count(pg_terminate_backend(pid)) from (select pid from pg_stat_activity"
    " where application_name = 'to be killed' order by random() limit 1) as one"
)


class Writer(threading.Thread):
    """Inserts a row with each request, until it is told to end."""

    def __init__(self, path: Path, number: int, ended: threading.Event) -> None:
        super().__init__(daemon=True)
        self.path, self.number, self.ended = path, number, ended
        self.confirmed: list[int] = []
        self.contradicted: list[bytes] = []

    def run(self) -> None:
        client, count = None, 0
        connected = socket.socket(socket.AF_UNIX)
        while not self.ended.is_set():
            count += 1
            value = count * WRITERS + self.number
            sql = f"insert into killed values ({value})"
            request = query(sql) if count % 2 else parse("", sql) + bind("") + EXECUTE + SYNC
            try:
                if client is None:
                    connected.connect(str(self.path))
                    client = Client(connected, user="me", database="app", application_name="to be killed")
                answer = client.ask(request)
            except OSError:
                connected.close()
                client, connected = None, socket.socket(socket.AF_UNIX)
                continue
            if sqlstates(answer):
                self.contradicted.append(answer)
            else:
                self.confirmed.append(value)
        connected.close()


def test_end_of_a_session_is_not_the_answer_to_another_request(
    program: Path, folder: Path, server: PostgresServer
) -> None:
    with (
        started(program, folder, config(server, app="pool_size = 4"), server) as daemon,
        headrace.connect(server.url, autocommit=True) as admin,
    ):
        admin.executescript("drop table if exists killed; create table killed (n int)")
        ended = threading.Event()
        writers = [Writer(daemon.socket, number, ended) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        killed = 0
        while killed < KILLS:
            killed += admin.fetchval(KILL)
        ended.set()
        for writer in writers:
            writer.join()
        rows = [n for (n,) in admin.execute("select n from killed").fetchall()]
        admin.execute("drop table killed")
    assert [writer.contradicted for writer in writers if writer.contradicted] == []
    assert len(rows) == len(set(rows))
    assert {n for writer in writers for n in writer.confirmed} <= set(rows)
