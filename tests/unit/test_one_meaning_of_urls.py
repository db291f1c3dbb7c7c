"""One URL has one meaning: the table of ``crates/drivers``, as the drivers for Python and the lab read it."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from headrace._shared.dispatch import module_for
from headrace.errors import Error

TABLE = Path(__file__).resolve().parents[2] / "crates" / "drivers" / "tests" / "urls.json"
CASES: list[tuple[str, Any]] = json.loads(TABLE.read_text(encoding="utf-8"))


def settings_of(url: str) -> dict[str, str]:
    """The settings of a URL by their names, all of which are checked."""
    name = module_for(url, "headrace").__name__.removeprefix("headrace.")
    settings = import_module(f"headrace.{name}.settings")
    if name == "postgres":
        from headrace.postgres.attempts import wire_options

        found = settings.parse_conninfo(url)
        made = settings.connect_options(url, {}, {"HOME": "/nowhere"})
        wire_options(made, made.hosts[0], "require", None)
        return dict(found)
    settings.connect_options(url, {})
    return dict(settings.url_settings(url))


@pytest.mark.parametrize(("url", "expected"), CASES, ids=[url for url, _ in CASES])
def test_a_url_means_what_the_table_says(url: str, expected: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INFORMIXSERVER", raising=False)
    if isinstance(expected, dict):
        assert settings_of(url) == expected
        return
    with pytest.raises(Error) as caught:
        settings_of(url)
    assert expected in str(caught.value)
    assert "eheim" not in str(caught.value)
