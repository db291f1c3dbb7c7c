"""LOAD DATA LOCAL INFILE of a file that the statement names, as MySQL's client library sends it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import IO, Any, Final

from ... import _native, defaults, mysql
from ..._shared.flows import ask
from ...mysql import load
from . import _exceptions as exceptions

REJECTED: Final = 2068
"""CR_LOAD_DATA_LOCAL_INFILE_REJECTED: the server requested a file that the program did not name."""
_FILE_NOT_FOUND: Final = 2
_STATEMENT: Final = re.compile(
    r"""(?:\s|/\*(?!!).*?\*/|\#[^\n]*\n|--\s[^\n]*\n)*
    LOAD\s+(?:DATA|XML)\s+(?:(?:LOW_PRIORITY|CONCURRENT)\s+)?LOCAL\s+INFILE\s*
    (?:'(?P<single>(?:[^'\\]|\\.|'')*)'|"(?P<double>(?:[^"\\]|\\.|"")*)")""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES: Final = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}


def file_name(statement: str, *, backslash_escapes: bool) -> str | None:
    """The name of the file that a LOAD DATA LOCAL INFILE names; None for any other statement."""
    if not (found := _STATEMENT.match(statement)):
        return None
    quote, name = ("'", found["single"]) if found["single"] is not None else ('"', found["double"])
    name = name.replace(quote * 2, quote)
    return _ESCAPED.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), name) if backslash_escapes else name


def open_file(name: str) -> IO[bytes]:
    """The file, before anything is sent: one that cannot be read is an error without a round trip."""
    try:
        return open(name, "rb")
    except (OSError, ValueError) as error:
        raise _unreadable(name, error) from error


def send(connection: mysql.Connection[Any], statement: str, file: IO[bytes]) -> list[_native.Result]:
    """Executes the statement with the file, whichever name the server requests."""
    wire = connection._core.wire
    asked: list[Any] = []
    try:
        ask(partial(wire.query, statement, infile=True), asked)
        ticket = asked[0]
        while wire.infile_state(ticket) == _native.Transfer.WAITING:
            connection._wait(wire.step(ticket), None)
        for piece in _pieces(file):
            if not wire.infile_data(ticket, piece):
                break
            connection._push(defaults.COPY_BLOCK, None)
        wire.infile_end(ticket)
    except BaseException:
        if asked and wire.infile_state(asked[0]) != _native.Transfer.ENDED:
            # The protocol has no way to take back what was sent: half of a file must not pass for the whole.
            connection.close()
        raise
    results: list[_native.Result] = connection._wait(ticket, None)
    return results


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    try:
        yield from load.pieces(file, defaults.COPY_BLOCK)
    except OSError as error:
        raise _unreadable(file.name, error) from error


def _unreadable(name: str, error: OSError | ValueError) -> exceptions.OperationalError:
    text = f"LOAD DATA LOCAL INFILE: file {name!r} cannot be read: {error}"
    return exceptions.OperationalError(getattr(error, "errno", None) or _FILE_NOT_FOUND, text)
