"""Values of Django's fields on Informix and CUBRID that need SQL of their own. The database is in DJANGO_DATABASE."""

from __future__ import annotations

import datetime as dt
import json
import os
from decimal import Decimal

import django
from django.conf import settings

settings.configure(DATABASES={"default": json.loads(os.environ["DJANGO_DATABASE"])}, USE_TZ=False)
django.setup()

from django.core import checks  # noqa: E402
from django.db import NotSupportedError, connection, models  # noqa: E402
from django.db.models import DurationField, ExpressionWrapper, F, Value  # noqa: E402
from django.db.models.fields.json import KT  # noqa: E402
from django.db.models.functions import Concat  # noqa: E402

INFORMIX = connection.vendor == "informix"


class Small(models.Model):
    """Has a small key."""

    id = models.SmallAutoField(primary_key=True)

    class Meta:
        app_label = "values"


class Kind(models.Model):
    """Has a key of text."""

    id = models.CharField(max_length=100, primary_key=True)

    class Meta:
        app_label = "values"


class Run(models.Model):
    """Has two times of each kind, and a document."""

    small = models.ForeignKey(Small, models.CASCADE)
    number = models.SmallIntegerField(default=-1)
    begin = models.DateTimeField()
    end = models.DateTimeField()
    first = models.DateField()
    last = models.DateField()
    opens = models.TimeField()
    closes = models.TimeField()
    document = models.JSONField(null=True)
    name = models.CharField(max_length=20, null=True)
    price = models.DecimalField(max_digits=8, decimal_places=2, null=True)
    file = models.FileField(max_length=120, null=True)
    path = models.FilePathField(max_length=120, null=True)
    kind = models.ForeignKey(Kind, models.CASCADE, null=True)

    class Meta:
        app_label = "values"


BEGIN, END = dt.datetime(1969, 12, 31, 23, 59, 59, 999000), dt.datetime(2024, 2, 29, 0, 0, 0, 1000)
OPENS, CLOSES = dt.time(23, 59, 59), dt.time(0, 0, 1)
DOCUMENT = {"a": [1, None, "é"], "b": {"c": 1.5}}


def duration(later: str, earlier: str) -> ExpressionWrapper:
    """A difference."""
    return ExpressionWrapper(F(later) - F(earlier), output_field=DurationField())


def differences() -> None:
    """The differences of times are those of Python, also those beyond 31 years, and negative ones."""
    spans = {"times": duration("end", "begin"), "back": duration("begin", "end"), "days": duration("last", "first")}
    clocks = {"clock": duration("closes", "opens")}
    (found,) = Run.objects.annotate(**spans, **clocks).values(*spans, *clocks)
    clock = dt.datetime.combine(BEGIN, CLOSES) - dt.datetime.combine(BEGIN, OPENS)
    days = END.date() - BEGIN.date()
    assert found == {"times": END - BEGIN, "back": BEGIN - END, "days": days, "clock": clock}, found
    assert Run.objects.annotate(**spans).filter(times__gt=END - BEGIN - dt.timedelta(milliseconds=1)).count() == 1
    assert Run.objects.annotate(**spans).filter(times__gt=END - BEGIN).count() == 0


def weeks() -> None:
    """Weeks are those of ISO 8601 where a year begins and ends, too."""
    run = Run.objects.get()
    for year in range(2014, 2026):
        for day in (dt.date(year, 1, 1), dt.date(year, 1, 4), dt.date(year, 12, 28), dt.date(year, 12, 31)):
            Run.objects.update(first=day, begin=dt.datetime.combine(day, CLOSES))
            expected = day.isocalendar()[:2]
            for field in ("first", "begin"):
                found = Run.objects.values_list(f"{field}__iso_year", f"{field}__week").get()
                assert found == expected, (field, day, found, expected)
            assert Run.objects.filter(first__week=expected[1], begin__week=expected[1]).exists(), day
    run.save()


