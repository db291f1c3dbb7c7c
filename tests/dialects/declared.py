"""What SQLAlchemy's tests may ask of a database, by the manual of its maker."""

from __future__ import annotations

import inspect
from typing import ClassVar, NamedTuple

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements


class No(NamedTuple):
    """Something that a database does not have."""

    reason: str
    page: str
    """The title of the manual's page, or its address below the manual's."""


class Declared(SuiteRequirements):
    """SQLAlchemy's requirements, each of which is yes, or a no that has a page beside it."""

    YES: ClassVar[tuple[str, ...]] = ()
    """What the database has, and SQLAlchemy takes for something that few have."""
    NO: ClassVar[dict[str, No]] = {}
    """What it does not have."""
    BESIDE: ClassVar[dict[str, str]] = {}
    """Requirements that are no question about the database: why they are left as they are."""
    SERVER: ClassVar[dict[str, str]] = {}
    """What the database has and the test server does not."""
    DIALECT: ClassVar[dict[str, str]] = {}
    """What the database has and the dialect does not write yet."""

    def __init_subclass__(cls) -> None:
        for names, rule in (
            (cls.YES, exclusions.open),
            (cls.NO, exclusions.closed),
            (cls.SERVER, exclusions.closed),
            (cls.DIALECT, exclusions.closed),
        ):
            for name in names:
                setattr(cls, name, property(lambda self, rule=rule: rule()))


def closed_by_default() -> set[str]:
    """The requirements that SQLAlchemy's own class answers with no."""

    members = {name: inspect.getattr_static(SuiteRequirements, name) for name in dir(SuiteRequirements)}
    rules = {name: member.fget for name, member in members.items() if isinstance(member, property)}
    return {name for name, rule in rules.items() if rule and "exclusions.closed()" in inspect.getsource(rule)}
