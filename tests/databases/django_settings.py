"""Settings for Django's own tests: its MySQL backend, unchanged, on headrace's MySQLdb."""

from __future__ import annotations

import json
import os
from typing import Any

import headrace.compat.mysqldb

headrace.compat.mysqldb.install_as_MySQLdb()

_server: dict[str, Any] = {"ENGINE": "django.db.backends.mysql", **json.loads(os.environ["DJANGO_SERVER"])}
DATABASES = {
    "default": {**_server, "NAME": "dj1", "TEST": {"CHARSET": "utf8mb4"}},
    "other": {**_server, "NAME": "dj2", "TEST": {"CHARSET": "utf8mb4"}},
}
SECRET_KEY = "of a test"
USE_TZ = False
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
