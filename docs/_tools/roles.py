"""Docstrings in the reference: with Sphinx roles as code, and those of a base where a method has none of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import griffe

ROLE = re.compile(r":(?:py:)?(\w+):`~?([^`]+)`")


class Roles(griffe.Extension):
    """Shows a role, which editors support and Markdown does not, as code: a method with its parentheses."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for every object that was read."""
        if obj.docstring:
            obj.docstring.value = ROLE.sub(_code, obj.docstring.value)


class Inherited(griffe.Extension):
    """Gives members of a class without a docstring that of the first base which has one, as ``help()`` does."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Called when the whole package was read."""
        for kind in classes(pkg):
            for name, member in kind.members.items():
                if member.is_alias or member.docstring or name.startswith("_"):
                    continue
                for base in kind.mro():
                    inherited = base.members.get(name)
                    if inherited is not None and not inherited.is_alias and inherited.docstring:
                        member.docstring = griffe.Docstring(inherited.docstring.value, parent=member)
                        break


def classes(of: griffe.Object) -> Iterator[griffe.Class]:
    """The classes of a module or class, and those in them."""
    for member in of.members.values():
        if member.is_alias:
            continue
        if isinstance(member, griffe.Class):
            yield member
        if isinstance(member, (griffe.Class, griffe.Module)):
            yield from classes(member)


def _code(found: re.Match[str]) -> str:
    return f"`{found[2]}()`" if found[1] in ("meth", "func") else f"`{found[2]}`"
