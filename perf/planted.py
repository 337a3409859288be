"""What a study of both simulated models finds: without pictures, read noiselessly.

    python perf/planted.py                          the demo's numbers, beside the planted ones
    python perf/planted.py --studies 6 --rho 0.2    how often the intervals cover what was planted
    python perf/planted.py --studies 40 --roles 4   the same for 4 roles, others in each study

Draws the records of the bank's roles and prompts and takes them through canonicalise and measure.
With ``--roles`` each study draws its roles from all that have planted tables; their prompts are
those of the bank's roles, lent in turn.
"""

from __future__ import annotations

import argparse
import random
import time
from dataclasses import replace

import polars as pl

from contextbias.bench import build_prompts, load_bank
from contextbias.canonicalise.attributes import to_attributes
from contextbias.canonicalise.mapping import canonical_planted, pass_through
from contextbias.generate.planted import draw_record
from contextbias.generate.planted_tables import table
from contextbias.generate.simulated import SimulatedGenerator
from contextbias.ids import image_seed
from contextbias.measure.stage import measure
from contextbias.schema.codebook import DIMENSIONS
from contextbias.tables import ImageRow, Prompt, ReaderRow, ReadingRow

MODELS = ("context-immune", "context-sensitive")
CELL = ["generator", "role", "condition", "dimension", "label"]
READER = ReaderRow(
    reader="truth", fingerprint="0", backend="simulated", settings={},
    readable=dict.fromkeys(DIMENSIONS),
)  # fmt: skip


def rows(
    generator: SimulatedGenerator, prompt: Prompt, seed: int, replicate: int
) -> tuple[ImageRow, ReadingRow]:
    model = generator.model
    key = f"{model.name}-{prompt.prompt_id}-{replicate}"
    truth = draw_record(
        model, role=prompt.role, condition=prompt.condition, location=prompt.location,
        prompt_id=prompt.prompt_id, seed=seed,
    ).record  # fmt: skip
    image = ImageRow(
        image_id=key, attempt=1, prompt_id=prompt.prompt_id, generator=model.name,
        generator_fingerprint="0", role=prompt.role, condition=prompt.condition,
        variant=prompt.variant, seed=seed, replicate=replicate, status="ok", reason=None,
        path=None, sha256=None, width=512, height=512, seconds=0.0, created_at="", provenance={},
    )  # fmt: skip
    reading = ReadingRow(
        reading_id=key, attempt=1, image_id=key, reader="truth", reader_fingerprint="0",
        schema_version="1", status="ok", reason=None, record=truth, raw={}, seconds=0.0,
        created_at="",
    )  # fmt: skip
    return image, reading


def asked_of(roles: int | None, study_seed: int) -> list[Prompt]:
    """Prompts of the bank's roles, or of some drawn ones."""
    own = build_prompts(load_bank("contextbench"), None)
    if roles is None:
        return list(own)
    drawn = random.Random(study_seed).sample(sorted(table("roles")["roles"]), roles)
    lenders = sorted({prompt.role for prompt in own})
    return [
        replace(prompt, role=role, prompt_id=f"{prompt.prompt_id}-{place}")
        for place, role in enumerate(drawn)
        for prompt in own
        if prompt.role == lenders[place % len(lenders)]
    ]


def estimates(
    study_seed: int, images_per_prompt: int, rho: float, roles: int | None
) -> pl.DataFrame:
    prompts = asked_of(roles, study_seed)
    generators = [SimulatedGenerator({"model": model, "rho": rho}) for model in MODELS]
    made = [
        rows(generator, prompt, image_seed(study_seed, prompt.role, replicate), replicate)
        for generator in generators
        for prompt in prompts
        for replicate in range(images_per_prompt)
    ]
    images, readings = [m[0] for m in made], [m[1] for m in made]
    mapping = pass_through(readings)
    attributes = to_attributes(images, readings, [READER], mapping)
    planted = pl.concat(
        each.planted(prompts).with_columns(generator=pl.lit(each.model.name)) for each in generators
    )
    found = measure(attributes, canonical_planted(planted, mapping))
    return found.filter(pl.col("generator") != "mean")


