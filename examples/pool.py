"""Threads that share a pool."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from headrace.pool import ConnectionPool


def main(conninfo: str) -> None:
    """Thirty-two jobs on four connections."""
    with ConnectionPool(conninfo, min_size=1, max_size=4, name="example") as pool:

        def job(number: int) -> tuple[int, int]:
            with pool.connection(timeout=10) as conn:
                result: int = conn.fetchval("SELECT $1::int * 2 FROM pg_sleep(0.01)", number)
                return result, conn.backend_pid

        with ThreadPoolExecutor(16) as threads:
            results = list(threads.map(job, range(32)))
        print([result for result, _ in results])
        print(len({pid for _, pid in results}), "connections")
        print(pool.stats())


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
