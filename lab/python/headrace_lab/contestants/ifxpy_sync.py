"""IfxPy: IBM's C driver, on IBM's ODBC libraries.

It installs on few interpreters, so HEADRACE_IFXPY_PYTHON names one that has it, and headrace-lab;
the libraries are found by CSDK_HOME or INFORMIXDIR. It connects to genuine servers only: the test server does not have
the login of IBM's C clients.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib
import os
import sys
from pathlib import Path
from typing import Any

from ..link_informix import given
from .mysqldb_like import MySqlDbLike

ODBC_LIBRARY = "libthcli.so"
"""The library of IBM's client SDK that IfxPy stands on."""


def missing() -> str | None:
    """What this interpreter lacks, in a line; None where it has all."""
    homes = [os.environ[name] for name in ("CSDK_HOME", "INFORMIXDIR") if os.environ.get(name)]
    places = [Path(home, "lib", part, ODBC_LIBRARY) for home in homes for part in ("", "cli", "esql")]
    found: str | None = next((str(place) for place in places if place.exists()), None)
    try:
        ctypes.CDLL(found or ODBC_LIBRARY)
    except OSError:
        return f"IBM's ODBC library {ODBC_LIBRARY} is missing: CSDK_HOME and LD_LIBRARY_PATH name the client SDK's"
    try:
        importlib.import_module("IfxPyDbi")
    except ImportError as error:
        return f"{sys.executable} has no IfxPy ({error}): HEADRACE_IFXPY_PYTHON names one that has it"
    return None


class Contestant(MySqlDbLike):
    package = "IfxPy"
    options = "IfxPyDbi: ODBC, prepared by executemany only"
    mark = "?"
    batches = "one by one"

    def start(self) -> None:
        lacks = missing()
        if lacks is not None:
            raise RuntimeError(lacks)
        super().start()

    def connected(self) -> Any:
        to = given(self.url)
        words = {
            "SERVER": to["server"],
            "DATABASE": to["database"],
            "HOST": to["host"],
            "SERVICE": to["port"],
            "UID": to["user"],
            "PWD": to["password"],
            "PROTOCOL": "onsoctcp",
            **to["environment"],
        }
        driver = importlib.import_module("IfxPyDbi")
        conn = driver.connect("".join(f"{name}={value};" for name, value in words.items()), "", "")
        conn.set_autocommit(True)
        return conn

    def begin(self, cursor: Any) -> None:
        self.conn.set_autocommit(False)

    def commit(self, cursor: Any) -> None:
        self.conn.commit()
        self.conn.set_autocommit(True)
