"""A TCP balancer: each connection is passed to the next of several servers."""

from __future__ import annotations

import itertools
import socket

from accepting import Accepting


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
