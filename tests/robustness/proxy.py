"""A TCP proxy that records what passes, or spoils it."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Callable

from accepting import Accepting

Spoil = Callable[[int, bytes], bytes | None]
"""Given the number of bytes passed before and a block from the server: the block to pass on, or None to stop."""


class Proxy(Accepting):
    """Listens on a loopback port and passes everything to a server and back, in threads.

    `record` keeps the conversation as a list of (from_client, bytes). `spoil` sees what the server sends. `delay` is
    seconds for each block from the server. `reset` ends with RST in place of FIN when `spoil` stops.
    """

    def __init__(
        self, port: int, *, spoil: Spoil | None = None, delay: float = 0, reset: bool = False, half_open: bool = False
    ) -> None:
        super().__init__()
        self.target = port
        self.spoil = spoil
        self.delay = delay
        self.reset = reset
        self.half_open = half_open
        self.record: list[tuple[bool, bytes]] = []
        self.listen()

    def serve(self, client: socket.socket) -> None:
        server = self.connected(self.target)
        self.start(self._pass, client, server, True)
        self._pass(server, client, False)

    def _pass(self, source: socket.socket, sink: socket.socket, from_client: bool) -> None:
        passed = 0
        with contextlib.suppress(OSError):
            while block := source.recv(65536):
                if not from_client:
                    if self.delay:
                        time.sleep(self.delay)
                    if self.spoil is not None:
                        spoilt = self.spoil(passed, block)
                        passed += len(block)
                        if spoilt is None:
                            if self.half_open:
                                self.ended.wait()
                            if self.reset:
                                sink.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                            break
                        block = spoilt
                self.record.append((from_client, block))
                sink.sendall(block)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                # Wakes the thread that reads from it; a socket that is read from cannot be closed under it.
                one.shutdown(socket.SHUT_RD if self.reset else socket.SHUT_RDWR)
        if self.reset:
            time.sleep(0.01)
            for one in (source, sink):
                with contextlib.suppress(OSError):
                    one.close()


class Replay(Accepting):
    """Plays the server's side of a recorded conversation once: each block after the client's bytes that came before it,
    whatever they are. `cut` ends it after that many of the server's bytes; `split` sends the block that holds that byte
    in two."""

    def __init__(self, record: list[tuple[bool, bytes]], *, cut: int | None = None, split: int | None = None) -> None:
        super().__init__()
        self.record = record
        self.cut = cut
        self.split = split
        self.played = False
        self.listen()

    def serve(self, client: socket.socket) -> None:
        if self.played:
            # A session that goes on after its connection was lost.
            client.close()
            return
        self.played = True
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sent = 0
        with client:
            for from_client, block in self.record:
                if from_client:
                    left = len(block)
                    while left > 0:
                        got = client.recv(left)
                        if not got:
                            return
                        left -= len(got)
                    continue
                if self.cut is not None and sent + len(block) > self.cut:
                    client.sendall(block[: self.cut - sent])
                    return
                at = None if self.split is None else self.split - sent
                if at is not None and 0 < at < len(block):
                    client.sendall(block[:at])
                    time.sleep(0.0005)
                    client.sendall(block[at:])
                else:
                    client.sendall(block)
                sent += len(block)
            client.settimeout(1)
            while client.recv(4096):
                pass
