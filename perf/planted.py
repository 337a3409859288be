"""What a study of both simulated models finds: without pictures, read noiselessly.

    python perf/planted.py                          the demo's numbers, beside the planted ones
    python perf/planted.py --studies 6 --rho 0.2    how often the intervals cover what was planted

Draws the records of the demo's roles and prompts and takes them through canonicalise and measure.
"""

from __future__ import annotations

import argparse
import time

import polars as pl

from contextbias.bench import build_prompts, load_bank
from contextbias.canonicalise.attributes import to_attributes
from contextbias.canonicalise.mapping import canonical_planted, pass_through
from contextbias.generate.planted import draw_record
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


def estimates(study_seed: int, images_per_prompt: int, rho: float) -> pl.DataFrame:
    prompts = build_prompts(load_bank("contextbench"), None)
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
    people = found.filter(estimand="ccs", cohort="people").filter(pl.col("point").is_not_null())
    return people.group_by("generator", "reader").agg(
        (pl.col("point") >= 10).sum().alias("CCS of 10 or more"), pl.len().alias("defined")
    )


def coverage(found: pl.DataFrame) -> pl.DataFrame:
    """Does each cell's Wilson interval hold the planted probability, where that is 5% to 95%?"""
    cells = found.filter(pl.col("role").is_not_null(), estimand="prevalence")
    planted = cells.filter(reader="planted").select(*CELL, p="point")
    read = cells.filter(pl.col("n") > 0, reader="truth")
    both = read.join(planted, on=CELL, how="left").filter(pl.col("p").is_between(0.05, 0.95))
    holds = (pl.col("low") <= pl.col("p")) & (pl.col("p") <= pl.col("high"))
    return both.select("condition", holds.alias("covered"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--images", type=int, default=5, help="images per prompt")
    parser.add_argument("--rho", type=float, default=0.05)
    asked = parser.parse_args()
    began = time.perf_counter()
    seeds = range(asked.seed, asked.seed + asked.studies)
    studies = [estimates(seed, asked.images, asked.rho) for seed in seeds]
    with pl.Config(tbl_rows=-1, tbl_width_chars=140, float_precision=3):
        for table in (contrasts, shares, ccs):
            shown = table(studies[0])
            print(shown.sort(shown.columns[:4]))
        cells = pl.concat(coverage(found) for found in studies)
        print(cells.group_by("condition").agg(pl.col("covered").mean(), cells=pl.len()))
    print(f"{time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