def contrasts(found: pl.DataFrame) -> pl.DataFrame:
    return found.filter(
        pl.col("dimension").is_null(), pl.col("contrast") == "CA-U - CF", estimand="bi_role"
    ).select("cohort", "generator", "reader", "point", "low", "high")


def shares(found: pl.DataFrame) -> pl.DataFrame:
    wanted = ["share_invariant_paper", "share_shifted"]
    return found.filter(pl.col("estimand").is_in(wanted)).select(
        "cohort", "estimand", "generator", "reader", "point", "n"
    )


def ccs(found: pl.DataFrame) -> pl.DataFrame:
    """Labels of the People cohort, and of all cohorts together."""
    defined = found.filter(estimand="ccs").filter(pl.col("point").is_not_null())
    scopes = (defined.filter(cohort="people"), defined.with_columns(cohort=pl.lit("all")))
    return (
        pl.concat(scopes)
        .group_by("cohort", "generator", "reader")
        .agg((pl.col("point") >= 10).sum().alias("CCS of 10 or more"), pl.len().alias("defined"))
    )


def coverage(found: pl.DataFrame) -> pl.DataFrame:
    """Does each cell's Wilson interval hold the planted probability, where that is 5% to 95%?"""
    cells = found.filter(pl.col("role").is_not_null(), estimand="prevalence")
    planted = cells.filter(reader="planted").select(*CELL, p="point")
    read = cells.filter(pl.col("n") > 0, reader="truth")
    both = read.join(planted, on=CELL, how="left").filter(pl.col("p").is_between(0.05, 0.95))
    holds = (pl.col("low") <= pl.col("p")) & (pl.col("p") <= pl.col("high"))
    return both.select("condition", holds.alias("covered"))


def contrast_coverage(found: pl.DataFrame) -> pl.DataFrame:
    """Do the intervals of contrasts hold the planted values; those without any change apart?

    Dimensions with one label are left out: their contrast is 0 and so are both ends.
    """
    single = pl.col("note").fill_null("").str.contains("degenerate")
    contrasts = found.filter(pl.col("contrast").is_not_null(), ~single)
    key = ["estimand", "generator", "contrast", "cohort", "dimension"]
    planted = contrasts.filter(reader="planted").select(*key, planted="point")
    read = contrasts.filter(pl.col("low").is_not_null(), reader="truth")
    both = read.join(planted, on=key, nulls_equal=True)
    edge = 1e-9
    holds = (pl.col("low") <= pl.col("planted") + edge) & (
        pl.col("planted") <= pl.col("high") + edge
    )
    level = pl.when(pl.col("dimension").is_not_null()).then(pl.lit("dimension"))
    return both.select(
        "estimand",
        level.otherwise(pl.lit("average")).alias("level"),
        (pl.col("planted").abs() < edge).alias("no change"),
        holds.alias("covered"),
        (pl.col("high") - pl.col("low")).alias("width"),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--images", type=int, default=5, help="images per prompt")
    parser.add_argument("--rho", type=float, default=0.05)
    parser.add_argument("--roles", type=int, help="draw so many roles for each study")
    asked = parser.parse_args()
    began = time.perf_counter()
    seeds = range(asked.seed, asked.seed + asked.studies)
    studies = [estimates(seed, asked.images, asked.rho, asked.roles) for seed in seeds]
    with pl.Config(tbl_rows=-1, tbl_width_chars=140, float_precision=3):
        for table in (contrasts, shares, ccs):
            shown = table(studies[0])
            print(shown.sort(shown.columns[:4]))
        cells = pl.concat(coverage(found) for found in studies)
        print(cells.group_by("condition").agg(pl.col("covered").mean(), cells=pl.len()))
        held = pl.concat(contrast_coverage(found) for found in studies)
        by = ["estimand", "level", "no change"]
        print(held.group_by(by).agg(pl.col("covered", "width").mean(), intervals=pl.len()).sort(by))
    print(f"{time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
