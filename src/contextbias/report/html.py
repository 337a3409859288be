"""The page: what each section shows, filled into the template, with its data and script inside."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from contextbias.ids import canonical_json
from contextbias.report import (
    asked,
    associations,
    bias_figures,
    counted,
    coverage,
    dependence,
    dimensions,
    explorer,
    findings,
    formats,
    known,
    missing,
    panels,
    planted,
    represented,
    rewordings,
    share_figures,
    trust,
)
from contextbias.report.inputs import ReportInputs
from contextbias.report.select import (
    cohort_of,
    conditions_in,
    of_reader,
    readers_in,
    roles_in,
    summary_of,
)
from contextbias.report.tables import csv_files
from contextbias.report.thumbnails import Thumbnails, embed
from contextbias.tables import CONDITIONS, MISSING_REASONS, ReaderRow

PAGE = "index.html"
"""Name of the page in the report's folder."""

FAILED = "images_unusable.csv"
"""Name of the table of images without a usable file."""

_SCRIPTS = ("data.js", "pictures.js", "associations.js", "page.js")
_CONDITION_NAMES = {"CF": "no context", "CA-R": "related context", "CA-U": "unrelated context"}


@dataclass(frozen=True, slots=True)
class ReaderView:
    """Everything that the page shows of one reader."""

    name: str
    ident: str
    backend: str
    comparable: bool
    """True when there are images in more than one condition."""
    lead: Markup
    cards: list[findings.Card]
    counted: counted.Counted | None
    """The leading contrast, counted in other ways."""
    descriptions: list[findings.Description]
    """Only for images of one role and condition."""
    figures: list[panels.Figure]
    dimensions: dimensions.DimensionTable | None
    rewordings: list[rewordings.RewordingPart]
    dependence: dependence.Dependence | None
    represented: represented.Represented | None
    missing: missing.MissingView
    coverage: list[coverage.CoverageTable]
    told_apart: list[tuple[str, str]]
    recoveries: list[planted.Recovery]
    share_recoveries: list[planted.ShareRecovery]
    bias: list[Markup]
    planted_figure: panels.Figure | None
    trust: trust.Trust
    known: known.Known | None


def render(inputs: ReportInputs) -> dict[str, bytes]:
    """Make the report's files from tables; pure but for reading the image files.

    Args:
        inputs: Estimates, attributes, images and what was run.

    Returns:
        File content by path below the report folder: ``index.html`` and ``tables/*.csv``. The same
        inputs give the same bytes.
    """
    tables = csv_files(inputs.estimates)
    failed = missing.failed_images(inputs.images, inputs.report_dir.parent)
    if failed:
        tables[FAILED] = missing.failed_table(failed).write_csv().encode()
    with ThreadPoolExecutor(max_workers=1) as aside:
        # Decoding images and drawing charts both release the interpreter's lock.
        embedding = aside.submit(
            embed, inputs.images, budget=inputs.thumbnail_budget, fetch=inputs.fetch
        )
        views = _reader_views(inputs)
        thumbnails = embedding.result()
    conditions = asked.condition_rows(inputs)
    context = {
        "inputs": inputs,
        "facts": inputs.facts,
        "readers": views,
        "run": asked.run_rows(inputs),
        "conditions": conditions,
        "confound": asked.confound(conditions),
        "condition_words": _CONDITION_NAMES,
        "contexts_known": asked.contexts_known(inputs.estimates),
        "prompts_known": any(prompt.text for prompt in inputs.prompts),
        "failed": failed,
        "reasons": MISSING_REASONS,
        "table_names": sorted(tables),
        "roles": asked.roles_of(inputs),
        "rewording_header": [title for title, _, _ in rewordings.HEADER],
        "comparable": any(view.comparable for view in views),
        "level": formats.level(inputs.facts.alpha),
        "interval_methods": _interval_methods(inputs.estimates),
        "clustered": bool((inputs.estimates["estimand"] == "chi2_clustered_p").any()),
        "data": _blocks(inputs, views, thumbnails),
    }
    page = _environment().get_template("page.html.j2").render(context)
    return {PAGE: page.encode()} | {f"tables/{name}": data for name, data in tables.items()}


def _reader_views(inputs: ReportInputs) -> list[ReaderView]:
    rows = {row.reader: row for row in inputs.facts.readers}
    names = readers_in(inputs.estimates, list(rows))
    return [_reader_view(inputs, name, f"r{k}", rows.get(name)) for k, name in enumerate(names)]


