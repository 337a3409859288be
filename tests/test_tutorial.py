"""The tutorial's numbers are those of the demo."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from contextbias.pipeline import STAGES
from tests.conftest import CHECKOUT

TUTORIAL = (CHECKOUT / "docs/tutorial.md").read_text("utf-8")
PROGRAM = "from contextbias.cli.main import main; main()"
MODELS = ("context-immune", "context-sensitive")


@pytest.mark.slow
def test_the_tutorial_shows_the_demo(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "demo", "--out", str(tmp_path / "demo")],
        capture_output=True,
        text=True,
        check=True,
    )
    stages = [line for line in done.stderr.splitlines() if line.split(" ")[0] in STAGES]
    assert "\n".join(stages) in TUTORIAL
    estimates = pl.read_parquet(tmp_path / "demo/derived/estimates.parquet")
    for line in (*_intensities(estimates), *_scrubs(estimates)):
        assert line in TUTORIAL
    point, low, high = _contrast(estimates, "noiseless-reader", "context-sensitive")
    assert f"{point:.3f} ({low:.3f} to {high:.3f})" in TUTORIAL.replace("\n", " ")


def _contrast(
    estimates: pl.DataFrame, reader: str, model: str
) -> tuple[float, float | None, float | None]:
    row = estimates.row(
        by_predicate=(pl.col("estimand") == "bi_role")
        & (pl.col("reader") == reader)
        & (pl.col("generator") == model)
        & (pl.col("cohort") == "people")
        & pl.col("dimension").is_null()
        & (pl.col("contrast") == "CA-U - CF"),
        named=True,
    )
    return row["point"], row["low"], row["high"]


def _intensities(estimates: pl.DataFrame) -> list[str]:
    lines = []
    for model in MODELS:
        point, low, high = _contrast(estimates, "noisy-reader", model)
        planted, _, _ = _contrast(estimates, "planted", model)
        planted = round(planted, 3) or 0.0
        sign = "+" if high is not None and high > 0 else ""
        lines.append(f"| {model} | {point:.3f} | {low:.3f} to {sign}{high:.3f} | {planted:.3f} |")
    return lines


def _scrubs(estimates: pl.DataFrame) -> list[str]:
    rows = estimates.filter(
        pl.col("reader") == "noisy-reader",
        pl.col("role") == "nurse",
        pl.col("dimension") == "clothing_garment",
        pl.col("label") == "scrubs",
    )
    lines = []
    for model in MODELS:
        mine = rows.filter(pl.col("generator") == model)
        cells = []
        for condition in ("CF", "CA-R", "CA-U"):
            (row,) = mine.filter(
                pl.col("estimand") == "prevalence", pl.col("condition") == condition
            ).rows(named=True)
            cells.append(f"{row['point']:.0%} of {row['n']}")
        (verdict,) = mine.filter(pl.col("estimand") == "verdict")["verdict"]
        lines.append(f"| {model} | {' | '.join(cells)} | {verdict} |")
    return lines
