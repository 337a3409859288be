"""The rules of docs/design/layout.md, held by the source itself."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache

import pytest

import contextbias
from tests.conftest import CHECKOUT

SOURCE = CHECKOUT / "src"
PACKAGE = SOURCE / "contextbias"

STAGES = {"bench", "generate", "extract", "annotate", "canonicalise", "measure", "report"}

# A part may import parts of a lower level, and of its own name. `stats` is below everything.
LEVELS: dict[str, int] = {
    "errors": 0,
    "ids": 0,
    "stats": 0,
    "tables": 1,
    "files": 2,
    "forecast": 2,
    "interrupts": 2,
    "pictures": 2,
    "places": 2,
    "config": 2,
    "options": 2,
    "annotation_tables": 1,
    "migrations": 2,
    "schema": 2,
    "sheets": 2,
    "progress": 2,
    "weights": 2,
    "database": 3,
    "guards": 3,
    "stamps": 3,
    "parquet": 3,
    "store": 4,
    "people": 4,
    "engines": 3,
    "registry": 3,
    "llm": 5,
    "worklist": 5,
    "providers": 5,
    **dict.fromkeys(STAGES, 6),
    "pipeline": 7,
    "cli": 8,
    "__main__": 9,
}
KNOW_ALL_STAGES = {"pipeline", "cli"}

# Which calls write in a study, and who may make them.
WRITERS = {
    "append_prompts": {"pipeline"},
    "append_generators": {"pipeline"},
    "append_images": {"pipeline"},
    "append_readers": {"pipeline"},
    "append_readings": {"pipeline"},
    "append_frequencies": {"pipeline"},
    "write_attributes": {"pipeline"},
    "write_label_counts": {"pipeline"},
    "write_planted": {"pipeline"},
    "write_repeats": {"pipeline"},
    "drop_planted": {"pipeline"},
    "write_estimates": {"pipeline"},
    "write_report": {"pipeline"},
    "keep_receipt": {"generate", "extract"},
}

HEAVY = ("altair", "cv2", "matplotlib", "numpy", "onnxruntime", "openai", "pandas", "PIL", "plotly",
         "polars", "scipy", "torch", "vl_convert")  # fmt: skip
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}
MAX_LINES = 400
MAX_FUNCTION_LINES = 60


@cache
def modules() -> dict[str, ast.Module]:
    """Dotted name -> syntax tree of every module of the package."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        dotted = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        found[dotted.removesuffix(".__init__")] = ast.parse(path.read_text("utf-8"))
    return found


def part_of(module: str) -> str:
    """``contextbias.measure.rows`` -> ``measure``; the package itself is ``contextbias``."""
    return module.split(".")[1] if "." in module else module


def imports(module: str) -> Iterator[str]:
    """Every module of ours that `module` imports, anywhere in it."""
    for node in ast.walk(modules()[module]):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            base = node.module or ""
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield full if full in modules() else base
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def own_imports(module: str) -> set[str]:
    return {name for name in imports(module) if name.split(".")[0] == "contextbias"}


# ---- who knows whom


def test_every_part_has_its_level() -> None:
    parts = {part_of(module) for module in modules()} - {"contextbias"}
    assert parts == set(LEVELS)


@pytest.mark.parametrize("module", modules())
def test_imports_run_downwards(module: str) -> None:
    mine = part_of(module)
    for name in own_imports(module):
        part = part_of(name)
        if part in ("contextbias", mine):
            continue
        below = LEVELS[part] < LEVELS.get(mine, -1)
        beside = LEVELS[part] == LEVELS.get(mine, -1) and part not in STAGES
        assert below or beside, f"{module} imports {name}"


@pytest.mark.parametrize("module", [m for m in modules() if part_of(m) in STAGES])
def test_a_stage_imports_no_other_stage(module: str) -> None:
    others = STAGES - {part_of(module)}
    assert not {part_of(name) for name in own_imports(module)} & others


@pytest.mark.parametrize("module", [m for m in modules() if part_of(m) == "stats"])
def test_statistics_import_nothing_of_ours(module: str) -> None:
    allowed = {"contextbias.stats"}
    assert all(name.startswith(tuple(allowed)) for name in own_imports(module))


def test_only_the_pipeline_and_what_it_wants_know_several_stages() -> None:
    know = {
        part_of(module)
        for module in modules()
        if len({part_of(name) for name in own_imports(module)} & STAGES) > 1
    }
    assert know <= KNOW_ALL_STAGES


