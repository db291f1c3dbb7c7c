"""A way to a server that can be frozen, thawed, cut or spoilt while connections use it."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
import time
from collections.abc import Callable

SLICE = 0.02
"""Seconds between two looks at a frozen gate."""


class Gate:
    """Listens on a loopback port and passes everything to a server and back.

    ``state`` is what happens from now on: ``open``; ``frozen``, where nothing passes and new connections are accepted
    and get no answer; ``dripping``, a byte from the server at a time; ``garbage``, where the server's bytes are
    replaced by others.
    """

    def __init__(self, port: int, seed: int = 0) -> None:
        self.target = port
        self.state = "open"
        self.rng = random.Random(seed)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self.listener.getsockname()[1]
        self.pairs: list[tuple[socket.socket, socket.socket]] = []
        self.threads: list[threading.Thread] = []
        self._start(self._accept)

    def _start(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        self.threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
                self.pairs.append((client, server))
                for pair in ((client, server, False), (server, client, True)):
                    self._start(self._pass, *pair)

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

    def refuse(self) -> None:
        """Takes no new connections."""
        with contextlib.suppress(OSError):
            # Closing alone does not wake the thread that accepts, nor free the port.
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

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
        self.refuse()
        for pair in self.pairs:
            for one in pair:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(2)
        for pair in self.pairs:
            for one in pair:
                one.close()

    def __enter__(self) -> Gate:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
