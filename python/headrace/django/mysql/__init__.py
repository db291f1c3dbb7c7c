"""Django's MySQL backend on headrace, for MySQL and MariaDB, with a pool.

The backend is Django's own on :mod:`headrace.compat.mysqldb`, which it finds as MySQLdb; ``base`` adds
``OPTIONS["pool"]``.
"""