def test_no_import_in_a_circle() -> None:
    graph = {module: own_imports(module) & set(modules()) - {module} for module in modules()}
    top = {module: _imported_at_the_top(module) & graph[module] for module in graph}
    while leaves := [module for module, names in top.items() if not names & set(top)]:
        for module in leaves:
            del top[module]
    assert top == {}


def _imported_at_the_top(module: str) -> set[str]:
    found = set()
    for node in modules()[module].body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in modules() else str(node.module))
    return found


# ---- one writer a table


def test_only_its_writer_writes_a_table() -> None:
    for module, tree in modules().items():
        for node in ast.walk(tree):
            name = node.attr if isinstance(node, ast.Attribute) else None
            if name in WRITERS and part_of(module) != "store":
                assert part_of(module) in WRITERS[name], f"{module} uses {name}"


def test_every_way_of_writing_is_known_here() -> None:
    (study,) = [
        node
        for node in modules()["contextbias.store"].body
        if isinstance(node, ast.ClassDef) and node.name == "Study"
    ]
    methods = {node.name for node in study.body if isinstance(node, ast.FunctionDef)}
    writing = {name for name in methods if name.startswith(("append_", "write_", "drop_"))}
    assert writing == set(WRITERS) - {"keep_receipt"}


def test_only_annotate_writes_what_people_answer() -> None:
    (book,) = [
        node
        for node in modules()["contextbias.people.annotations"].body
        if isinstance(node, ast.ClassDef)
    ]
    methods = {node.name for node in book.body if isinstance(node, ast.FunctionDef)}
    writing = {name for name in methods if name.startswith("append_")}
    assert len(writing) == 7
    for module, tree in modules().items():
        names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert not names & writing or part_of(module) in ("annotate", "people"), module


def test_only_the_database_speaks_sql() -> None:
    users = {part_of(module) for module in modules() if "sqlite3" in set(imports(module))}
    assert users == {"database", "migrations"}


# ---- names and sizes


def test_public_names_are_sorted_and_there() -> None:
    assert contextbias.__all__ == sorted(contextbias.__all__)
    assert all(hasattr(contextbias, name) for name in contextbias.__all__)


@pytest.mark.parametrize("module", modules())
def test_what_a_module_exports_is_there(module: str) -> None:
    for node in modules()[module].body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            names = ast.literal_eval(node.value)
            assert names == sorted(names, key=_as_ruff_sorts)
            assert len(set(names)) == len(names)


def _as_ruff_sorts(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


@pytest.mark.parametrize("module", modules())
def test_modules_have_names_of_the_field_and_a_docstring(module: str) -> None:
    assert not set(module.split(".")) & FORBIDDEN_NAMES
    assert ast.get_docstring(modules()[module]), f"{module} does not say what it is for"


@pytest.mark.parametrize("module", modules())
def test_modules_and_functions_are_small(module: str) -> None:
    path = PACKAGE.joinpath(*module.split(".")[1:])
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    assert len(path.read_text("utf-8").splitlines()) <= MAX_LINES
    for node in ast.walk(modules()[module]):
        if isinstance(node, ast.FunctionDef):
            docstring = len((ast.get_docstring(node) or "").splitlines())
            size = (node.end_lineno or 0) - node.lineno - docstring
            assert size <= MAX_FUNCTION_LINES, f"{module}.{node.name} has {size} lines"


# ---- lightness


def loaded_by(code: str) -> set[str]:
    """Top-level names in sys.modules after `code` ran in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sorted(sys.modules), file=sys.stderr)"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    return {name.split(".")[0] for name in done.stderr.split()}


HELP = """
from contextbias.cli.main import main
try: main({args!r})
except SystemExit as end: assert not end.code, end.code
"""


@pytest.mark.parametrize(
    "code",
    [
        "import contextbias",
        HELP.format(args=["--help"]),
        HELP.format(args=["--version"]),
        HELP.format(args=["run", "--help"]),
        HELP.format(args=["consistency", "--help"]),
    ],
)
def test_starting_loads_nothing_heavy(code: str) -> None:
    assert not loaded_by(code) & set(HEAVY)


def test_the_package_alone_loads_next_to_nothing() -> None:
    ours = {name for name in sys.modules if name.startswith("contextbias.")}
    assert ours  # the tests have loaded more; a fresh interpreter has not
    fresh = loaded_by("import contextbias")
    assert "typer" not in fresh
    assert "rich" not in fresh
