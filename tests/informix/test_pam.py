"""The questions that a server asks at login."""

from __future__ import annotations

import time
from typing import Any

import pytest

import headrace.aio.informix
import headrace.informix
from headrace import errors
from headrace.testing import informix

QUESTION = "select tabname from systables where tabid = 1"
ANSWERS = {"colour? ": "blue", "number? ": "42"}


class Asked:
    """Answers, and remembers what was asked."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.questions: list[tuple[str, bool]] = []

    def __call__(self, question: str, shown: bool) -> Any:
        self.questions.append((question, shown))
        return self.answers[question]


def test_questions_are_answered_in_order() -> None:
    with informix(pam=ANSWERS) as server:
        asked = Asked(ANSWERS)
        with headrace.informix.connect(**server.parameters(), pam=asked) as conn:
            assert asked.questions == [("colour? ", False), ("number? ", False)]
            assert conn.logging == "logged"
            assert conn.fetchval(QUESTION) == "systables"


def test_the_password_answers_a_single_question() -> None:
    with informix(pam={"Password: ": "secret word"}) as server:
        given: dict[str, Any] = {**server.parameters(), "password": "secret word"}
        with headrace.informix.connect(**given) as conn:
            assert conn.fetchval(QUESTION) == "systables"
        with pytest.raises(errors.InvalidPassword) as caught:
            headrace.informix.connect(**{**given, "password": "another"})
        assert caught.value.sqlcode == -951


def test_wrong_answers_are_refused() -> None:
    with (
        informix(pam=ANSWERS) as server,
        pytest.raises(errors.InvalidPassword),
    ):
        headrace.informix.connect(**server.parameters(), pam=Asked({"colour? ": "blue", "number? ": "43"}))


def test_questions_without_an_answer_are_errors() -> None:
    with informix(pam=ANSWERS) as server:
        given: dict[str, Any] = {**server.parameters(), "password": "blue"}
        with pytest.raises(errors.OperationalError, match=r"'number\? '"):
            headrace.informix.connect(**given)
        with pytest.raises(errors.ProgrammingError, match="must return a str"):
            headrace.informix.connect(**given, pam=lambda *_: 42)
        with pytest.raises(errors.ProgrammingError, match="NUL"):
            headrace.informix.connect(**given, pam=lambda *_: "a\0b")
        with pytest.raises(KeyError):
            headrace.informix.connect(**given, pam=Asked({}))
        with pytest.raises(errors.ProgrammingError, match="function"):
            headrace.informix.connect(**given, pam={"colour? ": "blue"})

        async def later(*_: Any) -> str:
            return "blue"

        with pytest.raises(errors.ProgrammingError, match="asynchronous"):
            headrace.informix.connect(**given, pam=later)


def test_a_function_costs_nothing_where_nothing_is_asked() -> None:
    asked = Asked({})
    with informix() as server, headrace.informix.connect(**server.parameters(), pam=asked) as conn:
        assert conn.fetchval(QUESTION) == "systables"
    assert asked.questions == []


class Slow(Asked):
    """Answers after more than the time to connect."""

    def __call__(self, question: str, shown: bool) -> Any:
        time.sleep(1.2)
        return super().__call__(question, shown)


@pytest.mark.slow
def test_the_time_to_connect_counts() -> None:
    slow = Slow(ANSWERS)
    with (
        informix(pam=ANSWERS) as server,
        pytest.raises(errors.ConnectionTimeout),
    ):
        headrace.informix.connect(**server.parameters(), pam=slow, connect_timeout=1.0)
    # The server answers at once: its next question is not passed on any more.
    assert ("number? ", False) not in slow.questions


@pytest.mark.slow
async def test_the_time_to_connect_counts_on_a_loop() -> None:
    slow = Slow(ANSWERS)
    with informix(pam=ANSWERS) as server, pytest.raises(errors.ConnectionTimeout):
        await headrace.aio.informix.connect(**server.parameters(), pam=slow, connect_timeout=1.0)
    assert ("number? ", False) not in slow.questions


async def test_questions_on_a_loop() -> None:
    async def answer(question: str, shown: bool) -> str:
        return ANSWERS[question]

    with informix(pam=ANSWERS) as server:
        for pam in (answer, lambda question, shown: ANSWERS[question]):
            async with await headrace.aio.informix.connect(**server.parameters(), pam=pam) as conn:
                assert await conn.fetchval(QUESTION) == "systables"
        with pytest.raises(errors.InvalidPassword):
            await headrace.aio.informix.connect(**server.parameters(), pam=lambda *_: "grey")
        with pytest.raises(errors.OperationalError, match="PAM"):
            await headrace.aio.informix.connect(**{**server.parameters(), "password": "blue"})


def test_the_answers_are_in_no_repr() -> None:
    from headrace.informix.settings import connect_options

    options = connect_options("", {"server": "s", "password": "geheim", "pam": Asked({"geheim": 1})})
    assert "geheim" not in repr(options)
    assert "Asked" not in repr(options)
