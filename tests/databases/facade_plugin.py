"""A pytest plugin for mysqlclient's own tests: they get headrace's MySQLdb, and the server of the run."""

from __future__ import annotations

import json
import os
import sys

import headrace.compat.mysqldb

headrace.compat.mysqldb.install_as_MySQLdb()
sys.path.insert(0, os.environ["MYSQLCLIENT_TESTS"])

import configdb  # noqa: E402

configdb.connect_kwargs = json.loads(os.environ["MYSQLCLIENT_CONNECT"])
