"""Django's test runner, which also writes what became of each test: settings of Django's own suite name it."""

from __future__ import annotations

import os
import unittest
from typing import Any
from xml.etree import ElementTree

from django.test.runner import DiscoverRunner


class Result(unittest.TextTestResult):
    """Keeps outcomes in the form of JUnit."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.cases = ElementTree.Element("testsuite")

    def _case(self, test: Any, child: str = "", text: str = "") -> None:
        classname, _, name = test.id().rpartition(".")
        case = ElementTree.SubElement(self.cases, "testcase", classname=classname, name=name)
        if child:
            ElementTree.SubElement(case, child).text = "".join(c for c in text if c.isprintable() or c == "\n")

    def addSuccess(self, test: Any) -> None:
        super().addSuccess(test)
        self._case(test)

    def addSkip(self, test: Any, reason: str) -> None:
        super().addSkip(test, reason)
        self._case(test, "skipped")

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        super().addExpectedFailure(test, err)
        self._case(test)

    def addUnexpectedSuccess(self, test: Any) -> None:
        super().addUnexpectedSuccess(test)
        self._case(test, "failure", "passed, which was not expected")

    def addError(self, test: Any, err: Any) -> None:
        super().addError(test, err)
        self._case(test, "error", self.errors[-1][1])

    def addFailure(self, test: Any, err: Any) -> None:
        super().addFailure(test, err)
        self._case(test, "failure", self.failures[-1][1])

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._case(test, "failure", str(err[1]))

    def stopTestRun(self) -> None:
        super().stopTestRun()
        ElementTree.ElementTree(self.cases).write(os.environ["SUITES_OUTCOMES"])


class Runner(DiscoverRunner):
    """Of one process."""

    def get_resultclass(self) -> Any:
        """The one above."""
        return Result
