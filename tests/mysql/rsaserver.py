"""The server's half of MySQL 8's logins without TLS, where the password travels encrypted with the server's RSA
key, as the manual has it. Unlike the genuine one (test_genuine.py) it records what it received. It decrypts the
password with the program ``openssl``, and shares no code with the driver. MySQL: "Caching SHA-256 Pluggable
Authentication", "SHA-256 Pluggable Authentication"."""

from __future__ import annotations

import hashlib
import os
import socket
import struct
import subprocess
from pathlib import Path

from accepting import Accepting

PASSWORD = b"tiger"
# LONG_PASSWORD, FOUND_ROWS, LONG_FLAG, CONNECT_WITH_DB, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, MULTI_RESULTS,
# PS_MULTI_RESULTS, PLUGIN_AUTH, PLUGIN_AUTH_LENENC_CLIENT_DATA, DEPRECATE_EOF
OFFERED = 0x1 | 0x2 | 0x4 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x20000 | 0x40000 | 0x80000 | 0x200000 | 0x1000000
OK = b"\x00\x00\x00\x02\x00\x00\x00"
DENIED = b"\xff" + struct.pack("<H", 1045) + b"#28000Access denied"


def make_key(folder: Path) -> tuple[Path, Path]:
    """An RSA key: its private and its public half, PEM."""
    private, public = folder / "private.pem", folder / "public.pem"
    subprocess.run(["openssl", "genrsa", "-out", private, "2048"], check=True, capture_output=True)
    subprocess.run(["openssl", "rsa", "-in", private, "-pubout", "-out", public], check=True, capture_output=True)
    return private, public


class RsaServer(Accepting):
    """Listens on a loopback port. ``cached`` is true if it has the password's hash already, so that
    caching_sha2_password takes the fast way; ``received`` is every byte of every client, ``seen`` the steps of each
    login."""

    def __init__(self, plugin: str, private: Path, public: Path) -> None:
        super().__init__()
        self.plugin = plugin.encode()
        self.private, self.public = private, public.read_bytes()
        self.cached = False
        self.received = b""
        self.seen: list[str] = []
        self.listen()

    def _read(self, client: socket.socket) -> tuple[bytes, int]:
        head = client.recv(4, socket.MSG_WAITALL)
        if len(head) < 4:
            raise ConnectionError
        body = client.recv(int.from_bytes(head[:3], "little"), socket.MSG_WAITALL)
        self.received += head + body
        return body, head[3]

    @staticmethod
    def _send(client: socket.socket, body: bytes, sequence: int) -> None:
        client.sendall(len(body).to_bytes(3, "little") + bytes([sequence]) + body)

    def serve(self, client: socket.socket) -> None:
        # A NUL ends the scramble on the wire, so there is none in it.
        scramble = bytes(byte % 127 + 1 for byte in os.urandom(20))
        with client:
            greeting = b"\x0a8.4.3\0" + struct.pack("<I", 7) + scramble[:8] + b"\0"
            greeting += struct.pack("<HBHHB", OFFERED & 0xFFFF, 255, 2, OFFERED >> 16, 21) + bytes(10)
            self._send(client, greeting + scramble[8:] + b"\0" + self.plugin + b"\0", 0)
            response, sequence = self._read(client)
            # Capabilities, longest packet, collation, 23 bytes of nothing, the user's name.
            answer = response[32:].partition(b"\0")[2]
            long = answer[0] == 0xFC
            start = 3 if long else 1
            proof = answer[start : start + (int.from_bytes(answer[1:3], "little") if long else answer[0])]
            allowed, sequence = self._allowed(client, proof, scramble, sequence)
            if not allowed:
                return self._send(client, DENIED, sequence + 1)
            self.cached = True
            self._send(client, OK, sequence + 1)
            while True:
                self._read(client)
                self._send(client, OK, 1)

    def _allowed(self, client: socket.socket, proof: bytes, scramble: bytes, sequence: int) -> tuple[bool, int]:
        asks = b"\x01"
        if self.plugin == b"caching_sha2_password":
            asks = b"\x02"
            once = hashlib.sha256(PASSWORD).digest()
            other = hashlib.sha256(hashlib.sha256(once).digest() + scramble).digest()
            if self.cached and proof == bytes(a ^ b for a, b in zip(once, other, strict=True)):
                self.seen.append("fast")
                self._send(client, b"\x01\x03", sequence + 1)
                return True, sequence + 1
            self._send(client, b"\x01\x04", sequence + 1)
            self.seen.append("full")
            proof, sequence = self._read(client)
        if proof == asks:
            self.seen.append("key asked for")
            self._send(client, b"\x01" + self.public, sequence + 1)
            proof, sequence = self._read(client)
        command = ["openssl", "pkeyutl", "-decrypt", "-inkey", self.private, "-pkeyopt", "rsa_padding_mode:oaep"]
        mixed = subprocess.run(command, input=proof, capture_output=True, check=False).stdout
        password = bytes(byte ^ scramble[i % 20] for i, byte in enumerate(mixed))
        return password == PASSWORD + b"\0", sequence
