"""What SQLAlchemy's tests may ask of a database, by the manual of its maker."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, NamedTuple

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

    def __init_subclass__(cls) -> None:
        for names, rule in (
            (cls.YES, exclusions.open),
            (cls.NO, exclusions.closed),
            (cls.SERVER, exclusions.closed),
        ):
            for name in names:
                setattr(cls, name, property(lambda self, rule=rule: rule()))


def closed_by_default() -> set[str]:
    """The requirements that SQLAlchemy's own class answers with no."""

    def is_closed(member: Any) -> bool:
        return isinstance(member, property) and "exclusions.closed()" in inspect.getsource(member.fget)  # type: ignore[arg-type]

    return {name for name, member in inspect.getmembers_static(SuiteRequirements, is_closed)}
