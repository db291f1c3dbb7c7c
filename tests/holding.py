"""A proxy that keeps cancel requests back, and lets them come late."""

from __future__ import annotations

import contextlib
import socket
import threading

from accepting import Accepting


class HoldsCancels(Accepting):
    """Passes everything to a server and back, but keeps what has ``mark`` in it until it is released."""

    def __init__(self, port: int, mark: bytes) -> None:
        super().__init__()
        self.target, self.mark = port, mark
        self.came, self.released, self.passed = threading.Event(), threading.Event(), threading.Event()
        self.listen()

    def serve(self, client: socket.socket) -> None:
        server = self.connected(self.target)
        self.start(self._answers, server, client)
        while block := client.recv(65536):
            held = self.mark in block
            if held:
                self.came.set()
                self.released.wait(20)
                if self.ended.is_set():
                    return
            server.sendall(block)
            if held:
                # The server reads what has come before the end of it.
                server.shutdown(socket.SHUT_WR)
                self.passed.wait(20)

    def _answers(self, server: socket.socket, client: socket.socket) -> None:
        while block := server.recv(65536):
            with contextlib.suppress(OSError):
                client.sendall(block)
        if self.released.is_set():
            self.passed.set()

    def close(self) -> None:
        """Ends everything; what is still held never comes."""
        self.ended.set()
        self.released.set()
        self.passed.set()
        super().close()


def release(proxy: HoldsCancels) -> None:
    """Lets what is held come, as soon as there is something."""
    assert proxy.came.wait(10)
    proxy.released.set()
