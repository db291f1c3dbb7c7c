"""The table of what differs between the databases, and the driver that each URL gets."""

from __future__ import annotations

import pytest

from headrace._shared.databases import DATABASES
from headrace._shared.dispatch import module_for
from headrace_lab.differences import DIFFERENCES, DRIVERS

MODULES = {row.schemes[0]: f"headrace.{row.module}" for row in DATABASES}
SCHEMES = [(scheme, row.driver) for row in DIFFERENCES.values() for scheme in row.schemes]


@pytest.mark.parametrize(("scheme", "driver"), SCHEMES)
def test_a_url_gets_the_driver_of_its_row(scheme: str, driver: str) -> None:
    assert module_for(f"{scheme}://localhost/x", "headrace").__name__ == MODULES[driver]


def test_no_scheme_is_in_two_rows() -> None:
    assert len(SCHEMES) == len(dict(SCHEMES))
    # A database may have its row later than its driver.
    assert {*DRIVERS} <= {*MODULES}
