"""The race across databases: five workloads, statement by statement, on each database through our driver and through
its usual one."""

from .databases import DATABASES, HEADRACE
from .race import Plan, race
from .workloads import CHANGED, ROUNDS, ROWS, WORKLOADS

__all__ = ["CHANGED", "DATABASES", "HEADRACE", "ROUNDS", "ROWS", "WORKLOADS", "Plan", "race"]
