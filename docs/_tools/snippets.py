"""Runs the examples of the documentation against a real server.

    PGHOST=... PGUSER=... python docs/_tools/snippets.py [PAGE ...]

Every fenced block marked ``python`` is run; one marked ``py`` is only shown. The blocks of a page share one
namespace, run from top to bottom, and may await. Each page has a new database named ``app``. Those on MySQL want a
MariaDB on the port that MYSQL_TCP_PORT names, with an empty database ``shop`` for the user ``jo``, password ``secret``.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import traceback
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^( *)```python\b[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)

# What the pages take for granted, so that no page has to begin with it; a reader finds it on the first page.
TABLES = re.compile(r"^```sql\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[int, str]]:
    """The runnable blocks of a page, each with the line it begins at."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, found.start(2)) + 1, textwrap.dedent(found[2])) for found in BLOCK.finditer(text)]


def run_page(page: Path) -> str | None:
    """Runs a page; gives what went wrong, or None."""
    found = blocks(page)
    if not found:
        return None
    for statement in ("DROP DATABASE IF EXISTS app WITH (FORCE)", "CREATE DATABASE app"):
        subprocess.run(["psql", "-qXd", "postgres", "-c", statement], check=True, stderr=subprocess.DEVNULL)
    [tables] = TABLES.findall((DOCS / "index.md").read_text(encoding="utf-8"))
    subprocess.run(["psql", "-qXd", "app", "-v", "ON_ERROR_STOP=1", "-c", tables], check=True)
    # Not the page's own name: a package may skip the frames of its own modules.
    namespace: dict[str, Any] = {"__name__": f"page_{page.stem}"}
    here = os.getcwd()
    loop = asyncio.new_event_loop()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for line, source in found:
                flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
                code = compile("\n" * (line - 1) + source, str(page), "exec", flags, dont_inherit=True)
                made: Any = eval(code, namespace)
                if code.co_flags & inspect.CO_COROUTINE:
                    loop.run_until_complete(made)
        except Exception:
            return traceback.format_exc()
        finally:
            os.chdir(here)
            loop.close()
    return None


def main(names: list[str]) -> int:
    """Runs the pages named, or all; the exit code says whether all went well."""
    os.environ.setdefault("PGDATABASE", "app")
    pages = [Path(name).resolve() for name in names] or sorted(DOCS.rglob("*.md"))
    failed = 0
    for page in pages:
        problem = run_page(page)
        count = len(blocks(page))
        if count:
            print(f"{'failed' if problem else 'ok':6} {page.relative_to(DOCS.parent)} ({count} blocks)", flush=True)
        if problem:
            print(textwrap.indent(problem, "    "))
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
