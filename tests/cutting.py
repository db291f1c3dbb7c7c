"""A way to a server that ends in the middle of what a connection sends, after a number of blocks."""

from __future__ import annotations

import socket

from accepting import Accepting

BEFORE = "before the server has the request"
AFTER = "before the reply"
ANSWERED = "after the reply"


class Cutting(Accepting):
    """Passes everything to a server and back. Once ``armed`` with a number, it ends the connection at that block of
    the client: before the server has it, before the reply, or after it."""

    def __init__(self, port: int, where: str) -> None:
        super().__init__()
        self.target = port
        self.where = where
        self.left: int | None = None
        self.cut = False
        self.listen()

    def arm(self, blocks: int) -> None:
        """Counts from now on."""
        self.left = blocks

    def serve(self, client: socket.socket) -> None:
        server = self.connected(self.target)
        self.start(self._pass_replies, server, client)
        while block := client.recv(65536):
            if self.left is not None:
                self.left -= 1
                if self.left <= 0 and self.where == BEFORE:
                    break
            server.sendall(block)
        self._end(client, server)

    def _pass_replies(self, server: socket.socket, client: socket.socket) -> None:
        while block := server.recv(65536):
            is_last = self.left is not None and self.left <= 0
            if is_last and self.where == AFTER:
                break
            if is_last:
                self._note_cut()
            client.sendall(block)
            if is_last:
                break
        self._end(client, server)

    def _note_cut(self) -> None:
        """Further connections are not ended."""
        if self.left is not None and self.left <= 0:
            self.left, self.cut = None, True

    def _end(self, *sockets: socket.socket) -> None:
        self._note_cut()
        for one in sockets:
            one.shutdown(socket.SHUT_RDWR)
