"""A small site under load: many requests at a time, of which some are cancelled. It asserts that no money is lost, and
that no connection stays behind. The database is in DJANGO_DATABASE, as JSON; LOAD_SECONDS is how long it takes.

ASGI: each request is cancelled by a client that goes, or as a server does that stops. WSGI: threads, for CONN_MAX_AGE.
"""

from __future__ import annotations

import asyncio
import collections
import gc
import json
import os
import random
import sys
import threading
import time
from typing import Any
from wsgiref.util import setup_testing_defaults

import django
from django.conf import settings

DATABASE = json.loads(os.environ["DJANGO_DATABASE"])
SECONDS = float(os.environ.get("LOAD_SECONDS", "5"))
CLIENTS = 12
ACCOUNTS, FIRST = 8, 1000
"""How many there are, and what is in each at the beginning."""
PATIENCE = 0.4
"""The longest that a client waits who goes, in seconds: a slow answer takes 0.3."""
SETTLING = 30.0
"""How long threads of cancelled requests may take to end what they do, in seconds."""
settings.configure(
    DATABASES={"default": DATABASE},
    USE_TZ=True,
    ROOT_URLCONF="__main__",
    ALLOWED_HOSTS=["*"],
    SECRET_KEY="of a test",
    LOGGING_CONFIG=None,
)
django.setup()

from asgiref.sync import sync_to_async  # noqa: E402
from django.core.asgi import get_asgi_application  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.db import connection, connections, models, transaction  # noqa: E402
from django.db.models import F, Sum  # noqa: E402
from django.http import HttpRequest, HttpResponse  # noqa: E402
from django.urls import path  # noqa: E402

SLOW = {
    "postgresql": "SELECT pg_sleep(0.3)",
    "mysql": "SELECT sleep(0.3)",
    "informix": "SELECT ifx_sleep(0.3) FROM sysmaster:sysdual",
    "cubrid": "SELECT SLEEP(0.3)",
}[connection.vendor]
OTHERS = {
    "postgresql": (
        "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
        "AND backend_type = 'client backend'"
    ),
    "mysql": "FROM information_schema.processlist WHERE db = database() AND id <> connection_id()",
}
"""Which sessions of other connections a server has, where a statement asks for them."""
RUNNING = {
    "postgresql": f"SELECT count(*) {OTHERS['postgresql']} AND state <> 'idle'",
    "mysql": "SELECT count(*) FROM information_schema.innodb_trx",
}
"""How many transactions of others are open."""


class Account(models.Model):
    """Money of somebody."""

    balance = models.IntegerField(default=FIRST)

    class Meta:
        app_label = "site"


class Entry(models.Model):
    """A transfer that was made."""

    to = models.ForeignKey(Account, on_delete=models.CASCADE)
    amount = models.IntegerField()

    class Meta:
        app_label = "site"


def transfer(slowly: bool = False, fails: bool = False) -> None:
    """From one account to another, in the order of their keys, so that no two wait for each other."""
    giver, taker = sorted(random.sample(range(1, ACCOUNTS + 1), 2))
    amount = random.choice((-3, -2, -1, 1, 2, 3))
    with transaction.atomic():
        Account.objects.filter(pk=giver).update(balance=F("balance") - amount)
        Entry.objects.create(to_id=giver, amount=-amount)
        if slowly:
            with connection.cursor() as cursor:
                cursor.execute(SLOW)
        Account.objects.filter(pk=taker).update(balance=F("balance") + amount)
        Entry.objects.create(to_id=taker, amount=amount)
        if fails:
            Entry.objects.create(pk=Entry.objects.order_by("pk")[0].pk, to_id=taker, amount=1)


def fast(request: HttpRequest) -> HttpResponse:
    transfer()
    return HttpResponse("ok")


def failing(request: HttpRequest) -> HttpResponse:
    try:
        transfer(fails=True)
    except django.db.IntegrityError:
        return HttpResponse("refused")
    raise AssertionError("a key was taken twice")


def reading(request: HttpRequest) -> HttpResponse:
    return HttpResponse(str(sum(entry.amount for entry in Entry.objects.all()[:300].iterator(chunk_size=100))))


def slow(request: HttpRequest) -> HttpResponse:
    transfer(slowly=True)
    return HttpResponse("ok")


async def slow_async(request: HttpRequest) -> HttpResponse:
    await sync_to_async(transfer)(slowly=True)
    return HttpResponse("ok")


async def reading_async(request: HttpRequest) -> HttpResponse:
    total = 0
    async for account in Account.objects.all():
        total += account.balance
    await Account.objects.acount()
    return HttpResponse(str(total))


