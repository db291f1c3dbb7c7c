"""Secrets are not shown."""

from __future__ import annotations

import doctest

import pytest

from headrace._shared import redact as _redact
from headrace._shared.redact import redact


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://u:hunter2@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u@h:5432/d?sslmode=require", "postgresql://u@h:5432/d?sslmode=require"),
        ("postgresql://u:hunter2@a:1,b:2/d?connect_timeout=3", "postgresql://u:***@a:1,b:2/d?connect_timeout=3"),
        ("postgresql://h/d?password=hunter2&user=u", "postgresql://h/d?password=***&user=u"),
        ("postgresql://h/d?pass%77ord=hunter2", "postgresql://h/d?pass%77ord=***"),
        ("mysql://u:hunter2@h/d", "mysql://u:***@h/d"),
        ("host=h password=hunter2", "host=h password=***"),
        ("host=h password = 'hunter2 x' port=1", "host=h password=*** port=1"),
        (r"password='x\' hunter2' host=h", "password=*** host=h"),
        ("password= host=h", "password=***"),
        ("host=h", "host=h"),
        ("", ""),
    ],
)
def test_connection_strings(text: str, shown: str) -> None:
    assert redact(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://u:a@hunter2@h/d",
        "postgresql://u:a/hunter2@h/d",
        "postgresql://u:hunter2?x@h/d",
        "postgresql://u:hunter2/a@b@h/d?password=hunter2",
        "u:hunter2@h/d",
        "password=a hunter2",
        "password='hunter2",
        "password='a'hunter2",
        "PASSWORD=hunter2",
    ],
)
def test_malformed_ones_show_less(text: str) -> None:
    assert "hunter2" not in redact(text)


def test_examples() -> None:
    assert doctest.testmod(_redact).failed == 0
