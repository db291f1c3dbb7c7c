"""The floor: sends bytes that were prepared in advance, and counts those of the replies.

How long a reply is it learns before the clock starts, when it reads the rows; a reply of a round that has as many bytes
stands for the same rows. Its ``connect`` is connecting to the socket and one round trip without a session: the request
for TLS, which servers and poolers answer with a byte.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from ..counted import share
from ..link import BUFFER, SSL_REQUEST, SYNC, Link, bind_execute
from .base import Client, Clock, Rows
from .workloads import BULK_BATCH, LIMITS, SELECT, limits

NUMBER: Final = 1
"""The number of the statement, the first that is prepared on a connection."""
READY: Final = b"Z\0\0\0\5I"
"""ReadyForQuery outside of a transaction."""


def socket_path(url: str) -> str:
    """The path of the Unix socket that a URL names by its folder and its port."""
    options = parse_qs(urlsplit(url).query)
    return f"{options['host'][0]}/.s.PGSQL.{options['port'][0]}"


def request(asked: Sequence[int]) -> bytes:
    """The bytes of so many executions."""
    return b"".join(bind_execute(NUMBER, [struct.pack("!q", limit)]) for limit in asked) + SYNC


def rows_of(reply: bytes) -> Rows:
    """The rows in a reply: an integer and a text each."""
    rows, at = Rows(), 0
    while at < len(reply):
        end = at + 1 + int.from_bytes(reply[at + 1 : at + 5], "big")
        tag = reply[at : at + 1]
        if tag == b"E":
            raise RuntimeError(f"the server answered {reply[at + 5 : end]!r}")
        if tag == b"D":
            # The number of columns, and of each its length and its bytes.
            number = int.from_bytes(reply[at + 11 : at + 15], "big")
            rows.append((number, reply[at + 19 : end].decode()))
        at = end
    return rows


class Floor(Client):
    """The bytes of a prepared statement."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.path = socket_path(url)
        self.links: list[Link] = []
        # One statement by its limit as (limit,), a batch by its size.
        self.requests: dict[Any, bytes] = {}
        self.right: dict[Any, Rows] = {}
        self.view = memoryview(bytearray(BUFFER))
        self.bulk: _Bulk | None = None

    def open(self) -> Link:
        link = Link(self.url)
        # A buffer for each of hundreds of connections would take hundreds of megabytes.
        link.buffer, link.view = bytearray(), self.view
        link.prepare(f"{SELECT}$1")
        return link

    def ask(self, conn: Any) -> Any:
        raise NotImplementedError

    def leave(self, conn: Link) -> None:
        conn.close()

    def _connect(self, clock: Clock, inner: int) -> list[Any]:
        answers: list[Any] = []
        for _ in range(inner):
            with clock.running():
                raw = socket.socket(socket.AF_UNIX)
                raw.connect(self.path)
                raw.sendall(SSL_REQUEST)
                answer = raw.recv(1)
            raw.close()
            # It has no row; that the other side has answered stands for it.
            answers.append(42 if answer == b"N" else answer)
        return answers

    def prepare(self, workload: str, size: int) -> None:
        super().prepare(workload, size)
        if self.conn is not None:
            for limit in LIMITS:
                self._learn(self.conn, (limit,), [limit])
            if workload in ("batch", "count"):
                self._learn(self.conn, size, limits(size))

    def _learn(self, link: Link, key: Any, asked: Sequence[int]) -> None:
        """Makes a request, and reads its rows, and how long its reply is."""
        if key in link.known:
            return
        made = self.requests.setdefault(key, request(asked))
        sender = threading.Thread(target=link.socket.sendall, args=(made,))
        sender.start()
        reply = bytearray()
        while not reply.endswith(READY):
            got = link.receive()
            reply += link.view[:got]
        sender.join()
        link.known[key] = len(reply)
        self.right[key] = rows_of(bytes(reply))

    def query(self) -> Callable[[int], Rows]:
        ask, requests, right = self.conn.ask, self.requests, self.right

        def once(limit: int) -> Rows:
            ask((limit,), requests[limit,])
            return right[limit,]

        return once

    def batch(self, asked: Sequence[int]) -> Rows:
        key = len(asked)
        self.conn.exchange(key, self.requests[key])
        return self.right[key]

    def count(self, asked: Sequence[int]) -> int | None:
        return len(self.batch(asked))

    def gather(self, size: int) -> None:
        for _ in range(size):
            link = self.open()
            self._learn(link, (1,), [1])
            self.links.append(link)

    def clients(self, size: int, inner: int) -> list[Rows]:
        share(self.links, [self.requests[1,]] * size, self.links[0].known[1,], inner * size)
        return [self.right[1,]] * (inner * size)

    def scatter(self) -> None:
        while self.links:
            self.links.pop().close()

    def start_bulk(self) -> None:
        """Sends batches without a pause from now on; returns after the first."""
        self.prepare("batch", BULK_BATCH)
        self.bulk = _Bulk(self)

    def stop_bulk(self) -> int:
        """Ends that, and returns the number of batches."""
        assert self.bulk is not None
        return self.bulk.end()


class _Bulk:
    """Batches in a thread of their own."""

    def __init__(self, floor: Floor) -> None:
        self.floor = floor
        self.done = 0
        self.error: Exception | None = None
        self.began, self.stopped = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()
        self.began.wait()

    def _work(self) -> None:
        asked = limits(BULK_BATCH)
        try:
            while not self.stopped.is_set():
                self.floor.batch(asked)
                self.done += 1
                self.began.set()
        except Exception as error:
            self.error = error
        self.began.set()

    def end(self) -> int:
        """Returns the number of batches. Raises what has ended them too early."""
        self.stopped.set()
        self.thread.join()
        if self.error is not None:
            raise self.error
        return self.done