VIEWS = [fast, failing, reading, slow, slow_async, reading_async]
urlpatterns = [path(view.__name__, view) for view in VIEWS]
answers: collections.Counter[str] = collections.Counter()


async def asked(application: Any, view: str, patience: float | None) -> None:
    """One request; with patience, of a client who goes after so many seconds."""
    gone, first = asyncio.Event(), True

    async def receive() -> dict[str, Any]:
        nonlocal first
        if first:
            first = False
            return {"type": "http.request", "body": b""}
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            answers[f"{view} {message['status']}"] += 1

    scope = {
        "type": "http", "http_version": "1.1", "method": "GET", "path": f"/{view}", "query_string": b"",
        "headers": [(b"host", b"localhost")],
    }  # fmt: skip
    task = asyncio.create_task(application(scope, receive, send))
    if patience is not None:
        done, _ = await asyncio.wait({task}, timeout=patience)
        if not done:
            answers["gone"] += 1
            if random.random() < 0.5:
                gone.set()
            else:
                task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    if not task.cancelled() and (error := task.exception()) is not None:
        raise error


async def asgi() -> None:
    application: Any = get_asgi_application()
    end = time.monotonic() + SECONDS

    async def client() -> None:
        while time.monotonic() < end:
            patience = random.uniform(0, PATIENCE) if random.random() < 0.4 else None
            await asked(application, random.choice(VIEWS).__name__, patience)

    await asyncio.gather(*(client() for _ in range(CLIENTS)))


def wsgi() -> None:
    application: Any = get_wsgi_application()
    end = time.monotonic() + SECONDS
    failures: list[BaseException] = []

    def client() -> None:
        try:
            while time.monotonic() < end:
                view = random.choice(VIEWS).__name__
                environ: dict[str, Any] = {"PATH_INFO": f"/{view}"}
                setup_testing_defaults(environ)
                response = application(environ, lambda *arguments: None)
                answers[f"{view} {response.status_code}"] += 1
                response.close()
        except BaseException as error:
            failures.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=client) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def one(sql: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        value: int = cursor.fetchone()[0]
    return value


def settled() -> int:
    """How many sessions of other connections are left, when no transaction of theirs is open."""
    end = time.monotonic() + SETTLING
    if connection.vendor not in RUNNING:
        # The servers of tests have one writer at a time: this one waits for all others.
        with transaction.atomic():
            Account.objects.update(balance=F("balance"))
        # A thread closes its connection after its transaction's end.
        while opened() - 1 > allowed() and time.monotonic() < end:
            time.sleep(0.05)
        return opened() - 1
    while one(RUNNING[connection.vendor]):
        assert time.monotonic() < end, "a transaction was left open"
        time.sleep(0.05)
    return one(f"SELECT count(*) {OTHERS[connection.vendor]}")


def opened() -> int:
    """How many connections of the driver this process has open. Nothing is collected for it."""
    kind = connection.Database.Connection
    return sum(isinstance(found, kind) and not found.closed for found in gc.get_objects())


def allowed() -> int:
    """How many connections besides this thread's may be open after the load: those that the pool keeps."""
    return int(DATABASE["OPTIONS"]["pool"]["max_size"]) - 1 if getattr(connection, "pool", None) is not None else 0


def main() -> None:
    with connection.schema_editor() as editor:
        editor.create_model(Account)
        editor.create_model(Entry)
    try:
        Account.objects.bulk_create(Account(pk=n) for n in range(1, ACCOUNTS + 1))
        Entry.objects.create(to_id=1, amount=0)
        connections.close_all()
        before = settled()
        connections.close_all()
        if "wsgi" in sys.argv:
            wsgi()
        else:
            asyncio.run(asgi())
        left = settled() - before
        received = dict(Entry.objects.order_by().values_list("to").annotate(Sum("amount")))
        for account in Account.objects.all():
            assert account.balance == FIRST + received.get(account.pk, 0), account.pk
        assert Account.objects.aggregate(all=Sum("balance"))["all"] == ACCOUNTS * FIRST
        assert all(name.endswith(" 200") or name == "gone" for name in answers), answers
        if getattr(connection, "pool", None) is not None or "wsgi" in sys.argv or not DATABASE.get("CONN_MAX_AGE"):
            assert left <= allowed(), left
        print(json.dumps({"sessions left": left, **dict(sorted(answers.items()))}))
    finally:
        with connection.schema_editor() as editor:
            editor.delete_model(Entry)
            editor.delete_model(Account)
        connections.close_all()
        if getattr(connection, "pool", None) is not None:
            connection.close_pool()
    print("ok")


main()
