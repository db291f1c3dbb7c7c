"""A floor's connection, whatever its protocol: it sends bytes prepared in advance and counts those of the replies.

How long a reply is, is learnt the first time by reading it; from then on nothing is looked at.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import time
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from typing import Any, Final

BUFFER: Final = 1 << 20
"""Bytes read at a time."""


GATHERED: Final = 8192
"""Bytes of small replies after which the client is woken."""
STALLED_MS: Final = 20
"""Milliseconds after which fewer are taken: a window that many small packets fill may hold no more."""
LONG: Final = 128 * 1024
"""Bytes of a reply after which it is a long one."""
PLENTY: Final = 64 * 1024
"""Bytes taken at once after which nobody has to wait for more."""
PAUSE: Final = 50e-6
"""Seconds in which several pieces of a long reply come."""


def exchange_gathered(sock: socket.socket, request: bytes, left: int) -> None:
    """Sends many small requests and takes the bytes of their answers, which are known, many answers at a time.

    A server that wakes its client for every answer takes more than twice as long for 10,000 small ones, so a floor that
    reads each at once is none.
    """
    out, view = memoryview(request), memoryview(bytearray(BUFFER))
    poll = select.poll()
    poll.register(sock, select.POLLIN | select.POLLOUT)
    try:
        while left > 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, min(left, GATHERED))
            poll.poll(STALLED_MS)
            if out:
                with contextlib.suppress(BlockingIOError):
                    out = out[sock.send(out, socket.MSG_DONTWAIT) :]
                if not out:
                    poll.modify(sock, select.POLLIN)
            with contextlib.suppress(BlockingIOError):
                got = sock.recv_into(view, 0, socket.MSG_DONTWAIT)
                if not got:
                    raise ConnectionError("the server closed the connection")
                left -= got
    finally:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)


def take(sock: socket.socket, view: memoryview, left: int) -> None:
    """Takes the bytes of a long reply, which are known.

    A server wakes a client that waits for each piece of a long reply, and takes up to a fifth longer for it: a floor
    that lets it is none.
    """
    taken = 0
    while left > 0:
        got = sock.recv_into(view, min(left, len(view)))
        if not got:
            raise ConnectionError("the server closed the connection")
        left -= got
        taken += got
        if left and taken >= LONG and got < PLENTY:
            time.sleep(PAUSE)


class Counted(ABC):
    """One connection. Subclasses log in, and find the end of a reply."""

    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.create_connection((host, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.view = memoryview(bytearray(BUFFER))
        self.known: dict[Any, int] = {}

    @abstractmethod
    def reply_end(self, data: bytearray) -> int | None:
        """Where the reply at the front ends; None when that has not come. Raises RuntimeError for a server's error."""

    @abstractmethod
    def prepare(self, sql: str) -> int:
        """Prepares a statement; its number."""

    @abstractmethod
    def close(self) -> None:
        """Sends the message that ends the session, and closes the socket."""

    def receive(self) -> int:
        """Reads what is there, into ``view``."""
        got = self.socket.recv_into(self.view)
        if not got:
            raise ConnectionError("the server closed the connection")
        return got

    def read_replies(self, count: int) -> tuple[int, bytes]:
        """Reads so many replies: their length, and the bytes of the last one."""
        data, total, last = bytearray(), 0, b""
        while True:
            while count and (end := self.reply_end(data)) is not None:
                last = bytes(data[:end])
                del data[:end]
                total += end
                count -= 1
            if not count:
                return total, last
            data += self.view[: self.receive()]

    def ask(self, key: Any, request: bytes, replies: int = 1) -> None:
        """Sends a request that the sockets can hold, and takes its replies."""
        self.socket.sendall(request)
        left = self.known.get(key)
        if left is None:
            self.known[key] = self.read_replies(replies)[0]
            return
        got = self.socket.recv_into(self.view, min(left, BUFFER))
        if got < left:
            take(self.socket, self.view, left - got)

    def exchange(self, key: Any, request: bytes, replies: int, gathers: bool = False) -> None:
        """Sends many requests and takes their replies while sending, as both may be more than the sockets hold; many
        small replies at a time if it ``gathers``."""
        known = self.known.get(key)
        if gathers and known is not None:
            exchange_gathered(self.socket, request, known)
            return
        left = memoryview(request)
        self.socket.setblocking(False)
        poll = select.poll()
        poll.register(self.socket, select.POLLIN | select.POLLOUT)
        got, count, data = 0, 0, bytearray()
        try:
            while left or (got < known if known is not None else count < replies):
                for _, event in poll.poll():
                    if event & select.POLLOUT and left:
                        left = left[self.socket.send(left[:BUFFER]) :]
                        if not left:
                            poll.modify(self.socket, select.POLLIN)
                    if event & select.POLLIN:
                        more = self.receive()
                        got += more
                        if known is None:
                            data += self.view[:more]
                            while (end := self.reply_end(data)) is not None:
                                del data[:end]
                                count += 1
        finally:
            self.socket.setblocking(True)
        self.known[key] = got


