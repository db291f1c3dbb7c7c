"""A small site on a backend with a pool: what it promises is asserted here. The database is in DJANGO_DATABASE."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import threading
import traceback
from collections.abc import Callable

import django
from django.conf import settings

settings.configure(DATABASES={"default": json.loads(os.environ["DJANGO_DATABASE"])}, USE_TZ=True)
django.setup()

from asgiref.sync import ThreadSensitiveContext, sync_to_async  # noqa: E402
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


def left_by_threads() -> None:
    """Threads end without giving their connections back, more than the pool has: it gets them back."""

    def left() -> None:
        transaction.set_autocommit(False)
        Counter.objects.update(count=-1)

    for _ in range(MOST + 1):
        # Nothing else finds it: the wrapper of a thread is a part of a cycle.
        thread = threading.Thread(target=left)
        thread.start()
        thread.join()
    assert connection.pool.stats().in_use == 0


async def left_by_tasks() -> None:
    """Tasks outlive their requests, which were cancelled, and go on in threads that nothing ends: as above."""

    async def goes_on(over: asyncio.Event) -> None:
        await over.wait()
        await sync_to_async(Counter.objects.update)(count=0)
        await sync_to_async(lambda: None)()

    never = asyncio.Event()
    # Waits for the client to say more, and keeps the request's context, and so its thread.
    listening = []
    for _ in range(MOST + 1):
        over = asyncio.Event()
        async with ThreadSensitiveContext():
            listening.append(asyncio.create_task(never.wait()))
            task = asyncio.create_task(goes_on(over))
        over.set()
        await task
    assert connection.pool.stats().in_use == 0
    never.set()
    await asyncio.gather(*listening)


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


def database() -> str:
    """The name of the database that the next connection is to."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_database()" if connection.vendor == "postgresql" else "SELECT database()")
        name: str = cursor.fetchone()[0]
    connections.close_all()
    return name


def in_child(work: Callable[[], None]) -> None:
    """Runs this in a process that is forked from this one."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def databases_of_tests() -> None:
    """A pool that is open when a process forks, or when Django's tests change the database, is not used then."""
    name = database()
    assert connection.pool.stats().size >= 1
    in_child(lambda: assert_is(database(), name))
    creation = connection.creation
    creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    assert_is(database(), f"test_{name}")
    if connection.vendor == "postgresql" or shutil.which("mysqldump"):
        creation.clone_test_db("1", verbosity=0, autoclobber=True)
        assert_is(database(), f"test_{name}")

        def worker() -> None:
            creation.setup_worker_connection(1)
            assert_is(database(), f"test_{name}_1")
            connection.close_pool()

        in_child(worker)
        creation.destroy_test_db(f"test_{name}", verbosity=0, suffix="1")
    creation.destroy_test_db(name, verbosity=0)
    assert_is(database(), name)


def assert_is(found: str, expected: str) -> None:
    """Two texts are the same."""
    assert found == expected, (found, expected)


with connection.schema_editor() as editor:
    editor.create_model(Counter)
Counter.objects.create()
connections.close_all()
if connection.vendor == "postgresql":
    # MySQL and MariaDB keep the rest of the block.
    failed_inside()
databases_of_tests()
left_by_threads()
asyncio.run(left_by_tasks())
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
