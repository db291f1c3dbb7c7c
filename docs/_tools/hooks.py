"""mkdocs hooks: the tables of limits and options, generated from the files that the code itself reads."""

from __future__ import annotations

import ast
import itertools
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DEFAULTS = ROOT / "python" / "headrace" / "defaults.py"
CRATES = ROOT / "crates"
IIBENCH = ROOT / "lab" / "python" / "headrace_lab" / "iibench" / "options.py"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replaces the markers of a page by the tables."""
    for marker, make in (
        ("<!-- defaults -->", defaults_tables),
        ("<!-- engine-limits -->", engine_tables),
        ("<!-- iibench-options -->", iibench_options),
        ("<!-- iibench-left-out -->", iibench_left_out),
        ("<!-- pool-resets -->", pool_resets),
    ):
        if marker in markdown:
            markdown = markdown.replace(marker, make())
    return markdown


def defaults_tables() -> str:
    """Returns one table for each section of defaults.py; a section begins with a comment line of its own.

    Raises:
        ValueError: there is a name of which the tables would not have a row.
    """
    source = DEFAULTS.read_text(encoding="utf-8")
    lines = source.splitlines()
    body = ast.parse(source).body
    parts: list[str] = []
    for node, after in itertools.pairwise(body):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name) or node.value is None:
            continue
        above = lines[node.lineno - 2]
        if above.startswith("# "):
            parts.append(f"\n### {above[2].upper()}{above[3:]}\n\n{HEADER}")
        meaning = ""
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            meaning = str(after.value.value)
        value = ast.get_source_segment(source, node.value) or ""
        if not meaning:
            raise ValueError(f"{DEFAULTS}: {node.target.id} has no docstring")
        parts.append(row(node.target.id, value, meaning))
    return "\n".join(parts)


def engine_tables() -> str:
    """Returns a table for the ``limits.rs`` of each crate that has one, the engine's first.

    Raises:
        ValueError: there is a constant of which the table would not have a row.
    """
    files = sorted(CRATES.glob("*/src/limits.rs"), key=lambda file: (file.parts[-3] != "core", file))
    return "\n".join(f"\n### `crates/{file.parts[-3]}`\n\n{limits_table(file)}" for file in files)


def limits_table(file: Path) -> str:
    """Returns a table of the constants of a ``limits.rs``, each with its doc comment.

    Raises:
        ValueError: there is a constant of which the table would not have a row.
    """
    source = file.read_text(encoding="utf-8")
    parts = [HEADER]
    pattern = r"((?:^///.*\n)+)^pub(?:\(crate\))? const (\w+): [^=]+=\s*([^;]+);"
    for comment, name, value in re.findall(pattern, source, re.MULTILINE):
        text = " ".join(line[3:].strip() for line in comment.splitlines())
        # Names in brackets are links of rustdoc.
        parts.append(row(name, value, re.sub(r"\[(`[^`]+`)\]", r"\1", text)))
    if len(parts) - 1 != len(re.findall(r"^pub(?:\(crate\))? const ", source, re.MULTILINE)):
        raise ValueError(f"{file}: a constant without a doc comment, or in a form that is not known here")
    return "\n".join(parts)


def iibench_options() -> str:
    """One table per group of options of the insert benchmark."""
    body = ast.parse(IIBENCH.read_text(encoding="utf-8")).body
    options = next(node for node in body if isinstance(node, ast.ClassDef) and node.name == "BenchmarkOptions")
    groups: dict[str, list[str]] = {}
    for node in options.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and isinstance(node.value, ast.Call):
            given = {word.arg: word.value for word in node.value.keywords}
            # The help is plain text or has names of the module in it; those are what the command line shows.
            words = given["help"]
            text = words.value if isinstance(words, ast.Constant) else ast.unparse(words).strip("f'\"").split(":")[0]
            default = ast.literal_eval(given["default"])
            shown = "" if default in ("", None, False, ()) else f"`{default}`"
            flag = "--" + node.target.id.replace("_", "-")
            group = ast.literal_eval(node.value.args[0])
            groups.setdefault(group, []).append(f"| `{flag}` | {shown} | {str(text).replace('|', '/')} |")
    header = "| option | default | meaning |\n|---|---|---|"
    return "\n".join(f"\n### {group.capitalize()}\n\n{header}\n" + "\n".join(rows) for group, rows in groups.items())


def iibench_left_out() -> str:
    """The options of iibench.py that have another name here, or none."""
    for node in ast.parse(IIBENCH.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "LEFT_OUT":
            assert node.value is not None
            rows = [f"| `--{name}` | {why} |" for name, why in ast.literal_eval(node.value).items()]
            return "\n".join(["| option of iibench.py | `headrace iibench` |", "|---|---|", *rows])
    raise LookupError("options.py has no LEFT_OUT")


DATABASES = ROOT / "python" / "headrace" / "_shared" / "databases.py"


def databases() -> dict[str, str]:
    """The folders of the databases, and their names."""
    calls = [node for node in ast.walk(ast.parse(DATABASES.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    rows = [call.args for call in calls if isinstance(call.func, ast.Name) and call.func.id == "DatabaseRow"]
    return {ast.literal_eval(module): ast.literal_eval(title) for module, title, *_ in rows}


def pool_resets() -> str:
    """One table for each database: what a pool sets back, of the ``resets.py`` in its folder.

    Raises:
        LookupError: one has no table.
    """
    parts: list[str] = []
    for folder, title in databases().items():
        source = ROOT / "python" / "headrace" / folder / "resets.py"
        values = {
            node.target.id: node.value
            for node in ast.parse(source.read_text(encoding="utf-8")).body
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        }
        left = values["SESSION_STATE"]
        if not isinstance(left, ast.Tuple):
            raise LookupError(f"{source} has no table SESSION_STATE")
        modes = ast.literal_eval(values["MODES"] or left)
        head = " | ".join(["left behind", *(f'`"{mode}"`' for mode in modes)])
        lines = [f"| {head} |", "|---" * (1 + len(modes)) + "|"]
        for entry in left.elts:
            assert isinstance(entry, ast.Call)
            _, what, *fates = map(ast.literal_eval, entry.args)
            lines.append(f"| {' | '.join([what, *fates[: len(modes)]])} |")
        parts.append(f"### {title}\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


HEADER = "| name | default | meaning |\n|---|---|---|"


def row(name: str, value: str, meaning: str) -> str:
    """Returns one line of a table; the value is calculated where it is a product, and has a unit where its type has
    one."""
    meaning = " ".join(meaning.split()).replace("|", "\\|").replace("``", "`")
    if found := re.fullmatch(r"(\d[\d_]*) << (\d+)", value):
        value = f"{int(found[1]) << int(found[2]):,}"
    elif found := re.fullmatch(r"(?:std::time::)?Duration::from_(secs|millis|micros)\((\d+)\)", value):
        unit = {"secs": "s", "millis": "ms", "micros": "us"}[found[1]]
        value = f"{found[2]} {unit}"
    elif value == "u16::MAX as usize":
        value = f"{(1 << 16) - 1:,}"
    elif re.fullmatch(r"[\d_]+( \* [\d_]+)*", value):
        product = 1
        for factor in value.replace("_", "").split(" * "):
            product *= int(factor)
        value = f"{product:,}" if product >= 10_000 else str(product)
    return f"| `{name}` | {value if value[0].isdigit() else f'`{value}`'} | {meaning} |"
