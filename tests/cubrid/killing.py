"""Ends processes of the CUBRID test server."""

from __future__ import annotations

import socket
import struct


def kill(port: int, process_id: int) -> None:
    """Has the test server on this port end a process, as SIGKILL would."""
    with socket.create_connection(("127.0.0.1", port)) as broker:
        broker.sendall(b"KILL" + struct.pack(">iH", process_id, 0))
        answer = b""
        while part := broker.recv(4):
            answer += part
    assert answer == bytes(4), "the process was not there"