def texts() -> None:
    """NULL is nothing in a longer text, and dates are texts as in ISO 8601."""
    Run.objects.update(name=None, price=None, first=dt.date(2024, 2, 29), begin=END, opens=OPENS)
    pairs = {"empty": Concat("name", "name"), "some": Concat(Value("<"), "name", Value(">"))}
    pairs["counted"] = Concat(Value("no. "), "number", Value("!"), output_field=models.CharField())
    assert Run.objects.values(**pairs).get() == {"empty": "", "some": "<>", "counted": "no. -1!"}
    long_texts()
    if INFORMIX:
        return
    for pattern in (
        {"first__startswith": "2024-02"},
        {"begin__contains": "02-29 00:00"},
        {"opens__endswith": "59:59"},
        {"begin__regex": "^2024-02-29 00"},
    ):
        assert Run.objects.filter(**pattern).count() == 1, pattern
    assert Run.objects.filter(first__startswith="2023").count() == 0


def long_texts() -> None:
    """Texts of all kinds of fields keep their length in a longer text."""
    text = "x" * 90
    Run.objects.update(file=text, path=text, kind=Kind.objects.create(id=text), document={"a": text})
    for field in ("file", "path", "kind", "kind_id", "document"):
        pair = Concat(Value("<"), field, Value(">"), output_field=models.TextField())
        found = Run.objects.annotate(pair=pair).values_list("pair", flat=True).get()
        assert (found[0], found[-1]) == ("<", ">"), (field, found)
        inside = json.loads(found[1:-1])["a"] if field == "document" else found[1:-1]
        assert inside == text, (field, found)
    Run.objects.update(kind=None, document=DOCUMENT)


def averages() -> None:
    """The average of decimal numbers is one, also where the server makes a DOUBLE of it."""
    Run.objects.update(price=Decimal("23.09"))
    assert Run.objects.aggregate(mean=models.Avg("price"))["mean"] == Decimal("23.09")


def documents() -> None:
    """A document is stored and read; Informix does not look into it."""
    run = Run.objects.get()
    assert run.document == DOCUMENT
    run.document = None
    run.save()
    assert Run.objects.filter(document__isnull=True).count() == 1
    if not INFORMIX:
        Run.objects.update(document={"a": {"b": "x y"}})
        texts = {"text": KT("document__a__b")}
        assert Run.objects.annotate(**texts).values("text").get() == {"text": "x y"}
        assert Run.objects.filter(document__a__b__startswith="x").count() == 1
    Run.objects.update(document={"a": 2})
    assert list(Run.objects.values_list("document", flat=True)) == [{"a": 2}]
    for inside in (
        Run.objects.filter(document__has_key="a"),
        Run.objects.filter(document__a=2),
        Run.objects.filter(document={"a": 2}),
        Run.objects.filter(document__contains={"a": 2}),
        Run.objects.values("document__a"),
    ):
        if INFORMIX:
            try:
                list(inside)
            except NotSupportedError:
                continue
            raise AssertionError(str(inside.query))


def main() -> None:
    """Makes the tables, and drops them."""
    assert not [one for one in checks.run_checks(databases=["default"]) if one.level >= checks.ERROR]
    with connection.schema_editor() as editor:
        editor.create_model(Small)
        editor.create_model(Kind)
        editor.create_model(Run)
    try:
        small = Small.objects.create()
        given = {
            "begin": BEGIN,
            "end": END,
            "first": BEGIN.date(),
            "last": END.date(),
            "opens": OPENS,
            "closes": CLOSES,
        }
        run = Run.objects.create(small=small, document=DOCUMENT, **given)
        assert Run.objects.select_related("small").get().small == small
        with connection.cursor() as cursor:
            types = {row.name: row for row in connection.introspection.get_table_description(cursor, "values_run")}
            assert types["number"].type_code != types["small_id"].type_code or not INFORMIX, types
        differences()
        weeks()
        texts()
        averages()
        documents()
        run.delete()
    finally:
        with connection.schema_editor() as editor:
            editor.delete_model(Run)
            editor.delete_model(Kind)
            editor.delete_model(Small)
    print("ok")


main()
