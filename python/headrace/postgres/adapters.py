"""The types of the user that a connection has registered."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from .._native import PostgresWire, Result
from .._shared.arguments import checked_callable, checked_dumpers, checked_mapping, checked_text, checked_whole
from .._shared.flows import Flow
from ..errors import DataError, ProgrammingError
from .extensions import Conversions
from .names import NAMES


@dataclass(frozen=True, eq=False)
class State:
    """Registrations: each has its own, so that a comparison costs nothing."""

    loaders: dict[int, Callable[[bytes], Any]]
    binary: frozenset[int]
    dumpers: dict[type, Callable[[Any], bytes | str]]
    records: dict[int, Callable[..., Any]]


NOTHING: Final = State({}, frozenset(), {}, {})
"""What a connection begins with. Nobody changes it: a registration makes another state."""


_OID_LIMIT: Final = 2**32
"""Oids are numbers of 32 bits."""


def _oid(number: Any) -> int:
    """The oid of a type."""
    oid = checked_whole(number, "the oid of a type")
    if not 0 <= oid < _OID_LIMIT:
        raise ProgrammingError(f"{oid} is not the oid of a type")
    return oid


class Adapters:
    """Loaders, dumpers and factories, to which each registration adds."""

    def __init__(self, wire: PostgresWire) -> None:
        self._wire = wire
        self._loaders: dict[int, Callable[[bytes], Any]] = {}
        self._binary: set[int] = set()
        self._dumpers: dict[type, Callable[[Any], bytes | str]] = {}
        self._records: dict[int, Callable[..., Any]] = {}
        self.state = NOTHING
        """What is registered."""

    def _apply(self) -> None:
        state = State(dict(self._loaders), frozenset(self._binary), dict(self._dumpers), dict(self._records))
        self._wire.set_adapters(state.loaders, sorted(state.binary), state.dumpers, state.records)
        self.state = state

    def restore(self, state: State) -> None:
        """Goes back to what was registered when :attr:`state` was this."""
        if state is not self.state:
            self._loaders, self._binary = dict(state.loaders), set(state.binary)
            self._dumpers, self._records = dict(state.dumpers), dict(state.records)
            self._apply()
            self.state = state

    def add(
        self,
        loaders: Mapping[int, Callable[[bytes], Any]] | None,
        dumpers: Mapping[type, Callable[[Any], bytes | str]] | None,
        binary: Iterable[int],
    ) -> None:
        """Loaders by oid, dumpers by class; a later one for the same replaces the earlier one."""
        loaders, dumpers = checked_mapping(loaders, "loaders"), checked_dumpers(dumpers)
        if not isinstance(binary, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"binary are type oids, such as a set of int, not {type(binary).__name__}")
        binary = [_oid(each) for each in binary]
        loaders = {_oid(oid): checked_callable(load, "a loader") for oid, load in loaders.items()}
        for oid, load in loaders.items():
            self._loaders[oid] = load
            self._binary.discard(oid)
        self._binary.update(binary)
        self._dumpers.update(dumpers)
        self._apply()

    def composite(self, name: str, factory: Callable[..., Any]) -> Flow[None]:
        """Values of the composite type ``name`` become ``factory(*attributes)``."""
        checked_callable(factory, "factory")
        oid, kind, _ = yield from self._look_up(name)
        if kind != "c":
            raise ProgrammingError(f"{name} is not a composite type")
        self._records[oid] = factory
        self._apply()

    def enumeration(self, name: str, kind: type[enum.Enum]) -> Flow[None]:
        """Labels of the enumeration ``name`` become members of ``kind`` and back."""
        if not (isinstance(kind, type) and issubclass(kind, enum.Enum)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"kind is a subclass of enum.Enum, not {kind!r}")
        oid, sort, labels = yield from self._look_up(name)
        if sort != "e":
            raise ProgrammingError(f"{name} is not an enumeration")
        by_value = {member.value: member for member in kind}
        members = by_value if set(labels) <= by_value.keys() else dict(kind.__members__)
        missing = [label for label in labels if label not in members]
        if missing:
            raise ProgrammingError(f"{kind.__name__} has no member for the label {missing[0]!r} of {name}")
        by_label = {label.encode(): members[label] for label in labels}
        label_of = {members[label]: label.encode() for label in labels}

        def load(data: bytes) -> enum.Enum:
            member = by_label.get(data)
            if member is None:
                raise DataError(
                    f"{data.decode()!r} is not a label that {name} had when {kind.__name__} was registered for it;"
                    " call register_enum() again"
                )
            return member

        def dump(member: enum.Enum) -> bytes:
            if member not in label_of:
                raise ProgrammingError(f"{member} is not a label of {name}")
            return label_of[member]

        # The binary form of a label is its text, and only what has a binary form can stand inside a composite.
        self.add({oid: load}, {kind: dump}, (oid,))

    def named(
        self,
        name: str,
        loader: Callable[[bytes], Any],
        dumpers: Mapping[type, Callable[[Any], bytes | str]] | None,
        binary: bool,
    ) -> Flow[None]:
        """Values of the type ``name`` become ``loader(bytes)``."""
        checked_callable(loader, "a loader")
        oid, _, _ = yield from self._look_up(name)
        self.add({oid: loader}, dumpers, (oid,) if binary else ())

    def extension(self, conversions: Conversions) -> Flow[None]:
        """Values of the types of an extension become what its loaders return."""
        query = (
            "SELECT t.oid, p.proname::text FROM pg_catalog.pg_type t JOIN pg_catalog.pg_proc p ON p.oid = t.typreceive"
            " WHERE p.proname::text = ANY ($1::text[]) AND t.typtype = 'b' AND t.typelem = 0"
        )
        result: Result = yield self._wire.execute(query, (list(conversions.loaders),), named=False)
        assert result.rows is not None, "a query"
        if not result.rows:
            raise ProgrammingError(
                f"the database has no types of the extension {conversions.extension}: CREATE EXTENSION makes them"
            )
        loaders = {oid: conversions.loaders[receiver] for oid, receiver in result.rows}
        self.add(loaders, conversions.dumpers, loaders)

    def _look_up(self, name: str) -> Flow[tuple[int, str, list[str]]]:
        """The oid, the typtype and the labels of a type.

        Raises UndefinedObject, or ProgrammingError for a name that the server would shorten to another type's.
        """
        NAMES.check_sql(checked_text(name, "the name of a type"))
        query = (
            "SELECT t.oid, t.typtype::text, coalesce((SELECT array_agg(enumlabel::text ORDER BY enumsortorder)"
            " FROM pg_catalog.pg_enum WHERE enumtypid = t.oid), '{}') FROM pg_catalog.pg_type t"
            " WHERE t.oid = $1::text::regtype"
        )
        name = checked_text(name, "the name of a type")
        result: Result = yield self._wire.execute(query, (name,), named=False)
        assert result.rows is not None, "a query"
        return result.rows[0]
