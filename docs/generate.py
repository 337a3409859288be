"""Write docs/reference: the pages that list things are made from the things themselves.

Run by ``make docs``. With ``--check`` nothing is written, and a stale page is an error.
"""

from __future__ import annotations

import ast
import inspect
import sys
import tomllib
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import typer

from contextbias import annotation_tables, errors, tables
from contextbias.cli.main import app
from contextbias.config import StudyConfig
from contextbias.extract.local.reader import LocalReaderOptions
from contextbias.extract.openai.options import OpenAIReaderOptions
from contextbias.extract.simulated import SimulatedReaderOptions
from contextbias.extract.transformers.options import TransformersReaderOptions
from contextbias.generate.command import CommandOptions
from contextbias.generate.diffusers.options import DiffusersOptions
from contextbias.generate.openai_images import OpenAIImagesOptions
from contextbias.generate.simulated import SimulatedOptions
from contextbias.schema import CODEBOOK_VERSION, COHORTS, dimensions_of

DOCS = Path(__file__).resolve().parent
REFERENCE = DOCS / "reference"
NOTICE = "<!-- Made by docs/generate.py (`make docs`); edit its sources, not this page. -->"


def main() -> None:
    """Write every page, or with ``--check`` name those that are stale and exit with 1."""
    stale = []
    for name, text in pages().items():
        path = REFERENCE / name
        if path.is_file() and path.read_text("utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv[1:]:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
    if stale:
        print("stale:" if "--check" in sys.argv[1:] else "written:", *stale)
    if stale and "--check" in sys.argv[1:]:
        sys.exit(1)


def pages() -> dict[str, str]:
    """File name -> text of every page of docs/reference."""
    makers = {
        "cli.md": cli_page,
        "config.md": config_page,
        "tables.md": tables_page,
        "schema.md": schema_page,
        "estimands.md": estimands_page,
        "errors.md": errors_page,
    }
    return {name: _page(make()) for name, make in makers.items()}


def _page(lines: Iterable[str]) -> str:
    title, *rest = lines
    return "\n".join([title, "", NOTICE, *rest]).rstrip() + "\n"


# ---- the command line


def cli_page() -> Iterator[str]:
    """Every command with its arguments and options."""
    yield "# Commands"
    yield ""
    yield "Machine output goes to stdout, messages and progress to stderr."
    yield "`STUDY` is a study folder. Exit codes: [errors](errors.md)."
    root: Any = typer.main.get_command(app)
    yield from _table(("Command", "What it does"), _command_rows("contextbias", root))
    yield from _command("contextbias", root)


def _commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    for inner, found in getattr(command, "commands", {}).items():
        if getattr(found, "commands", None):
            yield from _commands(f"{name} {inner}", found)
        else:
            yield f"{name} {inner}", found


def _command_rows(name: str, root: Any) -> Iterator[tuple[str, str]]:
    for full, command in _commands(name, root):
        first = _plain(command.help).split("\n\n")[0].replace("\n", " ")
        yield f"[`{full}`](#{full.replace(' ', '-')})", first


def _command(name: str, root: Any) -> Iterator[str]:
    for full, command in _commands(name, root):
        arguments = [p for p in command.params if p.param_type_name == "argument"]
        options = [p for p in command.params if p.param_type_name == "option"]
        yield from ("", f"## {full}", "", "```text")
        words = [p.metavar or p.name.upper() for p in arguments]
        yield " ".join([full, *words, *(["[OPTIONS]"] if options else [])])
        yield from ("```", "", _plain(command.help))
        rows = [(f"`{p.metavar or p.name.upper()}`", p.help or "", "") for p in arguments]
        rows += [(_option(p), p.help or "", _default(p)) for p in options]
        if rows:
            yield from _table(("", "Meaning", "Default"), rows)


def _option(option: Any) -> str:
    if option.is_flag:
        return f"`{option.opts[0]}`"
    kind = option.type_descriptor.annotation
    if isinstance(kind, type) and issubclass(kind, Enum):
        value = "|".join(str(member.value) for member in kind)
    else:
        value = option.metavar or {"int": "N", "float": "X", "Path": "FILE"}.get(
            getattr(kind, "__name__", ""), "TEXT"
        )
    return f"`{option.opts[0]} {value}`"


def _default(option: Any) -> str:
    value = option.default
    if value is None or option.is_flag:
        return ""
    return f"`{value.value if isinstance(value, Enum) else value}`"


# ---- study.toml


def config_page() -> Iterator[str]:
    """Every key of study.toml, and the options of the built-in backends."""
    schema = StudyConfig.model_json_schema()
    yield "# study.toml"
    yield ""
    yield "An unknown key is an error that names the nearest known one. A key left out has its"
    yield "default. `contextbias init DIR` writes a commented file to start from."
    sections = schema["$defs"]
    yield from _section("Top level", schema)
    for key, field in schema["properties"].items():
        name = _section_of(field)
        if name is not None:
            heading = f"[[{key}]]" if field.get("type") == "array" else f"[{key}]"
            yield from _section(heading, sections[name])
    backends = (
        ("Options of the generator `simulated`", SimulatedOptions),
        ("Options of the generator `diffusers`", DiffusersOptions),
        ("Options of the generator `command`", CommandOptions),
        ("Options of the generator `openai_images`", OpenAIImagesOptions),
        ("Options of the reader `simulated`", SimulatedReaderOptions),
        ("Options of the reader `local`", LocalReaderOptions),
        ("Options of the reader `openai`", OpenAIReaderOptions),
        ("Options of the reader `transformers`", TransformersReaderOptions),
    )
    for heading, model in backends:
        options = model.model_json_schema()
        yield from _section(heading, options)
        for inner in options.get("$defs", {}).values():
            yield from _section(f"{heading}: one dimension", inner)
    yield from ("", "## Options of the generator `folder`", "")
    yield "`source` (required), `pattern`, `manifest`: where the images lie and what their paths"
    yield "say, as in [`contextbias audit`](cli.md#contextbias-audit); relative to the study."


def _section_of(field: dict[str, Any]) -> str | None:
    target = field.get("$ref") or field.get("items", {}).get("$ref")
    return target.rpartition("/")[2] if target else None


def _section(heading: str, schema: dict[str, Any]) -> Iterator[str]:
    yield from ("", f"## {heading}", "", _plain(schema.get("description", "")))
    rows = []
    for key, field in schema["properties"].items():
        default = _toml(field["default"]) if _plain_default(field) else ""
        if key in schema.get("required", []):
            default = "required"
        # Where key and section say the same, pydantic keeps the section's text alone.
        section = schema.get("$defs", {}).get(_section_of(field), {})
        meaning = field.get("description") or section.get("description")
        rows.append((f"`{key}`", _kind(field), default, _plain(meaning)))
    yield from _table(("Key", "Value", "Default", "Meaning"), rows)


def _plain_default(field: dict[str, Any]) -> bool:
    return "default" in field and _section_of(field) is None and field["default"] is not None


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def _kind(field: dict[str, Any]) -> str:
    if _section_of(field):
        return "tables" if field.get("type") == "array" else "table"
    if "anyOf" in field:
        kinds = [_kind(option) for option in field["anyOf"] if option.get("type") != "null"]
        return ", or ".join(kinds)
    for choices in ("enum", "const"):
        if choices in field:
            values = field["enum"] if choices == "enum" else [field["const"]]
            return " or ".join(_toml(value) for value in values)
    if "prefixItems" in field:
        return f"list of {len(field['prefixItems'])} {_kind(field['prefixItems'][0])}s"
    if field["type"] == "array":
        return f"list of {_kind(field['items'])}s"
    names = {"integer": "whole number", "number": "number", "string": "text", "object": "table"}
    return f"{names.get(field['type'], field['type'])}{_bounds(field)}"


def _bounds(field: dict[str, Any]) -> str:
    low, high = field.get("minimum"), field.get("maximum")
    above, below = field.get("exclusiveMinimum"), field.get("exclusiveMaximum")
    words = [
        f"from {low:,}" if low is not None else f"above {above:,}" if above is not None else "",
        f"to {high:,}" if high is not None else f"below {below:,}" if below is not None else "",
    ]
    text = " ".join(word for word in words if word)
    return f", {text}" if text else ""


# ---- tables


def tables_page() -> Iterator[str]:
    """Every row class of the table modules with its fields, and the reasons of missing."""
    nodes = [
        node
        for module in (tables, annotation_tables)
        for node in ast.parse(inspect.getsource(module)).body
    ]
    yield "# Tables"
    yield ""
    yield "What a study stores. Paid-for rows are in `study.sqlite`, append-only: a retry is a new"
    yield "row with the next `attempt`, and the highest one counts. Derived tables are Parquet."
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            yield from _row_class(node)
    yield from ("", "## derived/planted.parquet", "")
    yield "What simulated generators were told to draw; writer: generate. `generator`, `role`,"
    yield "`condition`, `cohort`, `dimension`, `label`, and `p`: the probability that an image of"
    yield "that cell shows the label, given that the question can be answered."
    yield from ("", "## Reasons of missing", "")
    yield "A missing answer is never a label and never 0. The column `missing_reason` says why."
    reasons = [(f"`{name}`", text) for name, text in tables.MISSING_REASONS.items()]
    reasons.append((f"`{tables.EMPTY_LIST}`", "not missing: looked, and there was nothing to name"))
    yield from _table(("Reason", "Meaning"), reasons)


def _row_class(node: ast.ClassDef) -> Iterator[str]:
    yield from ("", f"## {node.name}", "", _plain(ast.get_docstring(node) or ""))
    rows = []
    for field, text in zip(node.body, node.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            assert isinstance(text, ast.Expr)
            assert isinstance(text.value, ast.Constant)
            kind = ast.unparse(field.annotation).replace("|", "or")
            rows.append((f"`{field.target.id}`", kind, _plain(str(text.value.value))))
    yield from _table(("Column", "Type", "Meaning"), rows)


# ---- the attribute schema


def schema_page() -> Iterator[str]:
    """Cohorts, dimensions, vocabularies and questions."""
    yield "# Attribute schema"
    yield ""
    yield f"Codebook version {CODEBOOK_VERSION}. Every dimension may be answered `unknown`, which"
    yield "is never a label. Dimensions of the cohort people are asked for each person."
    for cohort in COHORTS:
        found = dimensions_of(cohort)
        yield from ("", f"## {cohort} ({len(found)})")
        for dim in found:
            kind = "one label" if dim.kind == "one" else "a list of labels"
            words = ", ".join(f"`{word}`" for word in dim.vocabulary)
            yield from ("", f"### {dim.name}", "", f"{dim.question} *{kind.capitalize()}.*", "")
            yield words if words else "Open vocabulary: any short phrase."


# ---- estimands


def estimands_page() -> Iterator[str]:
    """Every number of the estimates, from estimands.toml."""
    table = tomllib.loads((DOCS / "estimands.toml").read_text("utf-8"))["estimands"]
    yield "# Estimands"
    yield ""
    yield "What stands in the column `estimand` of [estimates](tables.md#estimaterow). A key that"
    yield "does not apply is null; a pooled condition is `all`; a difference of conditions is the"
    yield "same estimand with `contrast` set. Rows of reader `planted` are computed from the"
    yield "planted probabilities of simulated generators, not from images. Definitions at length:"
    yield "[method](../method.md)."
    rows = [(f"[`{row['name']}`](#{row['name']})", row["title"], row["unit"]) for row in table]
    yield from _table(("Estimand", "What it is", "Unit"), rows)
    for row in table:
        yield from ("", f"## {row['name']}", "", f"{row['title']}. {row['definition']}", "")
        yield f"- Unit: {row['unit']}."
        yield f"- Levels: {row['levels']}"
        yield f"- n: {row['n']}"
        yield f"- Interval: {row['interval']}"
        if row["edge"]:
            yield f"- At the edge: {row['edge']}"
        yield f"- Source: {row['source']}."


# ---- errors


def errors_page() -> Iterator[str]:
    """The exception tree and the exit codes."""
    yield "# Errors and exit codes"
    codes = (
        ("0", "Done. A reader's refusals and unknowns are data."),
        ("1", "A gate or a check failed."),
        ("2", "The call, the configuration or the input as a whole is wrong."),
        (
            "3",
            "Some items failed (corrupt, blank, blocked, errors) and are listed, or a generator or "
            "reader stopped before the end; what was finished is kept.",
        ),
        ("130", "Interrupted. What was finished is kept; run the same command again to go on."),
    )
    yield from _table(("Exit code", "Meaning"), codes)
    yield from ("", "An error that a user can act on prints one line: what is wrong, the value")
    yield "seen, what to do."
    tree = (errors.__doc__ or "").partition("::\n\n")[2].partition("\n\n")[0]
    yield from ("", "## The exceptions", "", "```text", inspect.cleandoc(tree), "```")
    classes = [c for c in vars(errors).values() if inspect.isclass(c)]
    yield from _table(
        ("Exception", "Exit code", "Raised when"),
        [(f"`{c.__name__}`", c.exit_code, (c.__doc__ or "").splitlines()[0]) for c in classes],
    )


# ---- Markdown


def _plain(text: str | None) -> str:
    """Docstring markup to Markdown: double backticks become single ones."""
    return inspect.cleandoc(text or "").replace("``", "`").replace("\b\n", "")


def _table(head: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> Iterator[str]:
    yield ""
    yield _row(head)
    yield _row(("---",) * len(head))
    yield from (_row(row) for row in rows)


def _row(cells: tuple[Any, ...]) -> str:
    words = (" ".join(str(cell).split()).replace("|", r"\|") for cell in cells)
    return f"| {' | '.join(words)} |"


if __name__ == "__main__":
    main()
