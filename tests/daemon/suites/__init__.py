"""Test suites of other projects, run on PostgreSQL itself and through headraced, and what differs.

    cd tests && ../.venv/bin/python -m daemon.suites psycopg /path/to/psycopg --python /path/to/venv/bin/python

The sources are a checkout of the project; ``--python`` names an interpreter that has the driver and what its tests
need. Outcomes are kept in ``build/suites``, so that one way can be run again and compared with what is there.
"""
