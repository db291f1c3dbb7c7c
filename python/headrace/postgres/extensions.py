"""Values of extensions as objects of other packages: vectors of pgvector as arrays of NumPy, PostGIS' as shapely's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final


@dataclass(frozen=True)
class Conversions:
    """What converts the values of an extension, in their binary forms."""

    extension: str
    """Its name."""
    loaders: dict[str, Callable[[bytes], Any]]
    """Loaders by the name of the function that reads the type's binary form on the server, ``pg_type.typreceive``, by
    which the type is found in whichever schema the extension is."""
    dumpers: dict[type, Callable[[Any], bytes]] = field(default_factory=dict[type, Callable[[Any], bytes]])


_HEADER: Final = 4
"""Bytes before the items of a vector: the number of dimensions and an unused number."""


def numpy_vectors() -> Conversions:
    """``vector`` and ``halfvec`` as arrays of ``float32`` and ``float16``. Raises ImportError without NumPy."""
    numpy = import_module("numpy")

    def load(item: str, own: str) -> Callable[[bytes], Any]:
        return lambda data: numpy.frombuffer(data, item, offset=_HEADER).astype(own)

    return Conversions("vector", {"vector_recv": load(">f4", "float32"), "halfvec_recv": load(">f2", "float16")})


def shapely_geometries() -> Conversions:
    """``geometry`` and ``geography`` as objects of shapely, with their SRIDs. Raises ImportError without shapely."""
    shapely = import_module("shapely")

    def dump(geometry: Any) -> bytes:
        made: bytes = shapely.to_wkb(geometry, include_srid=True)
        return made

    load: Callable[[bytes], Any] = shapely.from_wkb
    return Conversions("postgis", {"geometry_recv": load, "geography_recv": load}, {shapely.Geometry: dump})
