"""Settings for Django's own tests on headrace's backends.

The database is in DJANGO_DATABASE, as JSON; the second one that they need is another in its server, or in DJANGO_OTHER.
"""

from __future__ import annotations

import json
import os
from typing import Any

_database: dict[str, Any] = json.loads(os.environ["DJANGO_DATABASE"])
if _database["ENGINE"] == "headrace.django.postgresql":
    from headrace.django.postgresql.takeover import install

    install()
DATABASES = {alias: {**_database, "NAME": f"{_database['NAME']}_{alias}"} for alias in ("default", "other")}
if "DJANGO_OTHER" in os.environ:
    DATABASES = {"default": _database, "other": json.loads(os.environ["DJANGO_OTHER"])}
SECRET_KEY = "of a test"
USE_TZ = False
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
