"""The lab's own connections read a URL as headrace does: by the table of ``crates/drivers``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headrace_lab.urls import address

TABLE = Path(__file__).resolve().parents[2] / "crates" / "drivers" / "tests" / "urls.json"
CASES: list[tuple[str, Any]] = [
    (url, expected)
    for url, expected in json.loads(TABLE.read_text(encoding="utf-8"))
    if isinstance(expected, dict) and "," not in url and "?" not in url
]
"""Those of one server, whose parts are before the parameters."""


@pytest.mark.parametrize(("url", "expected"), CASES, ids=[url for url, _ in CASES])
def test_a_url_means_what_the_table_says(url: str, expected: Any) -> None:
    found = address(url)
    database = expected.get("database", expected.get("dbname", ""))
    port = int(expected["port"]) if "port" in expected else None
    assert (found.host, found.port, found.user, found.password, found.database) == (
        expected.get("host", ""), port, expected.get("user", ""), expected.get("password", ""), database,
    )  # fmt: skip
    assert found.options == {}


def test_parameters_are_decoded_and_the_last_one_counts() -> None:
    found = address("postgresql:///d?host=/tmp&port=7&port=8&a=b+c%20d")
    assert (found.database, found.options) == ("d", {"host": "/tmp", "port": "8", "a": "b+c d"})
