"""The names of psycopg that Django's modules for PostgreSQL import, as modules that only they see."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any, Final

from ... import errors, postgres
from .cursor import Cursor, ServerCursor
from .literals import literal
from .numbers import Int2, Int4, Int8

VERSION: Final = "3.2"
"""The version of psycopg whose interface Django finds: it asks for 3.1.12 at least, and from 3.2 on for the names of
types in ``description``."""
_TIMESTAMPTZ: Final = 1184


class TypeInfo:
    """A type by its oids."""

    def __init__(self, name: str, oid: int, array_oid: int) -> None:
        self.name, self.oid, self.array_oid = name, oid, array_oid

    def register(self, connection: Any) -> None:
        """Does nothing: headrace looks up types that are not among its own."""


def _register_hstore(info: TypeInfo, connection: Any) -> None:
    """Makes dictionaries of hstore, and hstore of dictionaries, on a connection."""
    from .hstore import dump, load

    connection.register_adapters(loaders={info.oid: load}, dumpers={dict: dump})


class _Dumper:
    """Makes literals."""

    def __init__(self, kind: type, context: Any = None) -> None:
        pass

    def quote(self, value: Any) -> bytes:
        """The literal of a value."""
        return literal(value).strip().encode()


class _Mixin:
    """Stands for the mixin of cursors that bind on the client: ours are told by the setting."""


def _module(name: str, **members: Any) -> ModuleType:
    module = ModuleType(name, "A part of headrace.django.postgresql.")
    module.__dict__.update(members)
    return module


_PEP249 = {name: getattr(postgres, name) for name in postgres.__all__}
_numeric = _module("psycopg.types.numeric", Int2=Int2, Int4=Int4, Int8=Int8)
_hstore = _module("psycopg.types.hstore", register_hstore=_register_hstore)
_types = _module("psycopg.types", numeric=_numeric, hstore=_hstore, TypeInfo=TypeInfo)
_pq = _module("psycopg.pq", Format=SimpleNamespace(TEXT=0, BINARY=1))
_adapt = _module("psycopg.adapt", Dumper=_Dumper)
_psycopg = _module("psycopg", **_PEP249)
_psycopg.__dict__.update(
    __version__=VERSION,
    Cursor=Cursor,
    ClientCursor=Cursor,
    ServerCursor=ServerCursor,
    client_cursor=SimpleNamespace(ClientCursorMixin=_Mixin),
    adapters=SimpleNamespace(types={"timestamptz": SimpleNamespace(oid=_TIMESTAMPTZ)}),
    sql=SimpleNamespace(),
    errors=errors,
    types=_types,
    pq=_pq,
    adapt=_adapt,
)
MODULES: Final = {module.__name__: module for module in (_psycopg, _types, _numeric, _hstore, _pq, _adapt)}
"""By psycopg's name."""
