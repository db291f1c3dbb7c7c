"""A way to a server that can be frozen, thawed, cut or spoilt while connections use it."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import time

from accepting import Accepting

SLICE = 0.02
"""Seconds between two looks at a frozen gate."""


class Gate(Accepting):
    """Listens on a loopback port and passes everything to a server and back.

    ``state`` is what happens from now on: ``open``; ``frozen``, where nothing passes and new connections are accepted
    and get no answer; ``dripping``, a byte from the server at a time; ``garbage``, where the server's bytes are
    replaced by others.
    """

    def __init__(self, port: int, seed: int = 0) -> None:
        super().__init__()
        self.target = port
        self.state = "open"
        self.rng = random.Random(seed)
        self.pairs: list[tuple[socket.socket, socket.socket]] = []
        self.listen()

    def serve(self, client: socket.socket) -> None:
        server = self.connected(self.target)
        self.pairs.append((client, server))
        self.start(self._pass, server, client, True)
        self._pass(client, server, False)

    def _pass(self, source: socket.socket, sink: socket.socket, from_server: bool) -> None:
        with contextlib.suppress(OSError):
            while block := source.recv(65536):
                while self.state == "frozen":
                    time.sleep(SLICE)
                if from_server and self.state == "garbage":
                    block = self.rng.randbytes(len(block))
                while from_server and self.state == "dripping" and len(block) > 1:
                    sink.sendall(block[:1])
                    block = block[1:]
                    time.sleep(SLICE)
                sink.sendall(block)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def reset(self) -> None:
        """Ends every connection with RST."""
        for client, server in self.pairs:
            with contextlib.suppress(OSError):
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                # Wakes the thread that reads from it: a socket that is read from cannot be closed under it.
                client.shutdown(socket.SHUT_RD)
                server.shutdown(socket.SHUT_RDWR)
        time.sleep(SLICE)
        for client, _ in self.pairs:
            with contextlib.suppress(OSError):
                client.close()

    def close(self) -> None:
        """Ends everything."""
        self.state = "open"
        super().close()
