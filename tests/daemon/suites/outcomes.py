"""What became of each test of a suite."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
TEXT_CHARACTERS = 4000
"""Length of what is kept of the output of a test that failed."""


@dataclass
class Outcome:
    """One test's."""

    kind: str
    text: str = ""


Outcomes = dict[str, Outcome]


def of_junit(file: Path) -> Outcomes:
    """Reads the XML that pytest and Gradle write."""
    found: Outcomes = {}
    for case in ElementTree.parse(file).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        problem = next((child for child in case if child.tag in ("failure", "error")), None)
        if problem is not None:
            text = f"{problem.get('message') or ''}\n{problem.text or ''}"
            found[name] = Outcome(FAILED, text[-TEXT_CHARACTERS:])
        elif case.find("skipped") is not None:
            found.setdefault(name, Outcome(SKIPPED))
        else:
            found.setdefault(name, Outcome(PASSED))
    return found


def of_go(lines: Iterable[str]) -> Outcomes:
    """Reads what ``go test -json`` prints. A package that ends by a panic is a test that failed, without a name."""
    kinds = {"pass": PASSED, "fail": FAILED, "skip": SKIPPED}
    found: Outcomes = {}
    output: dict[str, list[str]] = {}
    for line in lines:
        if not line.startswith("{"):
            continue
        event = json.loads(line)
        name = f"{event.get('Package', '')}.{event.get('Test', '')}"
        if event["Action"] == "output":
            output.setdefault(name, []).append(event["Output"])
        elif (kind := kinds.get(event["Action"])) and ("Test" in event or kind == FAILED):
            text = "".join(output.get(name, []))[-TEXT_CHARACTERS:] if kind == FAILED else ""
            found[name] = Outcome(kind, text)
    return found


def of_lines(lines: Iterable[dict[str, str]]) -> Outcomes:
    """What our own files for other languages write: name, kind and text of each test."""
    found: Outcomes = {}
    for line in lines:
        if found.get(line["name"], Outcome(PASSED)).kind != FAILED:
            found[line["name"]] = Outcome(line["kind"], line["text"][-TEXT_CHARACTERS:])
    return found


def save(file: Path, outcomes: Outcomes) -> None:
    """Keeps them."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({name: asdict(outcome) for name, outcome in sorted(outcomes.items())}, indent=1))


def load(file: Path) -> Outcomes:
    """The ones that were kept."""
    return {name: Outcome(**fields) for name, fields in json.loads(file.read_text()).items()}


def counts(outcomes: Outcomes) -> str:
    """Such as ``812 passed, 3 failed, 20 skipped``."""
    of = Counter(outcome.kind for outcome in outcomes.values())
    return ", ".join(f"{of[kind]} {kind}" for kind in (PASSED, FAILED, SKIPPED))


def differences(direct: Outcomes, through: Outcomes) -> dict[str, tuple[str, str]]:
    """The tests that do not end alike: each with its outcome direct and through the daemon. What was run only one way
    is left out."""
    pairs = {name: (direct[name].kind, through[name].kind) for name in direct.keys() & through.keys()}
    return {name: pair for name, pair in sorted(pairs.items()) if pair[0] != pair[1]}
