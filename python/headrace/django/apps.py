"""The app ``headrace.django``: its import lets Django's modules for PostgreSQL be used without psycopg."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

from django.apps import AppConfig

from .postgresql.takeover import install

install()


class HeadraceConfig(AppConfig):
    """Has no models. It stands before ``django.contrib.postgres``, which imports psycopg otherwise."""

    name = "headrace.django"
    label = "headrace_django"
    verbose_name = "headrace"
