"""COPY between the server and files, functions, iterators and records."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import math
import os
import re
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from ... import defaults
from ..._shared.limits import until
from ...aio._shared.within import within_here
from ...aio.postgres import AsyncConnection
from ...aio.postgres.copy import AsyncCopy
from ...postgres.copy_base import copy_of_rows, is_bytes
from ...postgres.core import quote_literal
from ...postgres.names import quote_name
from .exceptions import InterfaceError, InternalClientError, UnsupportedServerFeatureError
from .statements import Statements, as_asyncpg

_WHERE_SINCE: Final = 12
"""The first version of PostgreSQL whose COPY FROM has WHERE."""
_ARGUMENT: Final = re.compile(r"\$(\d+)")
_NAMES: Final = ("format", "oids", "freeze", "delimiter", "null", "header", "quote", "escape", "encoding")
_LISTS: Final = ("force_quote", "force_not_null", "force_null")


def _table(name: str, schema: str | None) -> str:
    return quote_name(name) if schema is None else f"{quote_name(schema)}.{quote_name(name)}"


def _columns(columns: Sequence[str] | None) -> str:
    return f"({', '.join(map(quote_name, columns))})" if columns else ""


def _options(given: dict[str, Any]) -> str:
    """The options of a COPY, those that are given."""
    parts: list[str] = []
    for name in _NAMES:
        value = given.get(name)
        if value is None:
            continue
        if name == "format":
            parts.append(f"FORMAT {value}")
        elif isinstance(value, bool):
            parts.append(f"{name.upper()} {str(value).upper()}")
        else:
            parts.append(f"{name.upper()} {quote_literal(str(value)).strip()}")
    for name in _LISTS:
        value = given.get(name)
        if value is True:
            parts.append(f"{name.upper()} *")
        elif value:
            parts.append(f"{name.upper()} {_columns(value)}")
    return f" ({', '.join(parts)})" if parts else ""


class Copying(Statements):
    """A connection, as far as it copies."""

    async def copy_from_table(
        self,
        table_name: str,
        *,
        output: Any,
        columns: Sequence[str] | None = None,
        schema_name: str | None = None,
        timeout: float | None = None,
        format: str | None = None,
        oids: bool | None = None,
        delimiter: str | None = None,
        null: str | None = None,
        header: bool | None = None,
        quote: str | None = None,
        escape: str | None = None,
        force_quote: bool | Sequence[str] | None = None,
        encoding: str | None = None,
    ) -> str:
        """Copies a table to a file, an object with ``write``, or a coroutine function that takes bytes.

        Args:
            table_name: its name, which is quoted.
            output: a path, an object with ``write()``, or a coroutine function.
            columns: names of the columns; None for all.
            schema_name: the name of its schema.
            timeout: seconds until it is cancelled; None for ``command_timeout``.
            format: text, csv or binary; this and what follows are options of COPY.
            oids: an option of servers before version 12.
            delimiter: an option of COPY.
            null: an option of COPY.
            header: an option of COPY.
            quote: an option of COPY.
            escape: an option of COPY.
            force_quote: names of columns, or true for all.
            encoding: an option of COPY.

        Returns:
            The status, such as ``COPY 3``.
        """
        options = _options({
            "format": format, "oids": oids, "delimiter": delimiter, "null": null, "header": header, "quote": quote,
            "escape": escape, "force_quote": force_quote, "encoding": encoding,
        })  # fmt: skip
        source = f"{_table(table_name, schema_name)}{_columns(columns)}"
        return await self._copy_out(f"COPY {source} TO STDOUT{options}", output, timeout)

    async def copy_from_query(
        self,
        query: str,
        *args: Any,
        output: Any,
        timeout: float | None = None,
        format: str | None = None,
        oids: bool | None = None,
        delimiter: str | None = None,
        null: str | None = None,
        header: bool | None = None,
        quote: str | None = None,
        escape: str | None = None,
        force_quote: bool | Sequence[str] | None = None,
        encoding: str | None = None,
    ) -> str:
        """Copies the rows of a query to a file, an object with ``write``, or a coroutine function.

        The arguments become literals in the text: COPY takes no parameters. The others are those of
        :meth:`copy_from_table`.
        """
        options = _options({
            "format": format, "oids": oids, "delimiter": delimiter, "null": null, "header": header, "quote": quote,
            "escape": escape, "force_quote": force_quote, "encoding": encoding,
        })  # fmt: skip
        if args:
            query = await self._with_literals(query, args)
        return await self._copy_out(f"COPY ({query}\n) TO STDOUT{options}", output, timeout)

    async def _with_literals(self, query: str, args: Sequence[Any]) -> str:
        """A query whose arguments are literals of the types that the server has found."""
        await self._parameter_types(query, None)
        wire = self._core.wire

        def literal(found: re.Match[str]) -> str:
            number = int(found[1])
            if not 1 <= number <= len(args):
                raise InterfaceError(f"there is no argument for ${number}")
            oid = self._codecs.parameters[query][number - 1]
            return f"{wire.literal(args[number - 1])}::{wire.type_name(oid)}"

        with as_asyncpg(query, args):
            return _ARGUMENT.sub(literal, query)

    async def copy_to_table(
        self,
        table_name: str,
        *,
        source: Any,
        columns: Sequence[str] | None = None,
        schema_name: str | None = None,
        timeout: float | None = None,
        format: str | None = None,
        oids: bool | None = None,
        freeze: bool | None = None,
        delimiter: str | None = None,
        null: str | None = None,
        header: bool | None = None,
        quote: str | None = None,
        escape: str | None = None,
        force_quote: bool | Sequence[str] | None = None,
        force_not_null: bool | Sequence[str] | None = None,
        force_null: bool | Sequence[str] | None = None,
        encoding: str | None = None,
        where: str | None = None,
    ) -> str:
        """Copies a file, an object with ``read``, or an asynchronous iterable of bytes into a table.

        Args:
            table_name: its name, which is quoted.
            source: a path, an object with ``read()``, or an asynchronous iterable of bytes.
            columns: names of the columns; None for all.
            schema_name: the name of its schema.
            timeout: seconds until it is cancelled; None for ``command_timeout``.
            format: text, csv or binary; this and what follows are options of COPY.
            oids: an option of servers before version 12.
            freeze: an option of COPY.
            delimiter: an option of COPY.
            null: an option of COPY.
            header: an option of COPY.
            quote: an option of COPY.
            escape: an option of COPY.
            force_quote: not an option of COPY FROM: the server refuses it.
            force_not_null: names of columns, or true for all.
            force_null: names of columns, or true for all.
            encoding: an option of COPY.
            where: a condition for the rows that are stored.

        Returns:
            The status, such as ``COPY 3``.
        """
        options = _options({
            "format": format, "oids": oids, "freeze": freeze, "delimiter": delimiter, "null": null, "header": header,
            "quote": quote, "escape": escape, "force_quote": force_quote, "force_not_null": force_not_null,
            "force_null": force_null, "encoding": encoding,
        })  # fmt: skip
        target = f"{_table(table_name, schema_name)}{_columns(columns)}"
        statement = f"COPY {target} FROM STDIN{options}{self._where(where)}"
        return await self._copy_in(statement, source, timeout)

    async def copy_records_to_table(
        self,
        table_name: str,
        *,
        records: Any,
        columns: Sequence[str] | None = None,
        schema_name: str | None = None,
        timeout: float | None = None,
        where: str | None = None,
    ) -> str:
        """Copies rows into a table, in the binary format.

        Args:
            table_name: its name, which is quoted.
            records: an iterable of sequences, also an asynchronous one.
            columns: names of the columns; None for all.
            schema_name: the name of its schema.
            timeout: seconds until it is cancelled; None for ``command_timeout``.
            where: a condition for the rows that are stored.

        Returns:
            The status, such as ``COPY 3``.
        """
        self._check_open()
        condition = self._where(where)
        name = (table_name,) if schema_name is None else (schema_name, table_name)
        statement = copy_of_rows(name, columns, "binary", out=False)
        if condition:
            binary = f"{statement.binary}{condition}" if statement.binary else None
            statement = replace(statement, binary=binary, text=f"{statement.text}{condition}")
        encode = await self._encoder_of_rows(statement.query, timeout)
        with as_asyncpg(statement.text):
            async with AsyncCopy(self._driver, statement, limit=until(timeout)) as copy:
                if isinstance(records, AsyncIterable):
                    block: list[Any] = []
                    async for record in records:  # pyright: ignore[reportUnknownVariableType]
                        block.append(record)
                        if len(block) >= defaults.COPY_ROWS:
                            await copy.write_rows(map(encode, block))
                            block.clear()
                    records = block
                # Also where there are none: the header of the format is still to be sent.
                await copy.write_rows(map(encode, records))
            return f"COPY {copy.rowcount}"

    async def _encoder_of_rows(self, query: str, timeout: float | None) -> Callable[[Any], tuple[Any, ...]]:
        """What makes rows of the program those that are sent: the encoders of the connection are for the types of the
        columns that ``query`` describes."""
        if not self._codecs.encoders:
            return tuple
        with as_asyncpg(query):
            described = await self._wait(lambda: self._core.wire.describe(query), timeout)
            oids = tuple(field[1] for field in described.columns.fields) if described.columns is not None else ()
            await self._driver._run(self._types.look_up(oids), timeout)
        for oid in oids:
            if self._codecs.is_text(oid):
                raise InternalClientError(f"no binary format encoder for type {self._core.wire.type_name(oid)}")
        return lambda row: self._codecs.encoded(oids, tuple(row))

    def _where(self, where: str | None) -> str:
        if where is None:
            return ""
        if self._driver.server_version_number < _WHERE_SINCE * 10_000:
            raise UnsupportedServerFeatureError("the `where` parameter requires PostgreSQL 12 or later")
        return f" WHERE {where}"

    # both directions

    async def _copy_out(self, statement: str, output: Any, timeout: float | None) -> str:
        self._check_open()
        async with _opened(output, "wb") as file:
            write = file.write if hasattr(file, "write") else file
            if not callable(write):
                raise TypeError(
                    f"output is expected to be a file-like object, a path or a coroutine function, not {output!r}"
                )
            with as_asyncpg(statement):
                return await self._within(_drain(self._driver, statement, write), timeout)

    async def _within(self, work: Coroutine[Any, Any, str], timeout: float | None) -> str:
        """A COPY within its time, which is also that of the program's own functions."""
        seconds = self._core.command_timeout if timeout is None else timeout
        return await within_here(seconds, work)

    async def _copy_in(self, statement: str, source: Any, timeout: float | None) -> str:
        self._check_open()
        async with _opened(source, "rb") as file:
            if not hasattr(file, "read") and not isinstance(file, (AsyncIterable, Iterable)):
                raise TypeError(
                    f"source is expected to be a file-like object, a path or an iterable of bytes, not {source!r}"
                )
            with as_asyncpg(statement):
                return await self._within(_fill(self._driver, statement, file), timeout)


