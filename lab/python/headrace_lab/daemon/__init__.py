"""The race of the daemon: clients that reach PostgreSQL directly, through headraced and through PgBouncer."""

from .race import CLIENTS, QUICK_ROUNDS, ROUNDS, SIDES, Plan, race
from .workloads import WORKLOADS

__all__ = ["CLIENTS", "QUICK_ROUNDS", "ROUNDS", "SIDES", "WORKLOADS", "Plan", "race"]
