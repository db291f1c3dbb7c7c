"""The race of the daemon: clients that reach PostgreSQL directly, through headraced and through PgBouncer."""

from .race import CLIENTS, ROUNDS, SHORT_ROUNDS, SIDES, Plan, race
from .workloads import WORKLOADS

__all__ = ["CLIENTS", "ROUNDS", "SHORT_ROUNDS", "SIDES", "WORKLOADS", "Plan", "race"]
