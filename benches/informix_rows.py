"""Informix: where each nanosecond of a fetched row goes, by `perf record`.

The race's five columns (int, varchar(64), int, float, date), 100,000 rows a time from the test server, until enough
samples are there. A sample counts for the first part that one of its innermost symbols belongs to; what a part takes
is shown as nanoseconds of this process's CPU per row. Freeing is that of the result before: a program pays it, too.

Wants Linux' ``perf`` (Debian: linux-perf) and an optimised build; another build on the same machine makes the figures
worse by a third.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import headrace
from headrace_lab import databases

ROWS = 100_000
FETCHES = 60
DEPTH = 4
"""Symbols from the innermost one outwards that are looked at."""
PARTS = {
    "freeing the result before": r"dealloc|_free\b|PyObject_Free|GC_Del|unmap|munmap|zap_|free_unref|release_pages",
    "pages of new memory": r"page_fault|clear_page|do_anonymous|handle_mm|mmap|memcg|alloc_pages|new_arena|rmqueue",
    "socket": r"tcp_|recv|sock_|copy_to_iter|skb_|sendto|_napi|loopback|schedule|finish_task|poll|ip_",
    "dates": r"Sink>::date|civil|new_date|PyDate",
    "text: UTF-8 check, copy": r"ffi::text|Sink>::text|PyUnicode|codeset|is_ascii",
    "ints and floats": r"PyLong|PyFloat|Sink>::int|Sink>::float|ffi::int|ffi::float",
    "tuples, and putting values in": r"PyTuple|tuple_alloc|GC_NewVar|GC_Link|GC_UnTrack|begin_row|end_row|RowSink|_gc_",
    "framing and decoding": r"headrace_informix|headrace_core|\bEngine>",
    "Python's allocator": r"Malloc|allocate_from|malloc|NewReference|memset",
}


def seconds(fetch: Callable[[], object]) -> float:
    """The seconds of CPU that all fetches take."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(FETCHES):
        fetch()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(url: str, data: Path) -> float:
    """Fetches, first as they are, for the seconds of CPU that it gives, then under perf."""
    with headrace.connect(url, autocommit=True) as conn:
        statement = databases.load("informix").Statements("bench").select("fetch", ROWS)
        fetch = partial(conn.fetch, statement)
        fetch()
        taken = seconds(fetch)
        command = ["perf", "record", "-q", "-F", "5000", "-g", "-o", str(data), "-p", str(os.getpid())]
        with subprocess.Popen(command) as perf:
            time.sleep(1.0)
            seconds(fetch)
            perf.send_signal(signal.SIGINT)
    return taken


def part(symbols: list[str]) -> str:
    """The part that a sample belongs to, its innermost symbol first."""
    for symbol in symbols[:DEPTH]:
        for name, pattern in PARTS.items():
            if re.search(pattern, symbol):
                return name
    return "else"


def parts(data: Path) -> Counter[str]:
    """How many samples each part has."""
    script = subprocess.run(
        ["perf", "script", "-i", str(data), "-F", "ip,sym"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    stacks = [stack.splitlines() for stack in script.stdout.split("\n\n") if stack.strip()]
    return Counter(part([line.strip().partition(" ")[2] for line in stack]) for stack in stacks)


def main() -> int:
    """Prints the table."""
    if shutil.which("perf") is None:
        print("left out: there is no perf (Debian: linux-perf)")
        return 0
    module = databases.load("informix")
    with module.start() as (url, _), tempfile.TemporaryDirectory() as folder:
        with headrace.connect(url, autocommit=True) as admin:
            module.Statements("bench").setup(admin, [("fetch", ROWS)])
        data = Path(folder, "perf.data")
        each = measure(url, data) / (FETCHES * ROWS) * 1e9
        counted = parts(data)
    print(f"{each:.0f} ns of CPU per row of five columns")
    for name, samples in counted.most_common():
        print(f"{each * samples / counted.total():6.1f}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
