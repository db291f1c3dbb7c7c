"""The process of one contestant: reads requests from standard input, one JSON object per line, and answers likewise.

Run as ``python -m headrace_lab.worker CONTESTANT URL SCHEMA DATABASE``.
"""

from __future__ import annotations

import contextlib
import gc
import json
import resource
import sys
import time
import traceback
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any, Final

from . import databases
from . import workloads as w
from .answers import answers
from .contestants import load
from .digest import RowSet, arrow_rows, digest_rows, is_arrow

OTHER_FORM: Final = "it is one for drivers of the other form: of tasks on a loop, or of threads"
"""Why a contestant does not take part in a workload of a web service."""


def peak_rss() -> int:
    """Peak resident memory of this process in bytes, since it was last reset."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def reset_peak() -> None:
    """Forgets the peak so far."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def one_round(contestant: Any, request: dict[str, Any], material: Any) -> dict[str, Any]:
    """Runs a workload once, and returns its times and, where asked for, the digest of its result."""
    workload, size, inner = request["workload"], request["size"], request["inner"]
    contestant.latencies, contestant.taken = [], 0
    contestant.seen = RowSet() if request["digest"] else None
    gc.collect()
    reset_peak()
    cpu = time.process_time()
    started = time.perf_counter()
    result = contestant.run(workload, size, inner, material)
    seconds = time.perf_counter() - started
    answer: dict[str, Any] = {"seconds": seconds, "cpu": time.process_time() - cpu, "rss": peak_rss()}
    rows = result if isinstance(result, list) or is_arrow(result) else None
    answer["count"] = None if rows is not None else result
    answer["reached"] = rows is not None or contestant.taken > 0
    answer["digest"] = None
    if request["digest"] and rows is not None:
        answer["digest"] = digest_rows(arrow_rows(rows) if is_arrow(rows) else rows)
    elif request["digest"] and contestant.taken:
        answer["digest"] = contestant.seen.value()
    answer["latencies"] = contestant.latencies
    # What was fetched is let go here, off the clock.
    contestant.kept = []
    return answer


def serve(name: str, url: str, schema: str, database: str) -> None:
    """Answers requests until standard input ends."""
    say = answers()
    sql: w.Sql = databases.load(database).Statements(schema)
    try:
        contestant = load(name, url, sql)
        contestant.start()
    except Exception as error:
        say({"error": f"{type(error).__name__}: {error}"})
        return
    version = version_of(contestant.package) if contestant.package else ""
    without = (
        {}
        if contestant.alchemy
        else dict.fromkeys(w.ALCHEMY, "SQLAlchemy has no dialect for it, or none that is installed")
    )
    other = dict.fromkeys(w.SERVICE - contestant.loads, OTHER_FORM)
    skips = {**without, **other, **sql.skips, **contestant.skips}
    strategies = {workload: text for workload in w.WRITERS if (text := contestant.strategy(workload))}
    say({"version": version, "options": contestant.options, "skips": skips, "strategies": strategies})
    material: dict[tuple[str, int], Any] = {}
    for line in sys.stdin:
        request = json.loads(line)
        key = (request["workload"], request["size"])
        if key not in material:
            material = {key: w.material(sql, *key)}
        try:
            say(one_round(contestant, request, material[key]))
        except Exception as error:
            traceback.print_exc()
            say({"error": f"{type(error).__name__}: {error}"})
    contestant.leave()


if __name__ == "__main__":
    serve(*sys.argv[1:5])
