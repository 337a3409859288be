"""The pages say what is so: generated ones are fresh, links resolve, named commands exist."""

from __future__ import annotations

import csv
import importlib.util
import io
import re
import socket
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest
import typer

from contextbias import __version__
from contextbias.cli.init import template_text
from contextbias.cli.main import app
from contextbias.measure.counts import consistency_csv
from contextbias.pipeline import STAGES, Options, import_reference, read_reference, run
from contextbias.pipeline.annotation import simulate_people
from contextbias.pipeline.validation_prompts import FOLDER, Size, prepare, put
from contextbias.pipeline.validation_run import ask
from contextbias.store import Study
from contextbias.tables import MISSING_REASONS, EstimateRow
from tests.conftest import CHECKOUT
from tests.released import put_study

DOCS = CHECKOUT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *CHECKOUT.glob("*.md")])
NAMES = [str(path.relative_to(CHECKOUT)) for path in PAGES]

# What pages and code must not carry: places of one machine, and addresses of package registries.
PLACES = re.compile(
    r"(?<![\w.])/(work|root|home|tmp|Users|mnt|opt)/\w|"
    r"index-url|https?://[^\s)]*(?:registry|/simple/)",
)
LINK = re.compile(r"(?<!`)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
COMMAND = re.compile(r"contextbias ((?:[a-z]+ ?)+)")


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def commands() -> dict[str, Any]:
    """``run``, ``import images`` … -> the command."""
    root: Any = typer.main.get_command(app)
    return {
        full.removeprefix("contextbias "): command
        for full, command in generator()._commands("contextbias", root)
    }


# ---- generated pages


def test_generated_pages_are_fresh() -> None:
    made = generator().pages()
    stored = {path.name: path.read_text("utf-8") for path in DOCS.glob("reference/*.md")}
    assert set(stored) == set(made)
    stale = [name for name, text in made.items() if stored[name] != text]
    assert not stale, f"run `make docs`: {', '.join(stale)}"


def test_every_column_and_reason_is_on_the_tables_page() -> None:
    page = (DOCS / "reference/tables.md").read_text("utf-8")
    for field in EstimateRow.__dataclass_fields__:
        assert f"| `{field}` |" in page
    for reason in MISSING_REASONS:
        assert f"| `{reason}` |" in page


# ---- links, commands, places


@pytest.mark.parametrize("name", NAMES)
def test_relative_links_resolve(name: str) -> None:
    page = CHECKOUT / name
    for target in LINK.findall(_without_code(page.read_text("utf-8"))):
        if target.startswith(("https://", "http://", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{name} links to {target}"
        if anchor:
            assert anchor in _anchors(linked), f"{name} links to {target}"


def _without_code(text: str) -> str:
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def _anchors(page: Path) -> set[str]:
    """As GitHub names headings: lower case, spaces to hyphens, punctuation away."""
    headings = re.findall(r"^#+ (.+)$", _without_code(page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", NAMES)
def test_every_command_and_option_named_on_a_page_exists(name: str) -> None:
    known = commands()
    groups = {word.split()[0] for word in known if " " in word}
    for line in _command_lines((CHECKOUT / name).read_text("utf-8")):
        words = line.split()[1:]
        first = words[0] if words else "--help"
        if first.startswith("-"):
            assert first in ("--help", "--version", "-h"), line
            continue
        command = " ".join(words[:2]) if first in groups else first
        if first in groups and len(words) == 1:
            continue
        assert command in known, f"{name}: {line}"
        options = {option for param in known[command].params for option in param.opts}
        for word in words:
            if word.startswith("--"):
                assert word.split("=")[0] in {*options, "--help"}, f"{name}: {line}"


def _command_lines(text: str) -> list[str]:
    """Calls of the program, in code blocks and in back ticks."""
    fenced = re.findall(r"```(?:sh|console|bash|text)\n(.*?)```", text, re.DOTALL)
    indented = re.findall(r"^ {4}(.+)$", text, re.MULTILINE)
    blocks = "\n".join([*fenced, *indented])
    blocks = blocks.replace("\\\n", " ")
    found = re.findall(r"^(?:\$ )?(?:\.venv/bin/)?(contextbias(?: [^\n#|]*)?)", blocks, re.M)
    return found + re.findall(r"`(?:\.venv/bin/)?(contextbias [^`\n]+)`", text)


def test_every_make_target_named_in_the_readme_exists() -> None:
    makefile = (CHECKOUT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for page in ("README.md", "CONTRIBUTING.md"):
        text = (CHECKOUT / page).read_text("utf-8")
        named = set(re.findall(r"(?:^ *|`)make ([a-z-]+)", text, re.MULTILINE))
        assert named
        assert named <= targets


@pytest.mark.parametrize("name", NAMES)
def test_pages_name_no_place_of_one_machine_and_no_registry(name: str) -> None:
    found = PLACES.search((CHECKOUT / name).read_text("utf-8"))
    assert not found, found


def test_no_source_names_a_place_of_one_machine_or_a_registry() -> None:
    for path in sorted((CHECKOUT / "src").rglob("*")):
        if path.suffix in (".py", ".toml", ".html", ".js", ".css"):
            found = PLACES.search(path.read_text("utf-8"))
            assert not found, f"{path}: {found}"


def test_every_page_of_the_docs_is_on_the_map() -> None:
    index = (DOCS / "index.md").read_text("utf-8")
    linked = {(DOCS / t.partition("#")[0]).resolve() for t in LINK.findall(index)}
    assert {path.resolve() for path in DOCS.rglob("*.md")} - linked == {DOCS / "index.md"}


# ---- estimands


def test_estimands_of_a_study_are_those_of_the_page(tmp_path: Path) -> None:
    table = tomllib.loads((DOCS / "estimands.toml").read_text("utf-8"))["estimands"]
    listed = [row["name"] for row in table]
    assert len(set(listed)) == len(listed)
    released = _released_estimates(tmp_path)
    assert set(listed) == set(_estimates(tmp_path)["estimand"]) | set(released["estimand"])


def _released_estimates(folder: Path) -> pl.DataFrame:
    found = read_reference(put_study(folder / "files"))
    text = '[measure]\npreset = "reference"\nbootstrap = 5\n'
    with Study.create(folder / "r", text) as study:
        import_reference(study, found, reader="r")
        run(study, ("canonicalise", "measure"), Options())
        estimates = study.estimates()
    assert estimates is not None
    return estimates


def _estimates(folder: Path) -> pl.DataFrame:
    text = template_text("quick").replace(
        '["nurse", "welder", "ceo", "farmer", "judge"]', '["nurse", "welder"]'
    )
    text = text.replace("[study]\n", "[study]\n", 1) + "\n[measure]\nbootstrap = 20\n"
    text += f"shares = {str(DOCS / 'examples/shares.csv')!r}\n"
    text += "\n[annotate]\nsets = 2\nset_size = 6\nimages = 60\nrepeats = 0.2\n"
    with Study.create(folder / "s", text) as study:
        run(study, STAGES[:-1], Options(repeat=1, sample=20))
        simulate_people(folder / "s", 3)
        put(folder / "s" / FOLDER, prepare(study, Size(prompts=8, images=1)))
        ask(folder / "s" / FOLDER, Options())
        run(study, ("measure",), Options())
        estimates = study.estimates()
    assert estimates is not None
    return estimates


def test_the_tutorial_shows_what_consistency_gives() -> None:
    tutorial = (DOCS / "tutorial.md").read_text("utf-8")
    assert (DOCS / "examples/counts.csv").read_text("utf-8") in tutorial
    result = consistency_csv(DOCS / "examples/counts.csv")
    for row in csv.DictReader(io.StringIO(result)):
        if row["generator"] != "mean":
            numbers = [float(row[name]) for name in ("prevalence_pct", "range_pp", "ccs")]
            prevalence, spread, ccs = numbers
            p, q = (f"{float(row[name]):.2g}" for name in ("p", "q"))
            line = next(x for x in tutorial.splitlines() if x.startswith(f"| {row['label']} |"))
            assert line.startswith(f"| {row['label']} | {prevalence:.2f} | {spread:.2f} | {p[:3]}")
            assert f" | {q[:3]}" in line
            assert f" | {ccs:.3g} | {row['invariant']} | {row['verdict']} |" in line


# ---- project files


def test_citation_has_this_version_and_the_paper() -> None:
    citation = (CHECKOUT / "CITATION.cff").read_text("utf-8")
    assert f"version: {__version__}" in citation
    assert "2608.29847" in citation
    changes = (CHECKOUT / "CHANGELOG.md").read_text("utf-8")
    assert re.search(rf"^## {re.escape(__version__)}", changes, re.MULTILINE)


def test_the_readme_starts_with_two_commands() -> None:
    readme = (CHECKOUT / "README.md").read_text("utf-8")
    assert readme.index("make demo") < readme.index("make test") < 2500
    assert socket.gethostname() not in readme
