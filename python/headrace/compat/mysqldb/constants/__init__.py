"""The protocol's numbers, by MySQLdb's names."""

from . import CLIENT, CR, ER, FIELD_TYPE, FLAG

__all__ = ["CLIENT", "CR", "ER", "FIELD_TYPE", "FLAG"]
