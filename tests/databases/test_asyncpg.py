"""headrace.compat.asyncpg, tested with asyncpg's own test suite."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.testing import PostgresServer
from sdist import source_of

ASYNCPG = "0.32.0"
HERE = Path(__file__).parent
FILES = ("codecs", "copy", "cursor", "execute", "listeners", "prepare", "record", "transaction", "types")
NOT_OURS: dict[str, list[str]] = {
    "looks into asyncpg: its cache of statements, its protocol, its records without a query": [
        r"test_prepare_(01|10|11|12|15|17|23|24|25|26|27)",
        r"test_prepare_does_not_use_cache",
        r"test_cursor_iterable_0[34]",
        r"test_execute_script_1$",
        r"test_executemany_(client_server_failure_conflict|server_failure_during_writes)",
        r"test_record_(contains|gc|repr|values|len_getindex|no_new)",
        r"test_copy_records_to_table_(stmt_cache|where)",
        r"test_all_builtin_types_handled",
    ],
    "expects that a second task is refused": [r"test_prepare_(19|20)_concurrent_calls"],
    "expects asyncpg's words about an argument, or that text is none for a number": [
        r"test_(invalid_input|executemany_bad_input|composites)",
    ],
    "sends what headrace does not convert: tuples as ranges, any iterable as an array, numbers as snapshots": [
        r"test_(range_types|multirange_types|arrays|standard_codecs)",
    ],
    "copies hundreds of megabytes": [r"test_copy_to_table_large_rows"],
    "the server lacks an extension": [
        r"test_(custom_codec_(binary|text)|extra_codec_alias|unhandled_type_fallback|unknown_type_text_fallback)$",
    ],
    "expects that the rows before the one that fails are stored": [r"test_executemany_client_failure_in_transaction"],
    "expects statements with the program's names, and errors about those that are stale": [
        r"test_prepare_(04|31_pgbouncer_note|explicitly_named|statement_invalid)",
    ],
}
"""Tests that are left out, by the reason."""


@pytest.mark.slow
def test_asyncpgs_own_tests(server: PostgresServer) -> None:
    source = source_of("asyncpg", ASYNCPG)
    path = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-p", "asyncpg_plugin", "-p", "no:cacheprovider", "-c", os.devnull,
            "--rootdir", ".", "--import-mode", "importlib", "--tb", "short",
            *(f"tests/test_{name}.py" for name in FILES),
        ],
        cwd=source,
        env={
            **os.environ, "PYTHONPATH": path, "PGHOST": server.host, "PGPORT": str(server.port),
            "PGUSER": server.user, "PGDATABASE": "postgres",
            "ASYNCPG_DESELECT": "\n".join(name for names in NOT_OURS.values() for name in names),
        },
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "127 passed" in done.stdout
