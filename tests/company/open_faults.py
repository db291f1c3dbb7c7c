"""What is known and not mended yet: the tests that it makes fail, by a part of their name."""

from __future__ import annotations

OPEN: tuple[tuple[str, str], ...] = (
    (r"^test_workers_on_one_connection_to_a_pooler.*system.*(tasks|uvloop)", "a COPY behind others is not answered"),
    (r"^test_workers_on_a_pool_of_a_pooler.*system", "now and then a ReadyForQuery that nothing asked for; closed"),
)
"""A pattern of tests' names, and the fault. With ``--runxfail`` they are run all the same."""
