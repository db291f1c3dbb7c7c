"""A server whose certificate is not trusted receives a TLS alert with the reason, from both loops."""

# Made by tools/async_to_sync.py of test_refused_certificates_async.py: edit that file, and run the tool.

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace
from accepting import Accepting
from headrace.testing._certificates import Certificates, make_certificates


class Untrusted(Accepting):
    """Says yes to PostgreSQL's SSLRequest, and keeps what TLS then comes to."""

    def __init__(self, certificates: Certificates) -> None:
        super().__init__()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificates.server_cert, certificates.server_key)
        self.refusals: list[str] = []

    def serve(self, client: socket.socket) -> None:
        client.recv(8, socket.MSG_WAITALL)
        client.sendall(b"S")
        try:
            with self.context.wrap_socket(client, server_side=True) as encrypted:
                encrypted.recv(1)
        except ssl.SSLError as error:
            self.refusals.append(error.reason)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("untrusted"), client_name="postgres")


@pytest.fixture
def server(certificates: Certificates) -> Iterator[Untrusted]:
    with contextlib.closing(Untrusted(certificates)) as server:
        server.listen()
        yield server


@pytest.fixture
def asked(server: Untrusted, tmp_path: Path) -> str:
    """What is connected to, where another authority is trusted."""
    others = make_certificates(tmp_path, client_name="postgres")
    return f"host=127.0.0.1 port={server.port} user=u dbname=d sslmode=verify-full sslrootcert={others.ca}"


def test_client_sends_an_alert(server: Untrusted, asked: str) -> None:
    with pytest.raises(headrace.OperationalError) as caught:
        headrace.connect(asked)
    assert caught.value.code == "tls_refused"
    server.close()
    assert [refusal[:11] for refusal in server.refusals] == ["TLSV1_ALERT"]
