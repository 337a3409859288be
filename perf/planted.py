"""What the demo's study should find: both simulated models, without pictures, read noiselessly.

    python perf/planted.py [images_per_prompt] [study_seed]

Draws the records of the demo's roles and prompts, measures them and prints the estimates that
separate the models, beside the planted values.
"""

from __future__ import annotations

import sys
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
READER = ReaderRow(
    reader="truth", fingerprint="0", backend="simulated", settings={},
    readable=dict.fromkeys(DIMENSIONS),
)  # fmt: skip


def rows(
    prompt: Prompt, model: str, replicate: int, study_seed: int
) -> tuple[ImageRow, ReadingRow]:
    seed = image_seed(study_seed, prompt.role, replicate)
    key = f"{model}-{prompt.prompt_id}-{replicate}"
    truth = draw_record(
        SimulatedGenerator({"model": model}).model,
        role=prompt.role, condition=prompt.condition, location=prompt.location,
        prompt_id=prompt.prompt_id, seed=seed,
    ).record  # fmt: skip
    image = ImageRow(
        image_id=key, attempt=1, prompt_id=prompt.prompt_id, generator=model,
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


def estimates(images_per_prompt: int, study_seed: int) -> pl.DataFrame:
    prompts = build_prompts(load_bank("contextbench"), None)
    made = [
        rows(prompt, model, replicate, study_seed)
        for model in MODELS
        for prompt in prompts
        for replicate in range(images_per_prompt)
    ]
    images, readings = [m[0] for m in made], [m[1] for m in made]
    mapping = pass_through(readings)
    attributes = to_attributes(images, readings, [READER], mapping)
    planted = pl.concat(
        SimulatedGenerator({"model": model}).planted(prompts).with_columns(generator=pl.lit(model))
        for model in MODELS
    )
    return measure(attributes, canonical_planted(planted, mapping))


def report(found: pl.DataFrame) -> None:
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=180, float_precision=3):
        levels = found.filter(
            pl.col("dimension").is_null(), pl.col("contrast") == "CA-U - CF",
            pl.col("estimand").is_in(["bi_role", "bi_pooled"]), pl.col("generator") != "mean",
        )  # fmt: skip
        keys = ["estimand", "reader", "generator", "cohort", "point", "low", "high"]
        print(levels.select(keys).sort("estimand", "cohort", "generator", "reader"))
        shares = found.filter(
            pl.col("estimand").is_in(["share_invariant_paper", "share_shifted"]),
            pl.col("generator") != "mean",
        )  # fmt: skip
        print(
            shares.select("estimand", "reader", "generator", "cohort", "point", "n").sort(
                "estimand", "cohort"
            )
        )
        ccs = found.filter(
            pl.col("estimand") == "ccs", pl.col("dimension") == "gender_presentation",
            pl.col("point") > 5, pl.col("generator") != "mean",
        )  # fmt: skip
        print(ccs.select("reader", "generator", "role", "label", "point").sort("role", "generator"))


if __name__ == "__main__":
    began = time.perf_counter()
    numbers = [int(word) for word in sys.argv[1:]]
    report(estimates(*(numbers + [5, 1][len(numbers) :])))
    print(f"{time.perf_counter() - began:.1f} s")
