"""A small site on a backend with a pool: what it promises is asserted here. The database is in DJANGO_DATABASE."""

from __future__ import annotations

import contextlib
import json
import os
import threading

import django
from django.conf import settings

settings.configure(DATABASES={"default": json.loads(os.environ["DJANGO_DATABASE"])}, USE_TZ=True)
django.setup()

from django.db import DatabaseError, connection, connections, models, transaction  # noqa: E402
from django.db.models import F  # noqa: E402

THREADS, MOST, TIMES = 12, 3, 10


class Counter(models.Model):
    """Counts."""

    count = models.IntegerField(default=0)

    class Meta:
        app_label = "site"


def requests() -> None:
    """Several requests of one thread, each with a connection of the pool."""
    for _ in range(TIMES):
        with transaction.atomic():
            Counter.objects.update(count=F("count") + 1)
        connections.close_all()


def abandoned() -> None:
    """A request that leaves its transaction open."""
    transaction.set_autocommit(False)
    Counter.objects.update(count=-1)
    connections.close_all()


def failed_inside() -> None:
    """A statement of an atomic() block fails, and the block catches the error: nothing of the block stays."""
    called: list[str] = []
    with transaction.atomic():
        Counter.objects.update(count=-1)
        transaction.on_commit(lambda: called.append("hook"))
        with contextlib.suppress(DatabaseError), connection.cursor() as cursor:
            cursor.execute("SELECT 1/0")
    assert not called
    transaction.set_autocommit(False)
    with contextlib.suppress(DatabaseError), connection.cursor() as cursor:
        cursor.execute("SELECT 1/0")
    try:
        transaction.commit()
    except DatabaseError:
        transaction.rollback()
        transaction.set_autocommit(True)
    else:
        raise AssertionError("a commit that the program has called and that was none")
    with transaction.atomic():
        transaction.on_commit(lambda: called.append("hook"))
    assert called == ["hook"]
    connections.close_all()


with connection.schema_editor() as editor:
    editor.create_model(Counter)
Counter.objects.create()
connections.close_all()
if connection.vendor == "postgresql":
    # MySQL and MariaDB keep the rest of the block.
    failed_inside()
for work, number in ((requests, THREADS), (abandoned, 1)):
    threads = [threading.Thread(target=work) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
assert [row.count for row in Counter.objects.all()] == [THREADS * TIMES]
stats = connection.pool.stats()
assert stats.size <= MOST, stats
assert stats.in_use == 1, stats
with connection.schema_editor() as editor:
    editor.delete_model(Counter)
connections.close_all()
assert connection.pool.stats().in_use == 0
connection.close_pool()
print("ok")
