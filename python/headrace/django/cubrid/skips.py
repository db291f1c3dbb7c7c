"""Django's own tests that do not apply to CUBRID, by the reason."""

from __future__ import annotations

from typing import Final

SKIPS: Final[dict[str, tuple[str, ...]]] = {
    "DATETIME has milliseconds.": (
        "basic.tests.ModelRefreshTests.test_refresh_unsaved",
        "basic.tests.ModelRefreshTests.test_refresh_with_related",
        "basic.tests.ModelTest.test_microsecond_precision",
    ),
}
