"""The floors' exchanges with a server that answers each request with a byte, or with many."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from headrace_lab.counted import Counted, Question, beside, share

LONG = 300_000
"""Bytes of the reply to something large."""


class _Link(Counted):
    """A connection to the server below."""

    def reply_end(self, data: bytearray) -> int | None:
        return None

    def prepare(self, sql: str) -> int:
        return 0

    def close(self) -> None:
        self.socket.close()


@pytest.fixture
def port() -> Iterator[int]:
    """A server: ``s`` is answered with a byte, ``l`` with many."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer(client: socket.socket) -> None:
        with client:
            while request := client.recv(100):
                for each in request.decode():
                    client.sendall(b"x" * (LONG if each == "l" else 1))

    def accept() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(client,), daemon=True).start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    accepting.join()


def test_tasks_wait_for_a_connection_in_their_order(port: int) -> None:
    links = [_Link("127.0.0.1", port) for _ in range(2)]
    alone = share(links, [b"s", b"s"], 1, 200)
    shared = share(links, [b"s", b"s"], 1, 200, tasks=20)
    assert len(alone) == len(shared) == 200
    # Each of 20 tasks waits for nine others on its connection.
    assert sorted(shared)[100] > 3 * sorted(alone)[100]
    for link in links:
        link.close()


def test_something_small_is_asked_beside_something_large(port: int) -> None:
    large, small = _Link("127.0.0.1", port), _Link("127.0.0.1", port)
    latencies = beside(Question(large, b"l", LONG), Question(small, b"s", 1), 20, 0.0)
    assert latencies
    assert min(latencies) > 0
    for link in (large, small):
        # Nothing is left of what was asked.
        link.socket.setblocking(False)
        with pytest.raises(BlockingIOError):
            link.socket.recv(1)
        link.close()
