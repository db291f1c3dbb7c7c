"""Codecs of the program: functions by the type of a column or parameter."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

from ... import errors
from ...aio.postgres import AsyncConnection
from .exceptions import UnsupportedClientFeatureError, class_of
from .introspection import Known, Types
from .values import LOADERS

Format = Literal["text", "binary", "tuple"]

MAX_STATEMENTS: Final = 1000
"""Statements of which the types of the parameters are kept, at most."""
_TUPLES: Final = {
    1082: "!i",  # date: days
    1083: "!q",  # time: microseconds
    1266: "!qi",  # timetz: microseconds, seconds west of UTC
    1114: "!q",  # timestamp: microseconds
    1184: "!q",  # timestamptz: microseconds
    1186: "!iiq",  # interval: months, days, microseconds, of which the last is sent first
}
"""The types that asyncpg has as tuples of numbers, and the struct of their binary form."""
INTERVAL: Final = 1186
UUID: Final = 2950
_UUID_HALF: Final = 64


class Encoded:
    """A value that an encoder has made: text, or bytes of the binary form."""

    __slots__ = ("data",)

    def __init__(self, data: bytes | str) -> None:
        self.data = data


def _data(value: Encoded) -> bytes | str:
    return value.data


def as_tuple(oid: int, data: bytes) -> tuple[int, ...]:
    """The binary form of a value as the numbers in it."""
    if oid == INTERVAL:
        microseconds, days, months = struct.unpack("!qii", data)
        return months, days, microseconds
    return struct.unpack(_TUPLES[oid], data)


def of_tuple(oid: int, value: Sequence[int]) -> bytes:
    """The binary form of a value, of the numbers in it."""
    if oid == INTERVAL:
        months, days, microseconds = value
        return struct.pack("!qii", microseconds, days, months)
    return struct.pack(_TUPLES[oid], *value)


class Codecs:
    """The codecs of a connection."""

    def __init__(self, driver: AsyncConnection[Any], types: Types) -> None:
        self._driver = driver
        self._types = types
        self.encoders: dict[int, Callable[[Any], Any]] = {}
        """By the oid of a parameter's type: makes an :class:`Encoded`."""
        self.loaders: dict[int, Callable[[bytes], Any]] = {}
        self.parameters: dict[str, tuple[int, ...]] = {}
        """The types of the parameters of statements."""

    def remember(self, query: str, oids: tuple[int, ...]) -> None:
        """Keeps the types of a statement's parameters."""
        if len(self.parameters) >= MAX_STATEMENTS:
            self.parameters.clear()
        self.parameters[query] = oids

    def set(self, oid: int, encoder: Callable[[Any], Any], decoder: Callable[[Any], Any], format: Format) -> None:
        """Sets the codec of a type.

        Args:
            oid: of the type.
            encoder: makes text, bytes or a tuple, by the format, of an argument.
            decoder: makes a value of these.
            format: text, binary, or tuple (only of dates, times and intervals).
        """
        known = self._types.get(oid)
        if known is not None and known.type.kind == "composite":
            self._set_composite(oid, encoder, decoder, known)
            return
        if format == "tuple" and oid not in _TUPLES:
            raise UnsupportedClientFeatureError(f"type {oid} has no tuple format; it has 'text' and 'binary'")
        if format == "text":
            self.loaders[oid] = lambda data: decoder(data.decode())
            self.encoders[oid] = lambda value: Encoded(_checked(encoder(value), str))
        elif format == "binary":
            self.loaders[oid] = lambda data: decoder(bytes(data))
            self.encoders[oid] = lambda value: Encoded(bytes(_checked(encoder(value), (bytes, bytearray, memoryview))))
        else:
            self.loaders[oid] = lambda data: decoder(as_tuple(oid, data))
            self.encoders[oid] = lambda value: Encoded(of_tuple(oid, encoder(value)))
        self.parameters.clear()
        binary = () if format == "text" else (oid,)
        self._types.loaded.add(oid)
        self._driver.register_adapters({oid: self.loaders[oid]}, {Encoded: _data}, binary=binary)

    def _set_composite(
        self, oid: int, encoder: Callable[[Any], Any], decoder: Callable[[Any], Any], known: Known
    ) -> None:
        """A codec whose tuples are the attributes of a composite type."""
        self.parameters.clear()
        self._types.decoders[oid] = decoder

        def encoded(value: Any) -> tuple[Any, ...]:
            made = tuple(encoder(value))
            if len(made) != len(known.attributes):
                raise ValueError(f"expected {len(known.attributes)} elements in composite value, got {len(made)}")
            return tuple(self._encoded(each, x) for each, x in zip(known.attributes, made, strict=True))

        self.encoders[oid] = encoded

    def reset(self, oid: int) -> None:
        """Goes back to the values that a type has without a codec."""
        self.parameters.clear()
        self._types.decoders.pop(oid, None)
        self._types.loaded.discard(oid)
        self.encoders.pop(oid, None)
        if self.loaders.pop(oid, None) is None:
            return
        adapters = self._driver._adapters
        adapters._loaders.pop(oid, None)
        adapters._binary.discard(oid)
        if oid in LOADERS:
            adapters.add({oid: LOADERS[oid]}, None, (oid,))
        else:
            adapters._apply()

    def is_text(self, oid: int) -> bool:
        """Returns true if a type has an encoder, and that makes text: COPY sends none."""
        return oid in self.loaders and oid not in self._driver._core.adapters._binary

    # arguments

    def encoded(self, oids: Sequence[int], row: Sequence[Any]) -> tuple[Any, ...]:
        """A row of arguments, as the encoders make them."""
        if len(oids) != len(row):
            return tuple(row)  # the engine raises what is wrong
        pairs = enumerate(zip(oids, row, strict=True), 1)
        return tuple(self._argument(number, oid, value) for number, (oid, value) in pairs)

    def _argument(self, number: int, oid: int, value: Any) -> Any:
        try:
            return self._encoded(oid, value)
        except errors.Error:
            raise
        except Exception as error:
            raise class_of("22000")(f"invalid input for query argument ${number}: {value!r} ({error})") from error

    def _encoded(self, oid: int, value: Any) -> Any:
        if value is None:
            return None
        encoder = self.encoders.get(oid)
        if encoder is not None:
            return encoder(value)
        known = self._types.get(oid)
        if known is None:
            return value
        if known.sort == "d":
            return self._encoded(known.base, value)
        if known.element and isinstance(value, (list, tuple)):
            return self._array(known.element, value)  # pyright: ignore[reportUnknownArgumentType]
        if known.attributes and isinstance(value, tuple) and len(value) == len(known.attributes):  # pyright: ignore[reportUnknownArgumentType]
            pairs = zip(known.attributes, value, strict=True)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            return tuple(self._encoded(each, x) for each, x in pairs)  # pyright: ignore[reportUnknownVariableType]
        return value  # pyright: ignore[reportUnknownVariableType]

    def _array(self, oid: int, value: Sequence[Any]) -> list[Any]:
        nested = (list, tuple)
        return [self._array(oid, x) if isinstance(x, nested) else self._encoded(oid, x) for x in value]  # pyright: ignore[reportUnknownArgumentType]


def _checked(made: Any, kinds: type | tuple[type, ...]) -> Any:
    """What an encoder has returned."""
    if not isinstance(made, kinds):
        raise TypeError(f"the encoder returned {type(made).__name__}")
    return made
