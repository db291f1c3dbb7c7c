"""The errors of IfxPy: an exception with one text, which has the driver's name before it and the number behind it."""

from __future__ import annotations

from typing import Final

from ... import errors

PREFIX: Final = "[Informix][Informix ODBC Driver]"
FETCH_TYPE: Final = (-11086, "HY106", "Fetch type out of range.")
"""A row was asked for by its number, of a cursor that goes forward only."""


class IfxPyError(Exception):
    """What every function raises. IfxPy raises Exception itself."""

    def __init__(self, text: str, sqlcode: int, sqlstate: str) -> None:
        super().__init__(f"{text} SQLCODE={sqlcode}")
        self.sqlcode = sqlcode
        """The server's number, or 0."""
        self.sqlstate = sqlstate
        """SQLSTATE, of five letters."""


def from_driver(error: errors.Error) -> IfxPyError:
    """Our error as IfxPy writes it. The words are ours: those of IBM's files of messages belong to its client."""
    code = getattr(error, "sqlcode", None) or 0
    source = f"{PREFIX}[Informix]" if code else PREFIX
    return IfxPyError(f"{source}{error.message or error}", code, error.sqlstate or "HY000")


def of_odbc(number: tuple[int, str, str]) -> IfxPyError:
    """An error that the ODBC driver itself would raise."""
    code, sqlstate, text = number
    return IfxPyError(f"{PREFIX}{text}", code, sqlstate)
