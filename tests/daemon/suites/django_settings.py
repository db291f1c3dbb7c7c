"""Settings of Django's own suite."""

import os

DATABASES = {
    alias: {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": os.environ["SUITES_DATABASE"],
        "USER": "postgres",
        "PASSWORD": os.environ["SUITES_PASSWORD"],
        "HOST": "127.0.0.1",
        "PORT": os.environ["SUITES_PORT"],
        "TEST": {"NAME": name},
    }
    for alias, name in (("default", "django_1"), ("other", "django_2"))
}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
SECRET_KEY = "of tests"
TEST_RUNNER = "django_runner.Runner"
USE_TZ = False
