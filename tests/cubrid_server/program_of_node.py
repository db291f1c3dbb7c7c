"""The same with node-cubrid, which speaks an older version of the protocol (7): ``node/program.js`` has the work, and
gets its statements from here.

In the folder ``tests``, on a genuine server::

    python -m cubrid_server.program_of_node 127.0.0.1 33000 testdb > cubrid_server/expected_node.txt
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from toolchains import node_modules

from .statements import CHANGES, CLEANUP, ERRORS, EXPRESSIONS, QUERIES, SETUP, TYPES

FOLDER = Path(__file__).parent / "node"
TIMEOUT = 100
"""Seconds; it takes three."""
NOT_SENT = ("SELECT ?", "SELECT 'unterminated")
"""Statements that node-cubrid does not send as they are, or never ends."""
PARAMETERS: list[tuple[str, str, list[Any]]] = [
    ("INT", "int", [0, -1, 2147483647, None]),
    ("SMALLINT", "short", [5, -32768, None]),
    ("BIGINT", "bigint", [5, 9007199254740991, None]),
    ("DOUBLE", "double", [0.1, 1e300, None]),
    ("FLOAT", "float", [0.5, None]),
    ("NUMERIC(20,5)", "numeric", [1.5, 7, None]),
    ("VARCHAR(20)", "varchar", ["", "it's ?", "plain", None]),
    ("CHAR(5)", "char", ["ab", None]),
    ("DATE", "date", ["2024-02-29T00:00:00Z", None]),
    ("DATETIME", "datetime", ["2024-02-29T13:45:59.123Z", None]),
]
"""Types of columns, names that node-cubrid has for the types of parameters, and values."""
SCHEMA = [(1, "hr_a"), (2, "hr_v"), (4, "hr_b"), (12, "hr_a"), (16, "hr_b"), (17, "hr_b"), (18, "hr_a")]
"""Queries of the catalogue."""


def lines(text: str) -> list[str]:
    """The statements of a list."""
    return [line for line in text.strip("\n").split("\n") if line not in NOT_SENT]


def run(host: str, port: int, database: str) -> str:
    """What the program prints.

    Raises RuntimeError with the error that ends it. Others are its complaints of time zones that it does not know.
    """
    given = {
        "setup": [*CLEANUP, *SETUP],
        "types": TYPES,
        "parameters": PARAMETERS,
        "expressions": lines(EXPRESSIONS),
        "queries": lines(QUERIES),
        "changes": lines(CHANGES),
        "errors": lines(ERRORS),
        "schema": SCHEMA,
        "cleanup": CLEANUP,
    }
    done = subprocess.run(
        ["node", FOLDER / "program.js", host, str(port), database],
        env={**os.environ, "NODE_PATH": str(node_modules(FOLDER, "node-cubrid")), "TZ": "UTC"},
        input=json.dumps(given),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=TIMEOUT,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{done.stdout[-500:]}\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.stdout.write(run(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
