"""Cursors that take statements as Django writes them."""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

from ...postgres import cursor as postgres
from ...types import Range
from .literals import mogrify
from .numbers import Sized

if TYPE_CHECKING:
    from ...postgres.copy import Copy

R = TypeVar("R")
_PLACE: Final = re.compile(r"%(?:%|s)")


def _ranged(value: Any) -> Any:
    """A range of naive times as text, for which the server chooses the type: Django means ``tstzrange`` by it. So do
    ranges in a list."""
    if isinstance(value, Range):
        of: Any = cast(Any, value)
        naive = any(isinstance(x, datetime.datetime) and x.tzinfo is None for x in (of.lower, of.upper))
        return str(of) if naive else of
    if isinstance(value, list):
        items: Any = cast(Any, value)
        made = [_ranged(item) for item in items]
        return made if any(new is not old for new, old in zip(made, items, strict=True)) else items
    return value


def _sql_type(value: Any, dictionaries: bool) -> str | None:
    """The type to which a value is cast, as it does not have it by itself: that of a field's number, or of a list of
    them, and hstore for a dictionary where the connection has that."""
    if isinstance(value, Sized):
        return value.fitting_type()
    if dictionaries and isinstance(value, dict):
        return "hstore"
    if isinstance(value, list):
        for item in cast(Any, value):
            if item is not None:
                found = _sql_type(item, dictionaries)
                return found if found is None or found.endswith("[]") else found + "[]"
    return None


def adapted(sql: str, params: Any, dictionaries: bool = False) -> tuple[str, Any]:
    """A statement and its values as the driver takes them.

    Args:
        sql: the statement, with ``%s`` or ``%(name)s``.
        params: the values; a mapping is passed on as it is.
        dictionaries: a dict is an hstore, and not JSON.

    Returns:
        The statement, with casts at the places of values whose type Django has chosen, and the values.
    """
    if params is None or isinstance(params, Mapping):
        return sql, cast(Any, params)
    values: list[Any] | None = None
    chosen: dict[int, str] = {}
    for at, value in enumerate(params):
        if isinstance(value, Range | list):
            ranged = _ranged(value)
            if ranged is not value:
                values = list(params) if values is None else values
                values[at] = ranged
        if isinstance(value, Sized | list | dict) and (kind := _sql_type(value, dictionaries)):
            chosen[at] = kind
    if chosen:
        sql = _typed(sql, chosen)
    return sql, params if values is None else values


def _typed(sql: str, chosen: dict[int, str]) -> str:
    """The statement with casts to these types at its places."""
    numbers = itertools.count()

    def place(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%%"
        kind = chosen.get(next(numbers))
        return "%s" if kind is None else f"%s::{kind}"

    return _PLACE.sub(place, sql)


def _has_hstore(connection: Any) -> bool:
    return dict in connection._core.adapters.state.dumpers


class Described(NamedTuple):
    """A column as psycopg describes it: the type by its oid."""

    name: str
    type_code: int
    display_size: int | None
    internal_size: int | None
    precision: int | None
    scale: int | None
    null_ok: bool | None
    type_display: str
    """The name of the type."""


def _described(column: Any) -> Described:
    length = column.internal_size if column.type_code.base in ("varchar", "bpchar") else None
    name, code, _, size, precision, scale, null_ok = column
    return Described(name, code.oid, length, size, precision, scale, null_ok, str(code))


class Executed(NamedTuple):
    """A statement as it was sent, by psycopg's names, for ``connection.queries`` and what logs them."""

    text: str

    @property
    def query(self) -> bytes:
        """Its text."""
        return self.text.encode()


class _AsDjangoHasIt:
    """What both cursors do, before the driver's own."""

    binds_on_client = False
    """True to write literals in the places of the parameters."""
    _query: Executed | None = None
    """The last statement with literals."""

    @property
    def description(self) -> Any:
        """The columns of the result, with the types' oids, by which Django's introspection finds its fields."""
        columns = cast(Any, super()).description
        return None if columns is None else [_described(column) for column in columns]

    def _bound(self, sql: Any, params: Any) -> tuple[str, Any]:
        """The text of a statement, with literals in it where the client binds, and the parameters that are left."""
        text = str(sql)
        if not self.binds_on_client:
            return text, params
        text = mogrify(text, params)
        self._query = Executed(text)
        return text, None


class Cursor(_AsDjangoHasIt, postgres.Cursor[R]):
    """Executes what Django writes: several statements in one text, if it has no parameters."""

    def execute(self, sql: Any, params: Any = None, *, timeout: float | None = None) -> Any:
        text, params = self._bound(sql, params)
        if params is None and self._is_several(text):
            self._check()
            self._script(text)
            # The last result is the statement's, as with the drivers that Django supports.
            while self._more:
                self._next_set()
            return self
        text, params = adapted(text, params, _has_hstore(self._connection))
        return super().execute(text, params, timeout=timeout)

    def executemany(self, sql: Any, rows: Any, *, returning: bool = False, timeout: float | None = None) -> Any:
        return super().executemany(str(sql), rows, returning=returning, timeout=timeout)

    def copy(self, sql: Any, params: Any = None, *, timeout: float | None = None) -> Copy:
        """Opens a block for a COPY statement; parameters become literals, as COPY takes none."""
        return super().copy(mogrify(sql, params), timeout=timeout)

    def callproc(self, name: str, params: Any = None, *, timeout: float | None = None) -> Any:
        binds, self.binds_on_client = self.binds_on_client, False
        try:
            return super().callproc(name, params or (), timeout=timeout)
        finally:
            self.binds_on_client = binds


class ServerCursor(_AsDjangoHasIt, postgres.ServerCursor[R]):
    """A cursor that is declared on the server, of ``QuerySet.iterator()``."""

    def execute(self, sql: Any, params: Any = None, *, timeout: float | None = None) -> Any:
        text, params = self._bound(sql, params)
        text, params = adapted(text, params, _has_hstore(self._connection))
        return super().execute(text, params, timeout=timeout)
