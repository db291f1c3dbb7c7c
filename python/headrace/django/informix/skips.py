"""Django's own tests that do not apply to Informix, by the reason."""

from __future__ import annotations

from typing import Final

SKIPS: Final[dict[str, tuple[str, ...]]] = {
    "DATETIME has five digits of a fraction.": (
        "basic.tests.ModelRefreshTests.test_refresh_unsaved",
        "basic.tests.ModelRefreshTests.test_refresh_with_related",
    ),
}
