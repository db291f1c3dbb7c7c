"""The listener of the tests leaves no threads and sockets, whichever clients connect, and whenever."""

from __future__ import annotations

import contextlib
import socket
import threading

import pytest

from accepting import Accepting


class Echo(Accepting):
    """Echoes what it receives; one word makes it fail."""

    def __init__(self) -> None:
        super().__init__()
        self.listen()

    def serve(self, client: socket.socket) -> None:
        while block := client.recv(100):
            if block == b"word":
                raise ValueError("the word")
            client.sendall(block)


@pytest.mark.slow
def test_strangers_who_connect_at_the_end_leave_no_socket() -> None:
    for _ in range(5):
        echo = Echo()
        over = threading.Event()

        def stranger(port: int = echo.port, over: threading.Event = over) -> None:
            with contextlib.suppress(OSError):
                while not over.is_set():
                    socket.create_connection(("127.0.0.1", port)).close()

        strangers = [threading.Thread(target=stranger) for _ in range(3)]
        for thread in strangers:
            thread.start()
        with socket.create_connection(("127.0.0.1", echo.port)) as client:
            client.sendall(b"there")
            assert client.recv(100) == b"there"
            echo.close()
            assert client.recv(100) == b""
        over.set()
        for thread in strangers:
            thread.join()
        assert [one.fileno() for one in (echo.listener, *echo._sockets)] == [-1] * (len(echo._sockets) + 1)
        assert not any(thread.is_alive() for thread in echo._threads)


def test_an_error_in_a_thread_is_raised_at_the_end() -> None:
    with (
        pytest.raises(ValueError, match="the word"),
        Echo() as echo,
        socket.create_connection(("127.0.0.1", echo.port)) as client,
    ):
        client.sendall(b"word")
        assert client.recv(100) == b""
