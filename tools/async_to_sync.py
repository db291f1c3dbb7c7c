"""Makes blocking files of asyncio ones, which are the source of both.

    python tools/async_to_sync.py            writes them
    python tools/async_to_sync.py --check    fails where one is not what it would write; `make lint` does so

A file of ``python/headrace/aio`` becomes the one of the same path in ``python/headrace``: ``async`` and ``await`` go,
names of the asyncio shell become those of the blocking one, imports are of what they are relative to. So does every
file ``test_NAME_async.py`` in ``tests``, which becomes ``test_NAME.py``: a promise is tested once for both shells, with
what ``tests/waiting.py`` has for tests that wait. Three comments say what is not the same in both:

    pipeline.turn()  # asyncio only         this statement, with all that is in it, or comment is left out
    # blocking: wire.pump_once()                this line stands there instead
    await turn()  # blocking: wire.pump_once()  the same for one line, which may be the first of a block
"""

from __future__ import annotations

import ast
import difflib
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from keyword import kwlist as KEYWORDS
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python/headrace"
TESTS = ROOT / "tests"
FOR_EACH_SHELL = ("conversing.py",)
"""Files of a database that are written for each shell."""
GENERATED = (
    *(f"_shared/{name}.py" for name in ("arrow_queries", "arrow_stream", "blocks", "cancelling", "connection")),
    *(f"_shared/{name}.py" for name in ("cursor", "largeobject", "pipeline", "stream_cursor", "two_phase")),
    *(f"_shared/{name}.py" for name in ("frames", "pool_queries", "protocols", "scripts", "server_cursor")),
    *(
        f"{path.parent.name}/{path.name}"
        for path in sorted((PACKAGE / "aio").glob("[a-z]*/*.py"))
        if path.name not in ("__init__.py", *FOR_EACH_SHELL)
    ),
)
"""Those that are made, by their path in the package: of a database, all that are not in FOR_EACH_SHELL."""
NAMES = {
    "AbstractAsyncContextManager": "AbstractContextManager",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
    "AsyncGenerator": "Generator",
    "AsyncIterable": "Iterable",
    "AsyncIterator": "Iterator",
    "StopAsyncIteration": "StopIteration",
    "aclose": "close",
    "aclosing": "closing",
    "asynccontextmanager": "contextmanager",
    "anext": "next",
    "enter_async_context": "enter_context",
}
"""Python's own, and what each is without a loop."""
NAMES |= {f"a{name}": name for name in ("conn", "connect", "gather", "my", "sleep", "until")}
"""Fixtures and helpers of the tests, too."""
SETTERS = re.compile(r"^( *)await (\w+)\.set_(autocommit|deferrable|isolation_level|read_only)\((.+)\)$", re.MULTILINE)
"""In tests, what is an attribute without a loop."""
OURS = ((re.compile(r"^Loop(?=[A-Z])"), "Blocking"), (re.compile(r"^Async(?=[A-Z])"), ""))
"""The beginnings of names of this package."""
PROSE = (
    (r"\bawait ", ""),
    (r"\basyncio\b", "blocking"),
    (r", also an asynchronous one\b", ""),
    (r" on the running event loop\b", ""),
    (r" (A password function|The function ``pam``) may be asynchronous\.", ""),
    (
        r"( +)keywords: settings, listed in the documentation of the database\.",
        r"\1strict_close: closing a closed connection raises ConnectionClosed, as PEP 249's compliance suite requires;"
        r" by\n\1    default it does nothing.\n\g<0>",
    ),
    (
        r"An iteration returns its content in blocks\.",
        "To read small pieces use ``io.BufferedReader``, and for text ``io.TextIOWrapper``. A CLOB is text in the\n"
        "    database's code set.",
    ),
    (r"\ban asynchronous (?=[a-z])", "a "),
    (
        r"\bTasks may share it: their requests are queued and are pipelined\b",
        "Threads may share it: their calls are queued",
    ),
    (r"\bTasks may share it: their requests\b", "Threads may share it: their calls"),
    (r"\banother task\b", "another thread"),
    (r"\bAnother task\b", "Another thread"),
    (r"\bfor one task at a time\b", "for one thread at a time"),
    (r"\bbelongs to one task\b", "belongs to one thread"),
)
"""Words of docstrings and comments."""
TWICE = re.compile(r"(\w+\[[^|\n]+\]) \| \1(?!\w)")
"""What is of two kinds on asyncio, and of one without a loop."""
OPENING = re.compile(r"\bOpening\[((?:[^\[\]]|\[[^\[\]]*\])+)\]")
"""What is a connection once it is awaited."""
NOTE = "# Made by tools/async_to_sync.py of {source}: edit that file, and run the tool.\n"
LEFT_OUT = "# asyncio only"
MARKED = re.compile(rf"^ *[^\s#].*{LEFT_OUT}$")
IN_ITS_PLACE = "# blocking:"


