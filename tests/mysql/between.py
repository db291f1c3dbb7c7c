"""Someone in between: takes a client's TLS with a certificate of its own, and speaks TLS with the server."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
from pathlib import Path


class SomeoneBetween:
    """Listens on a loopback port, passes everything to a server and back, and could read it all."""

    def __init__(self, port: int, certificate: Path, key: Path) -> None:
        self.target = port
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.heard = b""
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client, socket.create_connection(("127.0.0.1", self.target)) as server:
            head = server.recv(4, socket.MSG_WAITALL)
            client.sendall(head + server.recv(int.from_bytes(head[:3], "little"), socket.MSG_WAITALL))  # the greeting
            server.sendall(client.recv(36, socket.MSG_WAITALL))  # SSLRequest: 4 bytes of header, 32 of payload
            trusting = ssl.create_default_context()
            trusting.check_hostname = False
            trusting.verify_mode = ssl.CERT_NONE
            with (
                self.context.wrap_socket(client, server_side=True) as inner,
                trusting.wrap_socket(server) as outer,
            ):
                self._pass(inner, outer)

    def _pass(self, inner: ssl.SSLSocket, outer: ssl.SSLSocket) -> None:
        """In one thread: OpenSSL's connections are not for several."""
        other = {inner: outer, outer: inner}
        while True:
            ready = [side for side in other if side.pending()] or select.select([*other], [], [])[0]
            for side in ready:
                block = side.recv(65536)
                if not block:
                    return
                if side is inner:
                    self.heard += block
                other[side].sendall(block)

    def __enter__(self) -> SomeoneBetween:
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.close()
