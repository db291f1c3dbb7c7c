"""The process of one driver on one database: reads requests from standard input, one JSON object per line, and answers
likewise.

Run as ``python -m headrace_lab.across.worker DRIVER URL TABLE DATABASE``.
"""

from __future__ import annotations

import gc
import json
import sys
import time
import traceback
from importlib.metadata import version as version_of
from typing import Any

from ..answers import answers
from ..digest import digest_rows
from .databases import DATABASES, driver
from .workloads import WORKLOADS, Client, prepare


def one_round(client: Client, name: str) -> dict[str, Any]:
    """Runs a workload once, and returns its times, and what shows whether it was right."""
    prepare(name, client)
    gc.collect()
    cpu, started = time.process_time(), time.perf_counter()
    rows = WORKLOADS[name](client)
    seconds = time.perf_counter() - started
    used = time.process_time() - cpu
    # The statement has no ORDER BY.
    return {"seconds": seconds, "cpu": used, "digest": digest_rows(sorted(rows)), "state": client.state()}


def serve(name: str, url: str, table: str, database: str) -> None:
    """Answers requests until standard input ends."""
    say = answers()
    try:
        chosen = driver(database, name)
        conn = chosen.connect(url)
    except Exception as error:
        say({"error": f"{type(error).__name__}: {error}"})
        return
    say({"version": version_of(chosen.package)})
    for line in sys.stdin:
        request = json.loads(line)
        try:
            client = Client(conn, table, DATABASES[database].differences.mark, request["size"])
            say(one_round(client, request["workload"]))
        except Exception as error:
            traceback.print_exc()
            say({"error": f"{type(error).__name__}: {error}"})
    conn.close()


if __name__ == "__main__":
    serve(*sys.argv[1:5])