def share(links: list[Any], requests: list[bytes], expected: int, count: int, tasks: int = 0) -> list[float]:
    """Sends ``count`` requests over all links, one at a time on each; a reply has ``expected`` bytes.

    Returns the seconds of each request as one of so many ``tasks`` has them that begin the next one at once, with those
    in which it waits for a connection, first come, first served; by default there is a task for each link.
    """
    clock = time.perf_counter
    by_fd = {link.socket.fileno(): (link, request) for link, request in zip(links, requests, strict=True)}
    poll = select.poll()
    waiting = deque([clock()] * max(tasks, len(links)))
    began: dict[int, float] = {}
    for fd, (link, request) in by_fd.items():
        poll.register(fd, select.POLLIN)
        began[fd] = waiting.popleft()
        link.socket.sendall(request)
    left = dict.fromkeys(by_fd, expected)
    sent = len(links)
    latencies: list[float] = []
    while len(latencies) < count:
        for fd, _ in poll.poll():
            link, request = by_fd[fd]
            left[fd] -= link.receive()
            if left[fd] == 0:
                now = clock()
                latencies.append(now - began[fd])
                waiting.append(now)
                left[fd] = expected
                if sent < count:
                    began[fd] = waiting.popleft()
                    link.socket.sendall(request)
                    sent += 1
    return latencies


@dataclass(frozen=True)
class Question:
    """A request that is sent again and again over a connection of its own."""

    link: Any
    request: bytes
    expected: int
    """Bytes of its reply."""


def take_ready(link: Any) -> int:
    """Takes what a connection has received, also what TLS has decrypted with it; the number of bytes."""
    got: int = link.receive()
    while isinstance(link.socket, ssl.SSLSocket) and link.socket.pending():
        got += link.receive()
    return got


def beside(bulk: Question, small: Question, count: int, pause: float) -> list[float]:
    """Asks for something large ``count`` times, and beside it for something small, so many seconds after the answer to
    the last time; the seconds of each of these. All replies are taken."""
    clock, latencies = time.perf_counter, list[float]()
    poll = select.poll()
    fd_of_bulk = bulk.link.socket.fileno()
    for each in (bulk, small):
        poll.register(each.link.socket.fileno(), select.POLLIN)
    bulk.link.socket.sendall(bulk.request)
    of_bulk, of_small, due, began = bulk.expected, 0, clock(), 0.0
    while count or of_small:
        wait = None
        if count and not of_small:
            began = clock()
            wait = max(0.0, due - began) * 1000
            if began >= due:
                small.link.socket.sendall(small.request)
                of_small, wait = small.expected, None
        for fd, _ in poll.poll(wait):
            if fd == fd_of_bulk:
                of_bulk -= take_ready(bulk.link)
                if of_bulk == 0:
                    count -= 1
                    of_bulk = bulk.expected
                    if count:
                        bulk.link.socket.sendall(bulk.request)
            else:
                of_small -= take_ready(small.link)
                if of_small == 0:
                    due = clock() + pause
                    latencies.append(due - pause - began)
    return latencies
