"""The process of one client on one route: reads requests from standard input, one JSON object per line, and answers
likewise. The client in Go, ``pgx/main.go``, does the same.

Run as ``python -m headrace_lab.daemon.worker CLIENT URL``.

| request | answer |
|---|---|
| ``{"do": "prepare", "workload": …, "size": …}`` | ``{}`` |
| ``{"do": "round", "workload": …, "size": …, "inner": …, "pause": …}`` | ``seconds``, ``cpu``, ``latencies``, … |
| ``{"do": "finish"}`` | ``{}`` |
| ``{"do": "bulk"}``, ``{"do": "stop"}`` (the floor only) | ``{}``, ``{"batches": …}`` |
"""

from __future__ import annotations

import json
import sys
import traceback
from importlib.metadata import version
from typing import Any

from ..answers import answers
from .base import Client
from .clients import CLIENTS
from .floor import Floor


def answer(client: Client, request: dict[str, Any]) -> dict[str, Any]:
    """Does what a request asks for."""
    do = request["do"]
    if do == "prepare":
        client.prepare(request["workload"], request["size"])
    elif do == "round":
        return client.round(request["workload"], request["size"], request["inner"])
    elif do == "finish":
        client.finish()
    elif isinstance(client, Floor) and do == "bulk":
        client.start_bulk()
    elif isinstance(client, Floor) and do == "stop":
        return {"batches": client.stop_bulk()}
    else:
        raise ValueError(f"unknown request {do!r}")
    return {}


def serve(name: str, url: str) -> None:
    """Answers requests until standard input ends."""
    say = answers()
    try:
        client = CLIENTS[name]()(url)
    except Exception as error:
        say({"error": f"{type(error).__name__}: {error}"})
        return
    say({"version": version(client.package) if client.package else "", "skips": client.skips})
    for line in sys.stdin:
        try:
            say(answer(client, json.loads(line)))
        except Exception as error:
            traceback.print_exc()
            say({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    serve(*sys.argv[1:3])
