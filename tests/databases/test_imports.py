"""A blocking connection is opened and used without what only asyncio needs."""

from __future__ import annotations

import subprocess
import sys

from servers import Database

SCRIPT = """
import sys
import headrace
with headrace.connect(sys.argv[1]) as connection:
    connection.execute("drop table if exists not_there")
print(sorted({"asyncio", "ssl", "concurrent.futures", "logging", "headrace.aio", "headrace.pool"} & {*sys.modules}))
"""


def test_a_blocking_connection_imports_no_event_loop(any_db: Database) -> None:
    script = [sys.executable, "-I", "-c", SCRIPT, any_db.url]
    done = subprocess.run(script, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"