@contextlib.asynccontextmanager
async def _opened(given: Any, mode: str) -> AsyncGenerator[Any, None]:
    """The file of a path, as long as the block; what else is given, temporary files of a path as well, as it is."""
    if hasattr(given, "read") or hasattr(given, "write") or not isinstance(given, (str, os.PathLike)):
        yield given
        return
    file = await asyncio.to_thread(open, given, mode)  # pyright: ignore[reportUnknownArgumentType]
    try:
        yield file
    finally:
        await asyncio.to_thread(file.close)


async def _drain(driver: AsyncConnection[Any], statement: str, write: Callable[[bytes], Any]) -> str:
    """A COPY out, whose blocks are written; returns its status."""
    async with AsyncCopy(driver, statement, limit=math.inf) as copy:
        async for block in copy.blocks():
            done = write(block)
            if inspect.isawaitable(done):
                await done
    return f"COPY {copy.rowcount}"


async def _fill(driver: AsyncConnection[Any], statement: str, source: Any) -> str:
    """A COPY in, whose blocks are those of a source; returns its status."""
    async with AsyncCopy(driver, statement, limit=math.inf) as copy:
        await _feed(copy, source)
    return f"COPY {copy.rowcount}"


async def _feed(copy: AsyncCopy, source: Any) -> None:
    """Writes what a source has."""
    if hasattr(source, "read"):
        while True:
            block = source.read(defaults.COPY_BLOCK)
            if inspect.isawaitable(block):
                block = await block
            if not block:
                return
            await copy.write(block)
    if is_bytes(source):
        await copy.write(source)
    elif isinstance(source, AsyncIterable):
        async for block in source:  # pyright: ignore[reportUnknownVariableType]
            await copy.write(block)  # pyright: ignore[reportUnknownArgumentType]
    else:
        for block in source:
            await copy.write(block)
