"""The test server before IBM's own JDBC driver, which none of us wrote."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from headrace.testing import InformixServer, informix

from .conftest import Jdbc

CASES = [
    "insert_select",
    "commit_rollback",
    "numbers",
    "texts",
    "timestamps",
    "every_null",
    "simple_lobs",
    "smart_lobs",
    "scroll",
    "many_rows",
    "interleaved_cursors",
    "batch",
    "batch_error",
    "statement_batch",
    "serials",
    "savepoints",
    "errors",
    "first_skip",
    "expressions",
    "update_cursor",
    "is_valid",
    "cancel",
    "metadata",
    "routine",
    "datetime_ranges",
    "interval_ranges",
    "interval_objects",
    "decimals",
    "collections",
    "rows",
    "distinct_types",
    "opaque_and_json",
    "lob_seek",
    "hold_cursor",
    "delete_current",
    "scroll_orientations",
    "cursor_beside_changes",
    "locks",
    "isolation",
    "batch_errors",
    "keys",
    "routines",
    "catalog",
    "query_timeout",
    "refused_logins",
    "sql",
    "generated_keys",
    "lobs_without_close",
    "put_of_fixed_width",
    "files_that_are_not_there",
    "several_statements",
    "settings_end_where_they_end",
    "not_null",
    "executed_again",
    "pooled",
]


@pytest.fixture(scope="module", params=["12.10", "14.10", "15"])
def verdicts(request: pytest.FixtureRequest, jdbc: Jdbc) -> dict[str, str]:
    with informix(release=request.param) as server:
        return jdbc(server.jdbc_url())


@pytest.mark.parametrize("case", CASES)
def test_case(verdicts: dict[str, str], case: str) -> None:
    assert verdicts.get(case) == f"ok {case}"


def test_cases_are_all_listed(verdicts: dict[str, str]) -> None:
    assert sorted(verdicts) == sorted(CASES)


@pytest.mark.parametrize(
    ("locale", "client"),
    [("en_US.utf8", "en_US.utf8"), ("de_DE.8859-15", "de_DE.8859-15"), ("de_DE.1252", "de_DE.1252")],
)
def test_texts_in_other_code_sets(jdbc: Jdbc, locale: str, client: str) -> None:
    with informix(locale=locale) as server:
        url = server.jdbc_url(DB_LOCALE=locale, CLIENT_LOCALE=client)
        assert jdbc(url, "texts") == {"texts": "ok texts"}


def test_the_code_set_is_asked_for_where_it_is_not_given(jdbc: Jdbc) -> None:
    with informix(locale="en_US.utf8") as server:
        assert jdbc(server.jdbc_url(CLIENT_LOCALE="en_US.utf8"), "texts") == {"texts": "ok texts"}


@pytest.mark.slow
def test_insert_cursor(jdbc: Jdbc) -> None:
    with informix() as server:
        names = ("batch", "many_rows", "batch_errors", "put_of_fixed_width")
        assert jdbc(server.jdbc_url(IFX_USEPUT="1"), *names) == {name: f"ok {name}" for name in names}


@pytest.mark.slow
def test_ansi_database(jdbc: Jdbc) -> None:
    with informix(mode="ansi") as server:
        names = (
            "insert_select", "commit_rollback", "numbers", "batch", "many_rows", "statement_batch",
            "batch_errors", "pooled", "executed_again",
        )  # fmt: skip
        assert jdbc(server.jdbc_url(), *names) == {name: f"ok {name}" for name in names}


@pytest.mark.slow
def test_unlogged_database(jdbc: Jdbc) -> None:
    with informix(mode="unlogged") as server:
        names = ("insert_select", "numbers", "batch", "smart_lobs")
        assert jdbc(server.jdbc_url(), *names) == {name: f"ok {name}" for name in names}


@pytest.mark.parametrize("size", ["4096", "1000000"])
@pytest.mark.slow
def test_fetch_buffers(jdbc: Jdbc, size: str) -> None:
    with informix() as server:
        assert jdbc(server.jdbc_url(FET_BUF_SIZE=size), "many_rows") == {"many_rows": "ok many_rows"}


def test_released_by_the_server(jdbc: Jdbc) -> None:
    with informix() as server:
        found = jdbc(server.jdbc_url(IFX_AUTOFREE="1"), "interleaved_cursors", "routine")
        assert found == {"interleaved_cursors": "ok interleaved_cursors", "routine": "ok routine"}


def test_delimited_identifiers(jdbc: Jdbc) -> None:
    with informix() as server:
        assert jdbc(server.jdbc_url(DELIMIDENT="Y"), "catalog") == {"catalog": "ok catalog"}


def test_replies_in_single_bytes(jdbc: Jdbc) -> None:
    with informix(faults=["split=1"]) as server:
        assert jdbc(server.jdbc_url(), "numbers") == {"numbers": "ok numbers"}


def test_login_that_is_redirected(jdbc: Jdbc) -> None:
    with informix() as target, informix(redirects=["group", f"there=informix@127.0.0.1:{target.port}"]) as server:
        for name in ("group", "there"):
            url = server.jdbc_url().replace("INFORMIXSERVER=informix", f"INFORMIXSERVER={name}")
            assert jdbc(url, "insert_select") == {"insert_select": "ok insert_select"}


@pytest.mark.slow
def test_questions_of_pam(jdbc: Jdbc) -> None:
    with informix(pam={"colour? ": "blue", "number? ": "42"}) as server:
        url = server.jdbc_url(IFX_PAM_CLASS="headrace.Pam")
        assert jdbc(url, "insert_select") == {"insert_select": "ok insert_select"}
    with informix(pam={"number? ": "43"}) as server:
        verdict = jdbc(server.jdbc_url(IFX_PAM_CLASS="headrace.Pam"), "insert_select")
        assert verdict["insert_select"].startswith("FAIL")


@pytest.mark.slow
def test_tls(jdbc: Jdbc, tmp_path: Path) -> None:
    keytool = shutil.which("keytool")
    assert keytool, "the JDK's keytool makes the driver a trust store"
    with informix(tls=True) as server:
        assert server.authority is not None
        store = tmp_path / "trusted.p12"
        command = [keytool, "-importcert", "-noprompt", "-alias", "authority", "-file", str(server.authority)]
        command += ["-keystore", str(store), "-storetype", "PKCS12", "-storepass", "changeit"]
        subprocess.run(command, check=True, capture_output=True)
        url = _tls_url(server, SSL_TRUSTSTORE=str(store), SSL_TRUSTSTORE_PASSWORD="changeit")
        names = ("insert_select", "many_rows", "smart_lobs")
        assert jdbc(url, *names) == {name: f"ok {name}" for name in names}
        # The plain port stays one.
        assert jdbc(server.jdbc_url(), "is_valid") == {"is_valid": "ok is_valid"}


def _tls_url(server: InformixServer, **properties: str) -> str:
    url = server.jdbc_url(SSLCONNECTION="true", **properties)
    return url.replace(f":{server.port}/", f":{server.tls_port}/")
