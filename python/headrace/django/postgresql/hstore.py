"""``hstore`` as Django's fields read and write it, whose errors are the driver's."""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import DataError
from ...postgres import hstore


def load(data: bytes) -> dict[str, str | None]:
    """Parses what the server sends.

    Raises:
        DataError: the text has another form.
    """
    try:
        return hstore.parse(data.decode())
    except ValueError as error:
        raise DataError(str(error)) from None


def dump(value: Mapping[str, str | None]) -> str:
    """Writes what the server parses.

    Raises:
        DataError: a key or value is neither text nor, as a value, None.
    """
    try:
        return hstore.dump(value)
    except TypeError as error:
        raise DataError(str(error)) from None
