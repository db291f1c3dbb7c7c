"""A way to a server that a test ends when it wants to, or at a message: one thread for all of its connections."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading

from cutting import AFTER, ANSWERED, BEFORE

WHERE = (BEFORE, AFTER, ANSWERED)
LIMIT = 20.0
"""Seconds that the thread may take to end."""


class Way:
    """Passes everything to a server and back, until :meth:`cut` ends what is open; new connections are passed again.

    Once armed with a number and a place, it ends the connections at that block of a client's, once.
    """

    def __init__(self, port: int) -> None:
        self.target = port
        self.was_cut = False
        self._armed: tuple[int, str] | None = None
        self._due = False
        self._peers: dict[socket.socket, socket.socket] = {}
        self._clients: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._selector = selectors.DefaultSelector()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self._stop, stopped = socket.socketpair()
        for one in (self._listener, stopped):
            self._selector.register(one, selectors.EVENT_READ)
        self._stopped = stopped
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def cut(self) -> None:
        """Ends every connection, as a firewall or a proxy does. It has happened when this returns."""
        with self._lock:
            self._armed = None
            for one in self._peers:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def arm(self, block: int, where: str) -> None:
        """Has the connections ended at this block of a client's, counted from 1 and from now on."""
        with self._lock:
            self._armed, self._due, self.was_cut = (block, where), False, False

    def disarm(self) -> None:
        """Takes that back."""
        with self._lock:
            self._armed = None

    def close(self) -> None:
        """Ends everything."""
        self._stop.close()
        self._thread.join(LIMIT)
        assert not self._thread.is_alive(), "the thread goes on"

    def _run(self) -> None:
        while True:
            for key, _ in self._selector.select():
                one: socket.socket = key.fileobj  # type: ignore[assignment]
                if one is self._stopped:
                    for left in (*self._peers, self._listener, self._stopped):
                        left.close()
                    self._selector.close()
                    return
                if one is self._listener:
                    self._accept()
                elif one in self._peers:
                    self._pass(one)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        try:
            server = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            client.close()
            return
        with self._lock:
            self._peers[client], self._peers[server] = server, client
            self._clients.add(client)
        for one in (client, server):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(one, selectors.EVENT_READ)

    def _pass(self, one: socket.socket) -> None:
        data = b""
        with contextlib.suppress(OSError):
            data = one.recv(1 << 18)
        if not data or self._is_cut(one, data):
            self._end(one)
            return
        with contextlib.suppress(OSError):
            self._peers[one].sendall(data)

    def _is_cut(self, one: socket.socket, data: bytes) -> bool:
        """Counts a block; returns true if the connection ends with it."""
        with self._lock:
            if self._armed is None:
                return False
            left, where = self._armed
            if one in self._clients:
                left -= 1
                self._armed = left, where
                self._due = self._due or left == 0
                if not self._due or where != BEFORE:
                    return False
            elif not self._due:
                return False
            self._armed, self.was_cut = None, True
        if where == ANSWERED:
            with contextlib.suppress(OSError):
                self._peers[one].sendall(data)
        return True

    def _end(self, one: socket.socket) -> None:
        with self._lock:
            other = self._peers.pop(one)
            del self._peers[other]
            self._clients -= {one, other}
        for each in (one, other):
            self._selector.unregister(each)
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
