"""The settings of a connection's socket, blocking and on each event loop."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from typing import Any

import pytest

import headrace
import headrace.aio
from servers import Database

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a process's sockets are found in /proc")

HAS_TIMES = ("postgresql", "mariadb", "mysql")


def sockets() -> dict[int, str]:
    """This process's sockets: what each descriptor is open on."""
    found = {}
    for fd in os.listdir("/proc/self/fd"):
        try:
            where = os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            continue
        if where.startswith("socket:"):
            found[int(fd)] = where
    return found


def options(before: dict[int, str]) -> tuple[int, ...]:
    """SO_KEEPALIVE, the times and the count of probes, and TCP_USER_TIMEOUT of the one TCP socket that is new, on which
    nothing waits until the server has acknowledged what was sent before."""
    (fd,) = (fd for fd, where in sockets().items() if before.get(fd) != where)
    with socket.socket(fileno=os.dup(fd)) as sock:
        assert sock.family in (socket.AF_INET, socket.AF_INET6)
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        names = socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT
        alive = sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        return alive, *(sock.getsockopt(socket.IPPROTO_TCP, name) for name in names)


def set_by(db: Database, shell: str, named: dict[str, Any]) -> tuple[int, ...]:
    if shell == "blocking":
        before = sockets()
        with headrace.connect(db.url, **named):
            return options(before)

    async def on_loop() -> tuple[int, ...]:
        before = sockets()
        async with headrace.aio.connect(db.url, **named):
            return options(before)

    if shell == "asyncio":
        return asyncio.run(on_loop())
    uvloop = pytest.importorskip("uvloop")
    return uvloop.run(on_loop())  # type: ignore[no-any-return]


@pytest.mark.parametrize("shell", ["blocking", "asyncio", "uvloop"])
def test_idle_connection_is_probed_as_the_settings_say(any_db: Database, shell: str) -> None:
    assert set_by(any_db, shell, {})[0] == 1
    assert set_by(any_db, shell, {"keepalives": "0"})[0] == 0
    if any_db.name in HAS_TIMES:
        times = {"keepalives_idle": "77", "keepalives_interval": "7", "keepalives_count": "5"}
        assert set_by(any_db, shell, {**times, "tcp_user_timeout": "45000"}) == (1, 77, 7, 5, 45000)
