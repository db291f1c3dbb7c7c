"""A genuine Informix or CUBRID that the behaviour tests run on, where ``HEADRACE_INFORMIX_URL`` or
``HEADRACE_CUBRID_URL`` names one (make test-live)."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import headrace.cubrid
import headrace.informix
import headrace.testing
from headrace import errors
from headrace.informix.parse import parse
from headrace.testing import InformixServer
from headrace_lab.differences import DIFFERENCES

URL = os.environ.get("HEADRACE_INFORMIX_URL", "")

CUBRID_URL = os.environ.get("HEADRACE_CUBRID_URL", "")

TESTED = tuple(DIFFERENCES)
"""The databases that the shared tests run on."""

PREFIX = f"hr{int(time.time()) % 10**7}_" if URL else "t_"
"""What the names of the tests' tables begin with: no other's, and no earlier run's, on a server that stays."""


@dataclass(frozen=True)
class LiveServer(InformixServer):
    """A server that was there before the tests."""

    more: dict[str, Any] = field(default_factory=dict[str, Any])

    def parameters(self) -> Any:
        """The keyword arguments of ``connect``."""
        return {**super().parameters(), **self.more}


def live_server() -> LiveServer:
    """The server that the URL names."""
    given = {name: value for name, value in parse(URL) if value is not None}
    wanted = ("host", "port", "user", "password", "database", "server")
    missing = [name for name in wanted if not given.get(name)]
    if missing:
        raise SystemExit(
            f"INFORMIX_URL names no {', '.join(missing)}: informix://user:password@host:9088/database?server=name"
        )
    return LiveServer(
        **{name: given.pop(name) for name in wanted},
        more={name: value for name, value in given.items() if name in ("sslmode", "sslrootcert") or name.isupper()},
    )


ROWS_OF_NUMBERS = 1000
"""Of the table ``numbers``, whose numbers begin with 0."""


@contextlib.contextmanager
def cubrid_url() -> Iterator[str]:
    """The URL of the CUBRID test server, or of the genuine server that ``HEADRACE_CUBRID_URL`` names, with a table
    ``numbers`` of ``ROWS_OF_NUMBERS`` rows."""
    with contextlib.ExitStack() as stack:
        url = CUBRID_URL or stack.enter_context(headrace.testing.cubrid()).url
        with headrace.cubrid.connect(url, autocommit=True) as admin:
            admin.execute("drop table if exists numbers")
            admin.execute("create table numbers (n int primary key)")
            admin.executemany("insert into numbers values (?)", [(n,) for n in range(ROWS_OF_NUMBERS)])
        yield url


@contextlib.contextmanager
def cleaned(server: LiveServer) -> Iterator[LiveServer]:
    """The server, from which what the tests made is removed afterwards."""
    yield server
    with headrace.informix.connect(**server.parameters(), autocommit=True, lock_wait=10) as admin:
        for kind, sql in (
            ("table", "select tabname from systables where tabname like ? and tabtype = 'T'"),
            ("routine", "select procname from sysprocedures where procname like ?"),
            ("type", "select name from sysxtdtypes where name like ?"),
        ):
            try:
                names = {name.strip() for (name,) in admin.fetch(sql, PREFIX + "%")}
            except errors.UndefinedTable:
                continue
            for name in names:
                with contextlib.suppress(errors.Error):
                    admin.execute(f"drop {kind} {name}{' restrict' if kind == 'type' else ''}")
