"""The examples of the pages on engines run."""

from __future__ import annotations

import pytest

from docs.test_snippets import OF_ENGINES, run
from headrace.testing import PostgresServer


# An engine takes long to start where other programs run.
@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", sorted(OF_ENGINES))
def test_page(server: PostgresServer, page: str) -> None:
    run(server, "docs/_tools/snippets.py", page, more={"RAY_worker_niceness": "0"}, seconds=600)