class Edits:
    """Replacements in a text, made all at once."""

    def __init__(self, text: str) -> None:
        self.text = text
        starts = [0]
        for line in text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self._starts = starts
        self._made: list[tuple[int, int, str]] = []

    def at(self, line: int, column: int) -> int:
        """The index of a place: its line counts from 1, and its column from 0."""
        return self._starts[line - 1] + column

    def replace(self, start: int, end: int, new: str) -> None:
        """Notes one."""
        self._made.append((start, end, new))

    def done(self) -> str:
        """The text with all of them."""
        text = self.text
        for start, end, new in sorted(self._made, reverse=True):
            text = text[:start] + new + text[end:]
        return text


def renamed(name: str) -> str:
    """A name, as the blocking shell has it.

    >>> renamed("AsyncCursor"), renamed("LoopCursor"), renamed("__aiter__"), renamed("rows")
    ('Cursor', 'BlockingCursor', '__iter__', 'rows')
    """
    if name in NAMES:
        return NAMES[name]
    for beginning, ours in OURS:
        name = beginning.sub(ours, name)
    return name


def prose(text: str) -> str:
    """A docstring or comment, of the blocking shell."""
    text = re.sub(r"\b[A-Za-z_]\w*", lambda found: renamed(found[0]), text)
    for pattern, new in PROSE:
        text = re.sub(pattern, new, text)
    return text


def without_the_loops_own(text: str) -> str:
    """Leaves out what stands in the asyncio file only, and puts in what stands in the blocking one only."""
    edits, lines = Edits(text), text.splitlines()

    def head(node: ast.stmt) -> list[str]:
        """The lines of a statement, or of a block before what is in it."""
        body = getattr(node, "body", [])
        return lines[node.lineno - 1 : max(node.lineno, body[0].lineno - 1) if body else node.lineno]

    def look(parent: ast.AST) -> None:
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, ast.stmt) and any(map(MARKED.search, head(node))):
                first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
                edits.replace(edits.at(first, 0), edits.at((node.end_lineno or node.lineno) + 1, 0), "")
            else:
                look(node)

    look(ast.parse(text))
    left = re.sub(rf"^ *#.*{LEFT_OUT}\n", "", edits.done(), flags=re.MULTILINE)
    left = re.sub(rf"^ *[^\s#].*?  {IN_ITS_PLACE}\n", "", left, flags=re.MULTILINE)
    left = re.sub(rf"^( *)[^\s#].*?  {IN_ITS_PLACE} ", r"\1", left, flags=re.MULTILINE)
    return re.sub(rf"^( *){IN_ITS_PLACE}(?: |$)", r"\1", left, flags=re.MULTILINE)


def with_its_own_imports(text: str, path: str) -> str:
    """Imports what belongs to the blocking file's place in the package, which is ``path``."""
    edits, here = Edits(text), path.split("/")[:-1]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = ["aio", *here][: len(here) + 2 - node.level]
            target = [*base, *(node.module or "").split(".")]
            # The twin of a module of the asyncio shell has the same name outside of it.
            target = [part for part in (target[1:] if target[0] == "aio" else target) if part]
            common = 0
            while common < min(len(here), len(target)) and here[common] == target[common]:
                common += 1
            spelled = "." * (len(here) - common + 1) + ".".join(target[common:])
            names = ", ".join(each.name + (f" as {each.asname}" if each.asname else "") for each in node.names)
            start, end = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
            edits.replace(edits.at(*start), edits.at(*end), f"from {spelled} import {names}")
    return edits.done()


def idle_parentheses(tokens: list[tokenize.TokenInfo]) -> Iterator[tokenize.TokenInfo]:
    """The parentheses of ``(await x).y``, which ``x.y`` does without."""
    opened: list[tokenize.TokenInfo | None] = []
    for before, token, after in zip([None, *tokens], tokens, tokens[1:], strict=False):
        if token.string in ("(", "[", "{"):
            called = before is not None and before.type == tokenize.NAME and before.string not in KEYWORDS
            opened.append(token if token.string == "(" and after.string == "await" and not called else None)
        elif token.string in (")", "]", "}"):
            parenthesis = opened.pop()
            if parenthesis is not None and after.string in (".", "["):
                yield from (parenthesis, token)


