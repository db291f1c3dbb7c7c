"""Docstrings name things with Sphinx roles, which editors know and Markdown does not."""

from __future__ import annotations

import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:py:)?(\w+):`~?([^`]+)`")


class Roles(griffe.Extension):
    """Shows a role as code: a method with its parentheses, anything else as it is."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for every object that was read."""
        if obj.docstring:
            obj.docstring.value = ROLE.sub(_code, obj.docstring.value)


def _code(found: re.Match[str]) -> str:
    return f"`{found[2]}()`" if found[1] in ("meth", "func") else f"`{found[2]}`"
