"""The pages of types say in words what is: each of their sentences, and each note in their tables, is held by a claim
that is executed on the databases it is about, or by tests that it names."""

from __future__ import annotations

import ast
import re
import traceback
from pathlib import Path

import pytest

from servers import Database, names

from . import claims_mysql, claims_others, claims_postgres
from .prose import CLAIMS, SECTIONS, Trial, sentences

ROOT = Path(__file__).parents[2]
MODULES = (claims_mysql, claims_others, claims_postgres)
"""Those that have filled ``CLAIMS``."""
LINKS = ("What differs beside the usual drivers has [a page", "In these cases the server sends different values:",
         "In these cases a value is stored differently, because it does not fit its column:")  # fmt: skip
"""Sentences that only lead to others."""


@pytest.mark.parametrize("page", SECTIONS)
def test_every_sentence_of_a_page_is_held(page: str) -> None:
    phrases = [phrase for claim in CLAIMS if claim.page == page for phrase in claim.phrases]
    said = list(sentences(page))
    loose = [each for each in said if not any(phrase in each for phrase in (*phrases, *LINKS))]
    assert said
    assert loose == [], "what the page says, and no claim holds"
    assert [phrase for phrase in phrases if not any(phrase in each for each in said)] == [], "not on the page"


def test_the_tests_that_claims_name_exist() -> None:
    for claim in CLAIMS:
        assert (claim.check is None) == bool(claim.tests), claim
        for each in claim.tests:
            path, _, name = each.partition("::")
            source = (ROOT / path).read_text(encoding="utf-8")
            if path.endswith(".rs"):
                found = set(re.findall(r"#\[test\]\s+(?:pub )?fn (\w+)", source))
            else:
                found = {node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)}
            assert name in found, each


@pytest.mark.slow
@pytest.mark.parametrize("any_db", names(), indirect=True)
def test_what_the_pages_say_is_so(any_db: Database, berlin: None) -> None:
    wrong = []
    for claim in CLAIMS:
        if claim.check is None or any_db.name not in claim.databases:
            continue
        trial = Trial(any_db)
        try:
            claim.check(trial)
        except Exception as error:
            line = next(frame.line for frame in traceback.extract_tb(error.__traceback__)[1:])
            wrong.append(f"{claim.phrases[0]}: {line}: {type(error).__name__}: {error}")
        finally:
            trial.conn = trial.connect()
            trial.conn.execute("drop table if exists said")
            trial.close()
    assert wrong == [], "\n".join(wrong)
