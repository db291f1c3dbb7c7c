"""Someone in between: takes a client's TLS with a certificate of its own, and speaks TLS with the server."""

from __future__ import annotations

import select
import socket
import ssl
from pathlib import Path

from accepting import Accepting


class SomeoneBetween(Accepting):
    """Listens on a loopback port, passes everything to a server and back, and could read it all."""

    def __init__(self, port: int, certificate: Path, key: Path) -> None:
        super().__init__()
        self.target = port
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.received = b""
        self.listen()

    def serve(self, client: socket.socket) -> None:
        server = self.connected(self.target)
        head = server.recv(4, socket.MSG_WAITALL)
        client.sendall(head + server.recv(int.from_bytes(head[:3], "little"), socket.MSG_WAITALL))  # the greeting
        server.sendall(client.recv(36, socket.MSG_WAITALL))  # SSLRequest: 4 bytes of header, 32 of payload
        trusting = ssl.create_default_context()
        trusting.check_hostname = False
        trusting.verify_mode = ssl.CERT_NONE
        inner = self.context.wrap_socket(client, server_side=True)
        self.keep(inner)
        outer = trusting.wrap_socket(server)
        self.keep(outer)
        with inner, outer:
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
                    self.received += block
                other[side].sendall(block)
