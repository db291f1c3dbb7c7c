"""Django's PostgreSQL backend on :mod:`headrace.postgres`.

The backend is Django's own. Its modules, and those of ``django.contrib.postgres``, import psycopg by name:
``takeover`` executes them with the few classes of ``standin`` in its place, and ``base`` is the subclass that connects
by headrace.
"""
