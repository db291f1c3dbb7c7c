"""``cubrid+headrace``: SQLAlchemy's dialects of CUBRID, and the types that only it has."""

from .._engines import register
from .engine import CubridDialect_headrace, CubridDialectAsync_headrace
from .types import BIT, COLLECTION, DATETIMELTZ, DATETIMETZ, MONETARY

__all__ = [
    "BIT",
    "COLLECTION",
    "DATETIMELTZ",
    "DATETIMETZ",
    "MONETARY",
    "CubridDialectAsync_headrace",
    "CubridDialect_headrace",
    "dialect",
    "dialect_async",
]

dialect = CubridDialect_headrace
dialect_async = CubridDialectAsync_headrace

register("cubrid", __name__)
