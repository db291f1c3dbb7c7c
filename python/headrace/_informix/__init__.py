"""Informix: what :mod:`headrace.informix` and :mod:`headrace.aio.informix` share."""
