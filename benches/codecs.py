"""Decoding and encoding as Python sees them: rows fetched and inserted per second of this process's own CPU, per type.

Needs a server only for the bytes; the wall time is the server's as much as ours, so the CPU time of this process is
what is shown, beside psycopg's for the same rows in the same run.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import psycopg

import headrace
from headrace.testing import postgres

ROWS = 20_000
ROUNDS = 9
TYPES = {
    "int4": "g::int4",
    "int8": "g::int8",
    "float8": "g / 7.0::float8",
    "text": "'name of row ' || g",
    "bytea": "decode(md5(g::text), 'hex')",
    "date": "date '2020-01-01' + g % 1000",
    "timestamptz": "timestamptz '2020-01-01' + g * interval '1 s'",
    "numeric": "(g * 1.2345)::numeric(14,4)",
    "uuid": "md5(g::text)::uuid",
    "jsonb": "jsonb_build_object('a', g)",
    "int4[]": "array[g, g + 1]",
    "five columns": "g::int4 a, ('name of row ' || g)::varchar(64) b, g % 7 c, g / 7.0::float8 d,"
    " date '2020-01-01' + g % 1000 e",
}


def cpu(work: Callable[[], Any]) -> float:
    """Microseconds of CPU per row, median."""
    work()
    taken = []
    for _ in range(ROUNDS):
        started = time.process_time()
        result = work()
        taken.append(time.process_time() - started)
        del result
    return statistics.median(taken) / ROWS * 1e6


def main() -> None:
    with postgres() as server:
        ours = headrace.connect(server.url, autocommit=True)
        theirs = psycopg.connect(server.url, autocommit=True)
        theirs.prepare_threshold = None  # the table changes under its name
        print(f"{'decode':14} {'headrace':>10} {'psycopg':>10}   µs of CPU per row")
        for name, expression in TYPES.items():
            ours.execute("drop table if exists b")
            ours.execute(f"create table b as select {expression} from generate_series(1, {ROWS}) g")
            mine = cpu(lambda: ours.execute("select * from b").fetchall())
            other = cpu(lambda: theirs.cursor(binary=True).execute("select * from b").fetchall())
            print(f"{name:14} {mine:10.3f} {other:10.3f}   {other / mine:.1f}x")
        print(f"{'encode':14} {'headrace':>10} {'psycopg':>10}   µs of CPU per row")
        for name, expression in TYPES.items():
            rows = ours.execute(f"select {expression} from generate_series(1, {ROWS}) g").fetchall()
            if name == "jsonb":
                continue  # psycopg wants its own wrapper there
            columns = len(rows[0])
            ours.execute("drop table if exists b")
            ours.execute(f"create unlogged table b as select {expression} from generate_series(1, 1) g")
            sql = f"insert into b values ({', '.join(['%s'] * columns)})"
            mine = cpu(partial(ours.executemany, sql, rows))
            with theirs.transaction():
                other = cpu(partial(theirs.cursor().executemany, sql, rows))
            print(f"{name:14} {mine:10.3f} {other:10.3f}   {other / mine:.1f}x")
        ours.close()
        theirs.close()


if __name__ == "__main__":
    main()
