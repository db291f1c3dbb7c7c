"""Someone in between: takes a client's TLS with a certificate of its own, and speaks TLS with the server."""

from __future__ import annotations

import contextlib
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
            client.sendall(server.recv(65536))  # the greeting
            server.sendall(client.recv(36))  # SSLRequest: 4 bytes of header, 32 of payload
            trusting = ssl.create_default_context()
            trusting.check_hostname = False
            trusting.verify_mode = ssl.CERT_NONE
            with (
                self.context.wrap_socket(client, server_side=True) as inner,
                trusting.wrap_socket(server) as outer,
            ):
                back = threading.Thread(target=self._pass, args=(outer, inner), daemon=True)
                back.start()
                self._pass(inner, outer, listen=True)
                back.join(5)

    def _pass(self, source: ssl.SSLSocket, sink: ssl.SSLSocket, listen: bool = False) -> None:
        with contextlib.suppress(OSError):
            while block := source.recv(65536):
                if listen:
                    self.heard += block
                sink.sendall(block)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> SomeoneBetween:
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.close()
