"""The protocol's numbers, by the names that MySQLdb gives them."""

from . import CLIENT, CR, ER, FIELD_TYPE, FLAG

__all__ = ["CLIENT", "CR", "ER", "FIELD_TYPE", "FLAG"]
