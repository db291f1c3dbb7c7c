"""The contestants: one small file each. To add one, write a module with a class ``Contestant`` and name it here; or
name a module of your own in HEADRACE_CONTESTANTS (``mydriver=my_module,other=package.module``)."""

from __future__ import annotations

import importlib
import os
from typing import Any

from ..workloads import ARROW, IN_THREADS, ON_LOOPS, PARTITIONS, SERVICE, Sql

_OURS = {
    "headrace": "headrace_sync",
    "headrace-async": "headrace_async",
    "headrace-uvloop": "headrace_async",
}
_MYSQL = {
    **_OURS,
    "floor": "floor_mysql",
    "mysqlclient": "mysqlclient_sync",
    "mariadb": "mariadb_sync",
    "pymysql": "pymysql_sync",
    "mysql-connector": "mysql_connector_sync",
    "asyncmy": "asyncmy_async",
    "asyncmy-uvloop": "asyncmy_async",
    "connectorx": "connectorx_sync",
    "polars": "polars_sync",
}
_INFORMIX = {
    **_OURS,
    "floor": "floor_informix",
    "informix-driver": "informix_driver_sync",
    "informix-driver-async": "informix_driver_async",
    "ifxpy": "ifxpy_sync",
}
_CUBRID = {
    **_OURS,
    "floor": "floor_cubrid",
    "pycubrid": "pycubrid_sync",
    "pycubrid-prepared": "pycubrid_prepared",
    "pycubrid-async": "pycubrid_async",
}
_POSTGRESQL = {
    **_OURS,
    "floor": "floor",
    "psycopg": "psycopg_sync",
    "psycopg-async": "psycopg_async",
    "psycopg-uvloop": "psycopg_async",
    "asyncpg": "asyncpg_async",
    "asyncpg-uvloop": "asyncpg_async",
    "psqlpy": "psqlpy_async",
    "pg8000": "pg8000_sync",
    "adbc": "adbc_sync",
    "connectorx": "connectorx_sync",
    "polars": "polars_sync",
}

MODULES = {
    "postgresql": _POSTGRESQL,
    "mariadb": _MYSQL,
    "mysql": _MYSQL,
    "informix": _INFORMIX,
    "cubrid": _CUBRID,
}

ARROW_ONLY = ("adbc", "connectorx", "polars")
"""Contestants that have no rows, and take part in the workloads of Arrow alone."""
SERVICE_ONLY = ("psycopg-async", "psycopg-uvloop", "asyncmy-uvloop")
"""Contestants that take part in the workloads of a web service alone: another form of theirs is in the others."""
READ_PARTS = ("floor", "headrace", "connectorx")
"""Contestants that read a table in parts, at the same time. polars does it by connectorx."""
ON_A_LOOP = ("asyncpg", "psqlpy", "asyncmy")
"""Drivers on asyncio whose names do not show it."""


def takes_part(name: str, workload: str) -> bool:
    """Returns true if a contestant is started for a workload."""
    if workload in PARTITIONS:
        return name in READ_PARTS or not any(name in known for known in MODULES.values())
    if name in ARROW_ONLY:
        return workload in ARROW
    if name in SERVICE_ONLY and workload not in SERVICE:
        return False
    if workload in SERVICE and name != "floor" and any(name in known for known in MODULES.values()):
        return workload in (ON_LOOPS if is_on_loop(name) else IN_THREADS)
    return True


def is_on_loop(name: str) -> bool:
    """Returns true for a contestant on asyncio or uvloop."""
    return name in ON_A_LOOP or name.endswith(("-async", "-uvloop"))


def rival(name: str) -> str:
    """The form of headrace that another driver is compared with: on the same kind of loop, or blocking."""
    if name.endswith("-uvloop"):
        return "headrace-uvloop"
    return "headrace-async" if is_on_loop(name) else "headrace"


def known(database: str = "postgresql") -> dict[str, str]:
    """The module of each contestant by its name: in this package, or the user's own.

    Raises ValueError where HEADRACE_CONTESTANTS is not a list of ``name=module``.
    """
    found = {name: f"{__name__}.{module}" for name, module in MODULES[database].items()}
    for part in filter(None, os.environ.get("HEADRACE_CONTESTANTS", "").split(",")):
        name, equals, module = part.strip().partition("=")
        if not (name and equals and module):
            raise ValueError(f"HEADRACE_CONTESTANTS has {part!r}, which is not name=module")
        found[name] = module
    return found


def load(name: str, url: str, sql: Sql) -> Any:
    """The contestant of this name, connected to nothing yet."""
    module = importlib.import_module(known(sql.database)[name])
    return module.Contestant(url, sql, uvloop=name.endswith("-uvloop"))
