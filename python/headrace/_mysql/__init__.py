"""MySQL and MariaDB: what :mod:`headrace.mysql` and :mod:`headrace.aio.mysql` share."""
