"""The core against plain NumPy on dense arrays (perf/yardstick.py), on a small study."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.conftest import CHECKOUT

from contextbias.measure import measure, stage
from contextbias.measure.intensity import SLOTS
from contextbias.tables import CONDITIONS


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"perf_{name}", CHECKOUT / f"perf/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[pl.DataFrame, Any, Any]:
    study, yardstick = load("study"), load("yardstick")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "ROLES", study.ROLES[:7])
        patch.setattr(study, "GENERATORS", study.GENERATORS[:2])
        patch.setattr(study, "OPEN_LABELS", dict.fromkeys(study.OPEN_LABELS, 60))
        path = Path(tmp_path_factory.mktemp("yardstick") / "attributes.parquet")
        study.write_attributes(path, 6)
    ours = measure(pl.scan_parquet(path), bootstrap=200, sections=stage.CORE)
    return ours, yardstick.yardstick(path, bootstrap=200), yardstick


def test_bias_intensity(both: tuple[pl.DataFrame, Any, Any]) -> None:
    ours, plain, _ = both
    for name, values in plain.bi.items():
        support = "raw" if name == "bi_pooled" else "equal"
        rows = ours.filter(
            pl.col("estimand") == name, pl.col("role").is_null(), pl.col("support") == support
        )
        for g, generator in enumerate(plain.counts.generators):
            for d, (cohort, dimension) in enumerate(plain.counts.dimensions):
                found = at(rows, generator, cohort, dimension)["point"]
                np.testing.assert_allclose(found, values[g, d], rtol=0, atol=1e-9)
        overall = at(rows, "mean", "all", None)
        for number, end in enumerate(("point", "low", "high")):
            np.testing.assert_allclose(overall[end], plain.overall[name][number], rtol=0, atol=1e-9)


def at(rows: pl.DataFrame, generator: str, cohort: str, dimension: str | None) -> pl.DataFrame:
    """Rows in the order of SLOTS."""
    found = rows.filter(
        pl.col("generator") == generator,
        pl.col("cohort") == cohort,
        pl.col("dimension").eq_missing(dimension),
    )
    slots = pl.DataFrame(SLOTS, schema=["condition", "contrast"], orient="row")
    return slots.join(
        found, on=["condition", "contrast"], how="left", nulls_equal=True, maintain_order="left"
    )


def test_cells(both: tuple[pl.DataFrame, Any, Any]) -> None:
    ours, plain, _ = both
    cells = ours.filter(pl.col("label").is_not_null(), pl.col("generator") != "mean")
    for name in ("range_pp", "chi2", "chi2_p", "equivalence_p", "ccs"):
        check(cells.filter(pl.col("estimand") == name), plain, plain.cells[name])
    for number, condition in enumerate(CONDITIONS):
        rows = cells.filter(pl.col("estimand") == "prevalence", pl.col("condition") == condition)
        for end in ("point", "low", "high"):
            suffix = "" if end == "point" else f"_{end}"
            check(rows, plain, plain.cells[f"prevalence{suffix}"][:, :, number], end)


def check(rows: pl.DataFrame, plain: Any, dense: Any, column: str = "point") -> None:
    assert rows.height > 1000
    expected = dense[places(rows, plain)]
    np.testing.assert_allclose(rows[column].to_numpy(), expected, rtol=1e-9, atol=1e-9)


def places(rows: pl.DataFrame, plain: Any) -> tuple[list[int], list[int], list[int]]:
    counts = plain.counts
    names = {
        (dimension, counts.labels[i]): i
        for (_, dimension), labels in zip(counts.dimensions, counts.of_dimension, strict=True)
        for i in range(labels.start, labels.stop)
    }
    return (
        [counts.generators.index(name) for name in rows["generator"]],
        [counts.roles.index(name) for name in rows["role"]],
        [names[pair] for pair in rows.select("dimension", "label").iter_rows()],
    )


def test_adjusted_p(both: tuple[pl.DataFrame, Any, Any]) -> None:
    ours, plain, yardstick = both
    keys = ["generator", "role", "dimension", "label"]
    asymptotic, exact, q = (
        ours.filter(pl.col("estimand") == name).select(*keys, "point")
        for name in ("chi2_p", "chi2_p_exact", "chi2_q")
    )
    used = asymptotic.join(exact, on=keys, how="left", suffix="_exact").with_columns(
        p=pl.coalesce("point_exact", "point")
    )
    p = plain.cells["chi2_p"].copy()
    p[places(used, plain)] = used["p"].to_numpy()
    expected = yardstick.adjusted(plain.counts, p)
    found = np.full(p.shape, np.nan)
    found[places(q, plain)] = q["point"].to_numpy()
    assert np.isfinite(found).sum() > 500
    np.testing.assert_allclose(found, expected, rtol=1e-9)
