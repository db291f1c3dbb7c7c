"""Ids of two-phase transactions on MySQL and MariaDB: "XA Transaction SQL Statements"."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ..errors import DatabaseError, ProgrammingError
from ..types import Xid

_PART: Final = 64
"""Bytes of the global transaction id, and of the branch qualifier."""
_FORMAT: Final = 1
"""The format of an id that is written without one."""
_ROLLBACK_ONLY: Final = frozenset({1402, 1613, 1614})
"""XA_RBROLLBACK, XA_RBTIMEOUT, XA_RBDEADLOCK: nothing but a rollback can end the branch."""
_NOT_ACTIVE: Final = frozenset({1397, 1399})
"""XAER_NOTA, XAER_RMFAIL."""


def checked(xid: Xid) -> Xid:
    """An id that a server can have. Raises ProgrammingError for one that is too long."""
    if len(xid.gtrid.encode()) > _PART:
        raise ProgrammingError(
            f"the global transaction id is longer than {_PART} bytes, all that MySQL and MariaDB take"
        )
    return xid


def literal(xid: Xid) -> str:
    """An id in a statement. A text without format and branch is a global transaction id, as in ``XA START 'text'``."""
    gtrid, bqual = (part.encode().hex() for part in (xid.gtrid, xid.bqual or ""))
    return f"X'{gtrid}',X'{bqual}',{_FORMAT if xid.format_id is None else xid.format_id}"


def must_roll_back(error: DatabaseError) -> bool:
    """Returns true if XA END was refused because the server has made the branch one that can only be rolled back."""
    return error.sqlcode in _ROLLBACK_ONLY


def may_roll_back(error: DatabaseError) -> bool:
    """Returns true if XA ROLLBACK may be executed though XA END was refused, also since the branch has ended."""
    return must_roll_back(error) or error.sqlcode in _NOT_ACTIVE


def recovered(rows: Iterable[Any] | None) -> list[Xid]:
    """The ids that XA RECOVER has returned, except those that are not UTF-8: no program with these methods has made
    them."""
    found: list[Xid] = []
    for format_id, gtrid_length, bqual_length, data in rows or ():
        data = data if isinstance(data, bytes) else str(data).encode()
        try:
            gtrid = data[:gtrid_length].decode()
            bqual = data[gtrid_length : gtrid_length + bqual_length].decode()
            found.append(Xid(format_id, gtrid, bqual))
        except (UnicodeDecodeError, ProgrammingError):
            continue
    return found
