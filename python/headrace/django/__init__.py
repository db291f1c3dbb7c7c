"""Database backends for Django: ``ENGINE`` is ``headrace.django.postgresql``, ``headrace.django.mysql``,
``headrace.django.informix`` or ``headrace.django.cubrid``.

As an app, ``"headrace.django"`` in ``INSTALLED_APPS`` before ``"django.contrib.postgres"``, it lets the latter be used
without psycopg. Nothing of Django is imported before one of these is used.
"""