def _reader_view(inputs: ReportInputs, name: str, ident: str, row: ReaderRow | None) -> ReaderView:
    order = [generator.generator for generator in inputs.facts.generators]
    every = of_reader(inputs.estimates, name)
    frame = summary_of(every)
    comparable = len(conditions_in(frame)) > 1
    level = formats.level(inputs.facts.alpha)
    found = findings.cards(frame, order, alpha=inputs.facts.alpha, bootstrap=inputs.facts.bootstrap)
    recovered = planted.recoveries(inputs.estimates, name, order)
    drawn = [
        bias_figures.contrasts_figure(frame, order, f"{ident}-contrasts", level=level),
        None
        if comparable
        else share_figures.distributions_figure(every, f"{ident}-labels", level=level),
        bias_figures.levels_figure(frame, order, f"{ident}-levels", level=level),
        bias_figures.dimensions_figure(frame, order, f"{ident}-dimensions"),
    ]
    return ReaderView(
        name=name,
        ident=ident,
        backend=row.backend if row else "",
        comparable=comparable,
        lead=findings.lead_sentence(found),
        cards=found,
        counted=counted.counted(frame, order),
        descriptions=[] if comparable or len(roles_in(frame)) > 1 else findings.descriptions(every),
        figures=[figure for figure in drawn if figure is not None],
        dimensions=dimensions.dimension_table(frame, order),
        rewordings=rewordings.rewordings(frame, order),
        dependence=dependence.dependence(frame, order),
        represented=represented.represented(frame, order),
        missing=missing.missing_view(frame, order),
        coverage=coverage.coverage_tables(frame, order),
        told_apart=coverage.told_apart(row),
        recoveries=recovered,
        share_recoveries=planted.share_recoveries(inputs.estimates, name, order),
        bias=planted.remaining_bias(recovered),
        planted_figure=share_figures.planted_figure(
            inputs.estimates, name, order, f"{ident}-recovery"
        ),
        trust=trust.trust(inputs.estimates, name, order, trust.means_of(inputs, row)),
        known=known.known(every, order, alpha=inputs.facts.alpha),
    )


def _interval_methods(estimates: pl.DataFrame) -> list[str]:
    """How the intervals of Bias Intensity were made, as the estimates say."""
    interval = pl.col("point").is_not_null() & pl.col("low").is_not_null()  # bounds have no point
    rows = estimates.filter(pl.col("estimand").str.starts_with("bi_") & interval)
    return sorted(rows["method"].drop_nulls().unique())


def _blocks(
    inputs: ReportInputs, views: Sequence[ReaderView], thumbnails: Thumbnails
) -> list[tuple[str, Markup]]:
    """The embedded JSON by element id; the vocabulary comes last, when it is complete."""
    vocabulary = explorer.Vocabulary()
    for generator in inputs.facts.generators:
        vocabulary.generators.place(generator.generator)
    for condition in CONDITIONS:
        vocabulary.conditions.place(condition)
    blocks: dict[str, Any] = {"pictures": explorer.pictures(thumbnails, inputs, vocabulary)}
    for view in views:
        frame = of_reader(inputs.estimates, view.name)
        blocks[f"{view.ident}-table"] = associations.associations(frame, vocabulary)
        blocks[f"{view.ident}-facts"] = explorer.facts(
            inputs.attributes, view.name, thumbnails, vocabulary
        )
    settings = {
        "people": inputs.facts.people,
        "readers": [view.name for view in views],
        "conditionWords": _CONDITION_NAMES,
        "strict": inputs.facts.preset == "strict",
        "level": formats.level(inputs.facts.alpha),
    }
    blocks["vocabulary"] = vocabulary.as_json() | settings
    blocks["thumbnails"] = explorer.thumbnail_texts(thumbnails)
    return [(name, _script_json(value)) for name, value in blocks.items()]


def _script_json(value: Any) -> Markup:
    """JSON that may stand inside a script element, whatever the strings in it say."""
    text = canonical_json(value)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("contextbias.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = "\n".join(_template_text(name) for name in _SCRIPTS)
    script = f'(() => {{\n"use strict";\n{script}\n}})();'
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment.globals |= {
        "style": Markup(_template_text("page.css")),
        "script": Markup(script),
        "script_hash": f"sha256-{digest}",
    }
    environment.filters |= {
        "capital": formats.capital,
        "minus": formats.minus,
        "people_first": _people_first,
        "short": formats.short,
        "words": formats.words,
        "whole": formats.whole,
        "settings": _settings_text,
        "trusted_svg": Markup,
    }
    return environment


def _people_first(
    rows: Sequence[tuple[str, tuple[missing.MissingCell, ...]]],
) -> list[tuple[str, tuple[missing.MissingCell, ...]]]:
    """Rows of dimensions, those about people first, in the given order otherwise."""
    return sorted(rows, key=lambda row: cohort_of(row[0]) != "people")


def _settings_text(settings: dict[str, Any]) -> str:
    return json.dumps(settings, indent=1, sort_keys=True, ensure_ascii=False)


def _template_text(name: str) -> str:
    return files("contextbias.report").joinpath("templates", name).read_text("utf-8")