def without_waiting(text: str) -> str:
    """Leaves ``async`` and ``await`` out, and renames what has another name."""
    edits, tokens = Edits(text), list(tokenize.generate_tokens(io.StringIO(text).readline))
    for parenthesis in idle_parentheses(tokens):
        edits.replace(edits.at(*parenthesis.start), edits.at(*parenthesis.end), "")
    for token in tokens:
        start, end = edits.at(*token.start), edits.at(*token.end)
        if token.type == tokenize.NAME and token.string in ("async", "await"):
            edits.replace(start, end + len(text[end:]) - len(text[end:].lstrip()), "")
        elif token.type == tokenize.NAME and renamed(token.string) != token.string:
            edits.replace(start, end, renamed(token.string))
        elif token.type in (tokenize.STRING, tokenize.COMMENT) and prose(token.string) != token.string:
            edits.replace(start, end, prose(token.string))
    return OPENING.sub(r"\1", TWICE.sub(r"\1", edits.done()))


def formatted(text: str, path: Path, source: str) -> str:
    """The text as ``ruff`` wants it, without imports that nothing uses."""
    ruff = [sys.executable, "-m", "ruff"]
    # What needs a loop or a block of its own, or a name, on asyncio.
    # ruff joins blocks only if they then fit on a line; the formatter breaks it afterwards.
    simpler = ["--select", "C416,F401,I,RET504,SIM117,UP028", "--unsafe-fixes", "--config", "line-length=320"]
    for step in (["check", "--fix", "--quiet", *simpler], ["format", "--quiet"]):
        command = [*ruff, *step, "--stdin-filename", str(path), "-"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=ROOT)
        if done.returncode:
            raise SystemExit(f"error: ruff does not take what is made of {source}:\n{done.stderr}")
        text = done.stdout
    return text


def with_note(text: str, source: str) -> str:
    """The text, with a comment that names its source below its docstring."""
    head, _, rest = text.partition("from __future__")
    return f"{head}{NOTE.format(source=source)}\nfrom __future__{rest}"


def blocking(text: str, path: str) -> str:
    """The blocking file of ``aio/path``, whose text is given."""
    text = without_waiting(with_its_own_imports(without_the_loops_own(text), path))
    return formatted(with_note(text, f"aio/{path}"), PACKAGE / path, f"aio/{path}")


def outside_of_aio(text: str) -> str:
    """A test that uses the modules and attributes of the blocking shell."""
    return re.sub(r"\bheadrace\.aio\b", "headrace", SETTERS.sub(r"\1\2.\3 = \4", text))


def blocking_test(text: str, source: Path) -> str:
    """The blocking test of an asyncio one, whose text is given."""
    text = without_waiting(outside_of_aio(without_the_loops_own(text)))
    return formatted(with_note(text, source.name), made_of(source), source.name)


def made_of(source: Path) -> Path:
    """The file that is made of a test."""
    return source.with_name(source.name.replace("_async.py", ".py"))


def files() -> Iterator[tuple[Path, str, str]]:
    """Each file that is made, its text, and what it is made of."""
    for path in GENERATED:
        yield PACKAGE / path, blocking((PACKAGE / "aio" / path).read_text(), path), f"python/headrace/aio/{path}"
    for source in sorted(TESTS.rglob("test_*_async.py")):
        yield made_of(source), blocking_test(source.read_text(), source), str(source.relative_to(ROOT))


def main(arguments: list[str]) -> int:
    """Writes the files, or compares them."""
    stale = 0
    for path, made, source in files():
        there = path.read_text() if path.exists() else ""
        name = str(path.relative_to(ROOT))
        if made == there:
            continue
        if "--check" in arguments:
            stale += 1
            was, new = there.splitlines(), made.splitlines()
            print(*difflib.unified_diff(was, new, name, f"made of {source}", lineterm=""), sep="\n")
        else:
            path.write_text(made)
            print(f"wrote {name}")
    if stale:
        print("error: edit the asyncio files, then: python tools/async_to_sync.py", file=sys.stderr)
    return min(stale, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
