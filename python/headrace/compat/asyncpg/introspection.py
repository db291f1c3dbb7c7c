"""What the types of a database are: their names, kinds and parts, for descriptions and for the values made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

from ..._native import Result
from ..._shared.flows import Flow
from ...postgres.core import ConnectionCore
from .types import Type

FIRST_USER_OID: Final = 16384
"""FirstNormalObjectId: the oids below are the same in every database of a server's version."""
_QUERY: Final = """
SELECT t.oid, pg_catalog.format_type(t.oid, NULL), n.nspname::text, t.typtype::text, t.typname::text,
       CASE WHEN t.typcategory = 'A' THEN t.typelem ELSE 0::oid END, t.typbasetype,
       coalesce((SELECT rngsubtype FROM pg_catalog.pg_range WHERE rngtypid = t.oid), 0::oid),
       CASE WHEN t.typtype = 'c' THEN ARRAY(SELECT attname::text FROM pg_catalog.pg_attribute
           WHERE attrelid = t.typrelid AND attnum > 0 AND NOT attisdropped ORDER BY attnum) END,
       CASE WHEN t.typtype = 'c' THEN ARRAY(SELECT atttypid FROM pg_catalog.pg_attribute
           WHERE attrelid = t.typrelid AND attnum > 0 AND NOT attisdropped ORDER BY attnum) END
FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE t.oid = ANY($1::oid[])
"""


@dataclass(frozen=True)
class Known:
    """A type, as far as values depend on it. ``element`` and ``base`` are oids, 0 for none."""

    type: Type
    sort: str
    """``typtype``: b(ase), c(omposite), d(omain), e(numeration), m(ultirange), p(seudo), r(ange)."""
    element: int
    base: int
    names: tuple[str, ...]
    """Of the attributes of a composite type."""
    attributes: tuple[int, ...]
    """Their types."""

    @property
    def parts(self) -> tuple[int, ...]:
        """The types that values of it are made of."""
        return tuple(oid for oid in (self.element, self.base, *self.attributes) if oid)


_OF_SERVERS: dict[tuple[str, int], Known] = {}
"""The types that every database of a version has, by that and the oid."""


class Types:
    """The types that a connection has met."""

    def __init__(self, core: ConnectionCore) -> None:
        self._core = core
        self._own: dict[int, Known] = {}
        self.decoders: dict[int, Callable[[tuple[Any, ...]], Any]] = {}
        """What the program makes of the attributes of composite types."""
        self.loaded: set[int] = set()
        """The types for which the program has a codec."""
        self._version = core.wire.parameters().get("server_version", "")

    def get(self, oid: int) -> Known | None:
        """Returns a type that was looked up."""
        return _OF_SERVERS.get((self._version, oid)) if oid < FIRST_USER_OID else self._own.get(oid)

    def forget(self) -> None:
        """Forgets the types of the database."""
        self._own.clear()

    def composites(self, oids: Iterable[int]) -> dict[int, list[tuple[str, int]]]:
        """The composite types among these and what they are made of, with the names and types of their attributes."""
        found: dict[int, list[tuple[str, int]]] = {}
        seen: set[int] = set()
        left = [oid for oid in oids if oid >= FIRST_USER_OID]
        while left:
            oid = left.pop()
            known = None if oid in seen else self._own.get(oid)
            seen.add(oid)
            if known is not None:
                left.extend(known.parts)
                if known.sort == "c":
                    found[oid] = list(zip(known.names, known.attributes, strict=True))
        return found

    def are_outdated(self, composites: dict[int, list[tuple[str, int]]]) -> bool:
        """Returns true if one of these types has changed: values that were just received have shown it to the engine,
        which has looked the type up again, or forgotten it."""
        return any(self._core.wire.attributes(oid) != known for oid, known in composites.items())

    def look_up(self, oids: Iterable[int]) -> Flow[None]:
        """Looks up types, and those that they are made of."""
        missing = {oid for oid in oids if oid and self.get(oid) is None}
        while missing:
            result: Result = yield self._core.wire.execute(_QUERY, (list(missing),))
            found: set[int] = set()
            for row in result.rows or ():
                known = _known(row)
                found.update(known.parts)
                self._keep(row[0], known)
            for oid in missing:
                if self.get(oid) is None:
                    # It was dropped meanwhile.
                    self._keep(oid, Known(Type(oid, str(oid), "scalar", ""), "p", 0, 0, (), ()))
            missing = {oid for oid in found if self.get(oid) is None}

    def _keep(self, oid: int, known: Known) -> None:
        if oid < FIRST_USER_OID:
            _OF_SERVERS[self._version, oid] = known
        else:
            self._own[oid] = known


def _known(row: tuple[Any, ...]) -> Known:
    oid, shown, schema, sort, name, element, base, subtype, names, attributes = row
    kind: Literal["scalar", "array", "composite", "range"] = "scalar"
    if element:
        kind = "array"
    elif sort in "cr":
        kind = "composite" if sort == "c" else "range"
    # asyncpg names arrays as SQL does, and all others by their names in the catalogue.
    if kind == "array":
        name = f"{name[1:]}[]" if name.startswith("_") else shown
    return Known(
        Type(oid, name, kind, schema), sort, element or subtype, base, tuple(names or ()), tuple(attributes or ())
    )
