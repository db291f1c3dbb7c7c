"""MySQL's server: the system's, or the one of a Debian suite that has it, in a folder of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Final

import headrace.testing
from headrace.testing import MySQLInstallation, MySQLServer, ServerUnavailable

from .debian import debian_package

SUITE: Final = "sid"
"""Debian's suite that has MySQL; its stable ones have MariaDB only."""
PACKAGE: Final = "mysql-server-core"
NOT_NEEDED: Final = ("perl*", "libperl*")
"""Dependencies of the package that are there for a script only."""


def installation() -> MySQLInstallation:
    """The system's MySQL, or Debian's. Raises ServerUnavailable."""
    try:
        return MySQLInstallation.found()
    except ServerUnavailable as missing:
        try:
            unpacked = debian_package(SUITE, PACKAGE, without=NOT_NEEDED)
        except ServerUnavailable as error:
            raise ServerUnavailable(f"{missing}. {error}") from None
        return MySQLInstallation(str(unpacked.program("mysqld")), unpacked.home)


@contextlib.contextmanager
def start_mysql(*, settings: Mapping[str, str] | None = None, tls: bool = False) -> Iterator[MySQLServer]:
    """:func:`headrace.testing.mysql` with :func:`installation`."""
    with headrace.testing.mysql(settings=settings, tls=tls, installation=installation()) as server:
        yield server
