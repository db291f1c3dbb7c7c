"""The type codes of columns, and the type objects of PEP 249 that group them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import Any


class TypeObject(str):
    """A type object of PEP 249: equals every :class:`TypeCode` that it groups.

    Compare with ``==``. A dict or set does not find a type code by its type object, because one type code may equal
    two of them (``oid`` is a NUMBER and a ROWID), so that no hash could fit.
    """

    _names: frozenset[str]

    def __new__(cls, name: str, names: Iterable[str]) -> TypeObject:
        self = super().__new__(cls, name)
        self._names = frozenset(names)
        return self

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TypeCode):
            return other.base in self._names
        return self is other

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __reduce__(self) -> str:
        # By name: a copy of a type object is the type object.
        return str.__str__(self)


def _words(text: str) -> list[str]:
    return text.split()


STRING = TypeObject(
    "STRING",
    _words(
        "text varchar bpchar char name xml json jsonb unknown "
        "tinytext mediumtext longtext enum set nchar nvarchar lvarchar clob"
    ),
)
BINARY = TypeObject(
    "BINARY", _words("bytea binary varbinary tinyblob blob mediumblob longblob geometry vector byte bson")
)
NUMBER = TypeObject(
    "NUMBER",
    _words(
        "int2 int4 int8 float4 float8 numeric oid money xid8 "
        "tinyint smallint mediumint int integer bigint year decimal double float smallfloat serial serial8 bigserial"
    ),
)
DATETIME = TypeObject("DATETIME", _words("date time timetz timestamp timestamptz interval datetime"))
ROWID = TypeObject("ROWID", _words("oid tid"))


_PLAIN = (
    r"(tiny|small|medium|big)?int|int[248]|integer|short|bool|boolean|float[48]?|double( precision)?|bytea"
    r"|(tiny|medium|long)?text|((bp|n|var|nvar|lvar)?char|string)(\(\d+(,\d+)?\))?"
    r"|date|timestamp|datetime( year to (second|fraction(\([1-5]\))?))?"
)
_LIMITED = r"(?:numeric|decimal)\((\d+), ?(\d+)\)"
DIGITS = 38
"""Of the exact numbers that most programs support."""


@functools.lru_cache(256)
def _is_plain(name: str) -> bool:
    """Returns true if a type has the same name and meaning everywhere."""
    if found := re.fullmatch(_LIMITED, name):
        return int(found[2]) <= int(found[1]) <= DIGITS
    return re.fullmatch(_PLAIN, name) is not None


class TypeCode:
    """The ``type_code`` of a column: it equals the SQL name of its type (``"int4"``, ``"numeric(10,2)"``), which is
    also its text, the PEP 249 type object of its group, and the type's number. ``oid`` is that number (PostgreSQL: in
    ``pg_type``), ``base`` the name without precision and scale.

    It is a ``str`` only where the name means the same in every database. Libraries such as polars take names for those
    of types they know, and would make floats of ``numeric``, or integers of ``int4range``.
    """

    oid: int
    base: str
    _name: str
    _plain: bool | None

    def __new__(cls, name: str, oid: int, base: str | None = None, plain: bool | None = None) -> TypeCode:
        """Makes one.

        Args:
            name: the name, with precision and scale.
            oid: the number.
            base: the name without them; None for the same.
            plain: it means the same everywhere; None to decide by the name.
        """
        is_text = _is_plain(name.lower()) if plain is None else plain
        self: TypeCode = str.__new__(_TextCode, name) if is_text else object.__new__(TypeCode)
        self.oid = oid
        self.base = base or name
        self._name = name
        self._plain = plain
        return self

    @property
    def precision(self) -> int | None:
        """The number of digits of a numeric with a limit; None otherwise."""
        return self._modifiers()[0]

    @property
    def scale(self) -> int | None:
        """The number of digits after the point of a numeric with a limit; a negative one rounds before the point."""
        return self._modifiers()[1]

    def _modifiers(self) -> tuple[int | None, int | None]:
        found = re.fullmatch(r"numeric\((\d+)(?:,(-?\d+))?\)", self._name)
        return (int(found[1]), int(found[2] or 0)) if found else (None, None)

    def __reduce__(self) -> Any:
        return TypeCode, (self._name, self.oid, self.base, self._plain)

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return repr(self._name)

    def __format__(self, spec: str) -> str:
        return format(self._name, spec)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TypeObject):
            return other == self
        if isinstance(other, TypeCode):
            return self._name == other._name
        if isinstance(other, int):
            return self.oid == other
        return isinstance(other, str) and self._name == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._name)


class _TextCode(TypeCode, str):
    """The code of a type whose name means the same in every database."""

    __hash__ = TypeCode.__hash__
