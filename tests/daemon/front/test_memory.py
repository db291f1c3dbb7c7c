"""Clients cannot have the daemon keep more than it allows."""

from __future__ import annotations

import contextlib
import json
import threading
from pathlib import Path

import pytest

from ..raw import SYNC, bind, close, parse, query, sqlstates
from ..test_status import status
from .conftest import Front, running
from .plain import PlainClient

MEGABYTE = 1 << 20
ALLOWED = 64 * MEGABYTE
MEGABYTES = 8
PAUSE_SECONDS = 1
TOO_LARGE = "HR003"
TOO_MANY_BYTES = "54000"


def test_requests_of_a_client_that_does_not_read_are_not_read(front: Front) -> None:
    request = query("show server_version")
    block, ready, received, count = request * 20_000, b"Z\0\0\0\5I", b"", 0
    with PlainClient(front) as client:
        client.socket.settimeout(PAUSE_SECONDS)
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < ALLOWED:
                sent += client.socket.send(block[sent % len(request) :])
        client.socket.settimeout(None)
        cut = sent % len(request)
        sending = threading.Thread(target=client.socket.sendall, args=(request[cut:],))
        sending.start()
        while count < sent // len(request) + 1:
            received = received[1 - len(ready) :] + client.socket.recv(MEGABYTE)
            count += received.count(ready)
        sending.join()


def test_parameter_in_many_places_is_limited(front: Front) -> None:
    text = "select " + ", ".join(["length($1)"] * 60) + front.one_row
    with PlainClient(front) as client:
        assert sqlstates(client.ask(parse("", text) + bind("", "x" * 5 * MEGABYTE) + SYNC)) == [TOO_MANY_BYTES]
        assert client.query(f"select 1{front.one_row}") == ["1"]


def test_large_statements_and_parameters_count(front: Front) -> None:
    with PlainClient(front) as client:
        before = status(front)["memory_bytes"]
        client.ask(parse("large", f"select '{'x' * 2 * MEGABYTE}'{front.one_row}") + SYNC)
        assert status(front)["memory_bytes"] >= before + 2 * MEGABYTE
        client.ask(close("large") + SYNC)
        assert status(front)["memory_bytes"] == before


# Sizes of the texts that a client prepares.
@pytest.mark.parametrize("size", [MEGABYTE, 8000])
def test_client_that_needs_more_than_all_may_have_is_ended(program: Path, front: Front, size: int) -> None:
    text = f"[daemon]\nmemory_mb = {MEGABYTES}\n[databases.{front.name}]\nurl = {json.dumps(front.url)}\n"
    with running(program, text) as folder:
        own = Front(front.name, folder, front.url, front.one_row)
        with PlainClient(own) as large, PlainClient(own) as small:
            text, count = f"select '{'x' * size}'{front.one_row}", 2 * MEGABYTES * MEGABYTE // size
            with contextlib.suppress(BrokenPipeError):
                large.socket.sendall(b"".join(parse(f"number {n}", text) for n in range(count)))
            assert sqlstates(large.end()) == [TOO_LARGE]
            assert small.query(f"select 1{front.one_row}") == ["1"]
        assert status(own)["memory_bytes"] == 0
