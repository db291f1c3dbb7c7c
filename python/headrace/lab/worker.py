"""The process of one contestant: reads requests from standard input, one JSON object per line, and answers likewise."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from . import workloads as w
from .contestants import load


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


def data_for(workload: str, size: int) -> Any:
    """What a workload needs, made before the clock runs."""
    if workload in ("fetch", "fetch_types", "fetch_wide"):
        return w.select(workload, size)
    if workload in ("executemany", "executemany_autocommit", "bulk_in"):
        return w.insert_rows(size)
    return w.pipeline_params() if workload == "pipeline" else None


def serve(name: str, url: str) -> None:
    """Answers requests until standard input ends."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a contestant prints must not end up among the answers
    contestant = load(name, url)
    contestant.start()
    version = ""
    if contestant.package:
        from importlib.metadata import version as version_of

        version = version_of(contestant.package)
    print(json.dumps({"version": version, "options": contestant.options, "skips": sorted(contestant.skips)}),
          file=out, flush=True)  # fmt: skip
    cache: dict[tuple[str, int], Any] = {}
    for line in sys.stdin:
        request = json.loads(line)
        workload, size, inner = request["workload"], request["size"], request["inner"]
        key = (workload, size)
        if key not in cache:
            cache.clear()
            cache[key] = data_for(workload, size)
        contestant.latencies = []
        gc.collect()
        reset_peak()
        answer: dict[str, Any]
        try:
            cpu = time.process_time()
            started = time.perf_counter()
            result = contestant.run(workload, size, inner, cache[key])
            seconds = time.perf_counter() - started
            answer = {"seconds": seconds, "cpu": time.process_time() - cpu, "rss": peak_rss()}
            rows = result if isinstance(result, list) else None
            answer["rows"] = len(rows) if rows is not None else result
            answer["reached"] = rows is not None or workload == "stream"
            answer["digest"] = w.digest(rows) if rows is not None and request["digest"] else None
            answer["latencies"] = contestant.latencies
            del rows, result
            contestant.kept = []
        except Exception:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), file=out, flush=True)
    contestant.stop()


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2])
