"""What of Django keeps a server connection: prints the name of each step, and waits for a line.

python keeping_django.py FOLDER DATABASE
"""

from __future__ import annotations

import sys

import django
from django.conf import settings

settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "HOST": sys.argv[1],
            "PORT": 5432,
            "NAME": sys.argv[2],
            "USER": "anyone",
            "CONN_MAX_AGE": 600,
            "CONN_HEALTH_CHECKS": True,
            "OPTIONS": {"server_side_binding": True},
        }
    },
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
)
django.setup()

from django.contrib.auth.models import Group  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection, transaction  # noqa: E402


def step(name: str) -> None:
    """The test looks."""
    print(name, flush=True)
    sys.stdin.readline()


call_command("migrate", verbosity=0)
Group.objects.bulk_create(Group(name=f"group {number}") for number in range(100))
assert Group.objects.filter(name__startswith="group 1").count() == 11
step("queries")
with transaction.atomic():
    Group.objects.select_for_update().get(name="group 1")
    step("transaction")
    rows = Group.objects.iterator(chunk_size=10)
    next(rows)
step("after it")
rows = Group.objects.iterator(chunk_size=10)
next(rows)
step("iterator")
list(rows)
step("at its end")
rows = Group.objects.iterator(chunk_size=10)
next(rows)
rows.close()
step("closed")
with connection.cursor() as cursor:
    cursor.execute("set statement_timeout = 5000")
    step("statement_timeout")
    cursor.execute("select pg_advisory_lock(7)")
    step("lock")
    cursor.execute("select pg_advisory_unlock(7)")
    step("unlock")
call_command("migrate", "auth", "zero", verbosity=0)
call_command("migrate", "contenttypes", "zero", verbosity=0)
with connection.cursor() as cursor:
    cursor.execute("drop table django_migrations")
