"""Ends processes of the CUBRID test server, and its database server."""

from __future__ import annotations

import socket
import struct


def kill(port: int, process_id: int | None) -> None:
    """Has the test server on this port end a process, as SIGKILL would."""
    assert process_id is not None, "the session has no process"
    assert answer(port, b"KILL" + struct.pack(">iH", process_id, 0)) == bytes(4), "the process was not there"


def restart(port: int) -> None:
    """Has the test server on this port start its database server again behind the broker."""
    assert answer(port, b"RESTART" + bytes(3)) == bytes(4)


def answer(port: int, request: bytes) -> bytes:
    """What the broker answers to a request of ten bytes."""
    with socket.create_connection(("127.0.0.1", port)) as broker:
        broker.sendall(request)
        answer = b""
        while part := broker.recv(4):
            answer += part
    return answer
