"""Time of the consistency numbers for a study of the paper's size: 180,000 cells x 4 generators.

python perf/consistency.py [CELLS]
"""

from __future__ import annotations

import sys
import time

import numpy as np
import polars as pl

from contextbias.measure.cells import Rule, cell_consistency
from contextbias.measure.consistency import consistency_estimates
from contextbias.tables import CONDITIONS

LABELS = 100  # of one role: 10 dimensions of 10 labels


def counts(cells: int, rng: np.random.Generator) -> pl.DataFrame:
    """Mostly rare labels, and a few images missing from each question."""
    questions = rng.integers(0, 4, (cells // 10 + 1, 3)).repeat(10, axis=0)[:cells]
    n = np.array([30, 70, 80]) - questions
    x = rng.binomial(n, rng.beta(0.3, 3, (cells, 1)))
    index = pl.int_range(cells, eager=True)
    names = {"role": index // LABELS, "dimension": index % LABELS // 10, "label": index % LABELS}
    table = {name: values.cast(pl.String) for name, values in names.items()}
    for i, condition in enumerate(CONDITIONS):
        table |= {f"x_{condition}": pl.Series(x[:, i]), f"n_{condition}": pl.Series(n[:, i])}
    keys = {"generator": pl.lit("g"), "cohort": pl.lit("people"), "n_missing": pl.lit(5)}
    return pl.DataFrame(table).with_columns(**keys)


def main() -> None:
    """Print seconds."""
    cells = int(sys.argv[1]) if len(sys.argv) > 1 else 720_000
    table = counts(cells, np.random.default_rng(1))
    start = time.perf_counter()
    cell_consistency(table, Rule.of(5.0, 0.05), family=("generator",))
    middle = time.perf_counter()
    rows = consistency_estimates(
        table, reader="r", preset="paper", people="primary", margin_pp=5.0, alpha=0.05
    )
    print(f"{cells} cells: numbers {middle - start:.2f} s")
    print(f"{rows.height} rows of estimates: {time.perf_counter() - middle:.2f} s")


if __name__ == "__main__":
    main()
