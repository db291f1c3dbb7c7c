"""SIGTERM: clients without a transaction are told at once, also those that keep their session."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
from pathlib import Path

import pytest

from ..raw import SECONDS, query, sqlstates
from .conftest import Front, running
from .plain import PlainClient
from .test_left_state import STATE

DRAINING = "HR004"


def end(front: Front) -> None:
    """Has the daemon end."""
    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(str(front.socket))
        credentials = raw.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    os.kill(struct.unpack("3i", credentials)[0], signal.SIGTERM)


@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_client_that_keeps_its_session_is_told_that_the_daemon_ends(program: Path, front: Front, mode: str) -> None:
    text = (
        f"[daemon]\ndrain_timeout = {10 * SECONDS}\n"
        f"[databases.{front.name}]\nurl = {json.dumps(front.url)}\npool_mode = '{mode}'\n"
    )
    with running(program, text) as folder:
        own = Front(front.name, folder, front.url, front.one_row)
        with PlainClient(own) as kept, PlainClient(own) as busy:
            kept.query(STATE[front.name][0])
            busy.query("begin")
            end(own)
            assert sqlstates(kept.end()) == [DRAINING]
            busy.socket.sendall(query("rollback"))
            assert sqlstates(busy.end()) == [DRAINING]
