"""Many statements in one round trip, each with its own result and its own error."""

from __future__ import annotations

import sys
import time

import headrace


def main(conninfo: str) -> None:
    """The same thousand questions, asked one by one and in a pipeline."""
    with headrace.connect(conninfo, autocommit=True) as conn:
        sql = "SELECT $1::int * 2"
        started = time.perf_counter()
        one_by_one = [conn.fetchval(sql, n) for n in range(1000)]
        between = time.perf_counter()
        with conn.pipeline():
            cursors = [conn.execute(sql, (n,)) for n in range(1000)]
        together = [row[0] for cursor in cursors if (row := cursor.fetchone()) is not None]
        ended = time.perf_counter()
        assert one_by_one == together
        print(f"one by one {between - started:.3f} s, pipelined {ended - between:.3f} s")

        with conn.pipeline():
            bad = conn.execute("SELECT 1 / 0")
            good = conn.execute("SELECT 'not harmed'")
            print(good.fetchone())
            try:
                bad.fetchone()
            except headrace.errors.DivisionByZero as error:
                print(error.message)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
