"""``headrace profile``: profiles one operation on the user's server."""

from __future__ import annotations

import cProfile
from collections.abc import Callable
from pathlib import Path

import headrace

SECONDS_WORTH = {"connect": 50, "execute": 5_000, "fetch": 20}
"""How often each operation is repeated."""


def operation(kind: str, url: str, sql: str) -> tuple[Callable[[], object], Callable[[], None]]:
    """What is profiled, and what cleans up."""
    if kind == "connect":
        return lambda: headrace.connect(url).close(), lambda: None
    connection = headrace.connect(url, autocommit=True)
    if kind == "execute":
        return lambda: connection.execute(sql).fetchall(), connection.close
    return lambda: connection.execute(sql).fetchall(), connection.close


def profile(kind: str, url: str, out: Path, sql: str | None, repeats: int | None) -> None:
    """Writes a .prof file (for pstats, snakeviz) or, for any other ending, an HTML flame graph."""
    sql = sql or ("SELECT 1" if kind != "fetch" else "SELECT g, 'row ' || g FROM generate_series(1, 10000) g")
    once, clean_up = operation(kind, url, sql)
    once()
    count = repeats or SECONDS_WORTH[kind]
    try:
        if out.suffix == ".prof":
            profiler = cProfile.Profile()
            profiler.enable()
            for _ in range(count):
                once()
            profiler.disable()
            profiler.dump_stats(out)
            return
        from pyinstrument import Profiler

        sampler = Profiler(interval=0.0002)
        sampler.start()
        for _ in range(count):
            once()
        sampler.stop()
        out.write_text(sampler.output_html(), encoding="utf-8")
    finally:
        clean_up()
