"""A pytest plugin for SQLAlchemy's own tests: ``mysql+mysqldb`` gets headrace's MySQLdb."""

from __future__ import annotations

import headrace.compat.mysqldb

headrace.compat.mysqldb.install_as_MySQLdb()
