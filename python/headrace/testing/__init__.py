"""Database servers for tests, started and ended by the test itself."""

from headrace.testing.informix import InformixServer, informix

__all__ = ["InformixServer", "informix"]
