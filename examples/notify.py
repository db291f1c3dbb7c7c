"""A queue of jobs: a table that holds them, and NOTIFY so that nobody has to poll."""

from __future__ import annotations

import sys
import threading

import headrace


def producer(conninfo: str) -> None:
    """Adds three jobs. The notification leaves when the transaction commits."""
    with headrace.connect(conninfo, autocommit=True) as conn:
        for job in ("sweep", "polish", "rest"):
            with conn.transaction():
                insert = "INSERT INTO headrace_example_jobs (what) VALUES (%s) RETURNING id"
                number = conn.fetchval(insert, job)
                conn.execute("SELECT pg_notify('headrace_example', %s)", (str(number),))


def main(conninfo: str) -> None:
    """Does the jobs as they come. SKIP LOCKED lets any number of workers share the table."""
    with headrace.connect(conninfo, autocommit=True) as conn:
        conn.execute("DROP TABLE IF EXISTS headrace_example_jobs")
        conn.execute("CREATE TABLE headrace_example_jobs (id int GENERATED ALWAYS AS IDENTITY, what text)")
        conn.listen("headrace_example")
        other = threading.Thread(target=producer, args=(conninfo,))
        other.start()
        for _ in conn.notifies(timeout=5, stop_after=3):
            job = conn.fetchrow(
                "DELETE FROM headrace_example_jobs WHERE id = (SELECT id FROM headrace_example_jobs"
                " ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING id, what"
            )
            print(job)
        other.join()
        conn.execute("DROP TABLE headrace_example_jobs")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
