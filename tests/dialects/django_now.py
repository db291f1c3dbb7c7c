"""Now() on a server in another time zone. The database is in DJANGO_DATABASE."""

from __future__ import annotations

import datetime as dt
import json
import os

import django
from django.conf import settings

DATABASE = json.loads(os.environ["DJANGO_DATABASE"])
settings.configure(DATABASES={"default": DATABASE}, USE_TZ=True, TIME_ZONE="America/New_York")
django.setup()

from django.db import connection, models  # noqa: E402
from django.db.models.functions import Now  # noqa: E402
from django.utils import timezone  # noqa: E402


class Event(models.Model):
    """Has a time."""

    at = models.DateTimeField()

    class Meta:
        app_label = "now"


def main() -> None:
    """Makes a table, and drops it."""
    span = dt.timedelta(minutes=10)
    with connection.schema_editor() as editor:
        editor.create_model(Event)
    try:
        Event.objects.create(at=timezone.now() - span)
        assert Event.objects.filter(at__lte=Now(), at__gt=Now() - 2 * span).count() == 1
        assert abs(Event.objects.annotate(now=Now()).get().now - timezone.now()) < span
        Event.objects.update(at=Now())
        assert abs(Event.objects.get().at - timezone.now()) < span
    finally:
        with connection.schema_editor() as editor:
            editor.delete_model(Event)
    print("ok")


main()
