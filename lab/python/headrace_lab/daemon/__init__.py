"""The race of the daemon: clients that reach PostgreSQL directly, through headraced and through PgBouncer."""

from .race import CLIENTS, FULL, SHORT, SIDES, Plan, race
from .workloads import WORKLOADS

__all__ = ["CLIENTS", "FULL", "SHORT", "SIDES", "WORKLOADS", "Plan", "race"]
