"""A way to PostgreSQL that ends at a message, of the server or of the client."""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import Final

from .way import Way

CUT: Final = "before a message of the server"
KILLED: Final = "before a message of the server, with its reason"
CUT_AFTER: Final = "after a message of the server"
KILLED_AFTER: Final = "after a message of the server, with its reason"
UNSENT: Final = "before a message of the client"
MESSAGES: Final = (CUT, KILLED, CUT_AFTER, KILLED_AFTER, UNSENT)


def _killed() -> bytes:
    """What the server sends when an administrator ends the session (57P01)."""
    fields = {"S": "FATAL", "V": "FATAL", "C": "57P01", "M": "terminating connection due to administrator command"}
    body = b"".join(f"{code}{text}\0".encode() for code, text in fields.items()) + b"\0"
    return b"E" + struct.pack("!i", len(body) + 4) + body


class MessageWay(Way):
    """Once armed with a number and a place, it ends a connection at that message, once: those before it have come. What
    ends it after a message comes with that, so that the client may notice both at once.

    The messages are counted of connections that are open and have nothing under way when it is armed.
    """

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self._counted: dict[socket.socket, bytes] = {}
        """What was received of a message, by socket."""

    def arm(self, message: int, where: str) -> None:
        """Has a connection ended at this message, counted from 1 and from now on."""
        with self._lock:
            self._counted = dict.fromkeys(self._peers, b"")
        super().arm(message, where)

    def _pass(self, one: socket.socket) -> None:
        data = b""
        with contextlib.suppress(OSError):
            data = one.recv(1 << 18)
        passed, is_over = self._whole_messages(one, data)
        with contextlib.suppress(OSError):
            self._peers[one].sendall(passed)
        if is_over or not data:
            self._end(one)

    def _whole_messages(self, one: socket.socket, data: bytes) -> tuple[bytes, bool]:
        """What is passed on, and whether that is the last."""
        with self._lock:
            kept = self._counted.pop(one, None)
            if kept is None or self._armed is None or (one in self._clients) is not (self._armed[1] == UNSENT):
                return (kept or b"") + data, False
            data = kept + data
            left, where = self._armed
            at = 0
            while len(data) - at >= 5 and len(data) - at > (size := struct.unpack_from("!i", data, at + 1)[0]):
                left -= 1
                end = at + 1 + size
                if not left:
                    self._armed, self.was_cut = None, True
                    reason = _killed() if where in (KILLED, KILLED_AFTER) else b""
                    return data[: end if where in (CUT_AFTER, KILLED_AFTER) else at] + reason, True
                at = end
            self._armed = left, where
            self._counted[one] = data[at:]
            return data[:at], False
