"""Bias Intensity of counts: pooled, at matched support, corrected; contrasts and averages."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import t

from contextbias.measure.arrays import DimensionCounts, ReaderCounts
from contextbias.measure.intensity import SLOTS, Intensity, intensities, pooled_intensity
from contextbias.measure.levels import (
    BOOTSTRAP,
    MEAN,
    OVERALL,
    Intervals,
    intensity_frame,
    with_averages,
)
from contextbias.measure.rows import Run
from contextbias.schema import DIMENSIONS
from contextbias.stats.entropy import plug_in_entropy
from contextbias.stats.resample import role_weights
from contextbias.stats.subsample import expected_entropy
from contextbias.tables import CONDITIONS

RUN = Run("r", "paper", "primary", "1")
LOG2 = math.log(2)

SUPPORT = {
    "bi_pooled": "raw", "effective_labels": "raw", "bi_role": "equal",
    "bi_role_miller_madow": "raw", "bi_role_grassberger": "raw",
}  # fmt: skip
"""The support that `found` and `_contrast` look at."""


def one(
    x: list[list[list[int]]],
    *,
    generator: str = "g",
    dimension: str = "mood",
    n: list[list[int]] | None = None,
) -> DimensionCounts:
    """Counts of shape (roles, conditions, labels); n is the sum of x where it is not given."""
    table = np.array(x, dtype=np.int64)
    read = table.sum(axis=2) if n is None else np.array(n, dtype=np.int64)
    labels = tuple(f"label {i:02}" for i in range(table.shape[2]))
    cohort = DIMENSIONS[dimension].cohort
    return DimensionCounts(generator, cohort, dimension, labels, table, read, np.zeros_like(read))


def together(*dimensions: DimensionCounts) -> ReaderCounts:
    images: dict[str, np.ndarray] = {}
    for d in dimensions:
        images[d.generator] = np.maximum(images.get(d.generator, d.n), d.n)
    roles = tuple(f"role {i:02}" for i in range(len(dimensions[0].n)))
    return ReaderCounts(roles, tuple(sorted(images)), images, dimensions, pl.DataFrame())


def found(counts: ReaderCounts, replicates: int = 0) -> dict[str, Intensity]:
    """Estimand -> its intensity, of counts with one dimension."""
    roles = len(counts.roles)
    drawn = role_weights(roles, replicates, np.random.default_rng(0))
    weights = np.concatenate([np.ones((1, roles)), drawn])
    return {i.estimand: i for i in intensities(counts, weights) if i.support == SUPPORT[i.estimand]}


def raw_pooled(counts: ReaderCounts) -> list[Intensity]:
    """``bi_pooled`` at raw support, points only."""
    ones = np.ones((1, len(counts.roles)))
    return [i for i in intensities(counts, ones) if (i.estimand, i.support) == ("bi_pooled", "raw")]


def estimates(counts: ReaderCounts, replicates: int = 0) -> pl.DataFrame:
    roles = len(counts.roles)
    drawn = role_weights(roles, replicates, np.random.default_rng(0))
    weights = np.concatenate([np.ones((1, roles)), drawn])
    return intensity_frame(intensities(counts, weights), RUN, Intervals(BOOTSTRAP, 0.05))


def at(intensity: Intensity, slot: str) -> float:
    names = [condition or contrast for condition, contrast in SLOTS]
    return float(intensity.values[0, names.index(slot)])


# ---- one dimension


def test_pooled_and_per_role_by_hand() -> None:
    # Two roles, each 3 to 1 the other way round: pooled they are even, each alone is not.
    opposite = [[[3, 1]] * 3, [[1, 3]] * 3]
    both = found(together(one(opposite)))
    assert at(both["bi_pooled"], "CF") == pytest.approx(0.0)
    # H(3/4, 1/4) = 2 log 2 - (3/4) log 3; support is 4 in every condition, so nothing is drawn.
    entropy = 2 * LOG2 - 0.75 * math.log(3)
    assert at(both["bi_role"], "CF") == pytest.approx(1 - entropy / LOG2)
    # Both labels seen in four mentions: the correction adds 1/8.
    corrected = 1 - (entropy + 1 / 8) / LOG2
    assert at(both["bi_role_miller_madow"], "all") == pytest.approx(corrected)


def test_conditions_are_compared_at_the_smallest_support() -> None:
    cell = [[2, 0], [3, 3], [5, 3]]
    by_role = found(together(one([cell])))["bi_role"]
    for condition, counts in zip(CONDITIONS, cell, strict=True):
        matched = 1 - float(expected_entropy(counts, 2)) / LOG2
        assert at(by_role, condition) == pytest.approx(matched)
    contrast = at(by_role, "CA-U") - at(by_role, "CF")
    assert at(by_role, "CA-U - CF") == pytest.approx(contrast)
    assert at(by_role, "all") == pytest.approx(by_role.values[0, :3].mean())


def test_the_label_set_is_fixed_over_conditions() -> None:
    # CF shows two of the three labels, evenly: the divisor is log 3 all the same.
    pooled = found(together(one([[[2, 2, 0], [1, 1, 0], [1, 1, 1]]])))["bi_pooled"]
    assert at(pooled, "CF") == pytest.approx(1 - LOG2 / math.log(3))
    assert at(pooled, "CA-U") == pytest.approx(0.0)


def test_a_single_label_is_1_and_flagged() -> None:
    rows = estimates(together(one([[[2], [3], [4]]] * 2)), replicates=20)
    fixed = "1 of 1 dimension with one label only"
    assert set(rows["note"].drop_nulls()) == {
        "degenerate", fixed, f"3 of 4 cohorts missing; {fixed}",
    }  # fmt: skip
    of_dimension = rows.filter(
        pl.col("dimension") == "mood",
        pl.col("contrast").is_null(),
        pl.col("estimand") != "bi_role_grassberger",
    )
    assert set(of_dimension["note"]) == {"degenerate"}
    assert set(of_dimension.filter(pl.col("estimand") != "bi_role_miller_madow")["point"]) == {1.0}


def test_a_role_without_a_mention_somewhere_is_left_out_of_bi_role_and_counted() -> None:
    whole, partial = [[3, 1], [2, 2], [4, 0]], [[0, 0], [0, 9], [9, 0]]
    both, alone = found(together(one([whole, partial]))), found(together(one([whole])))
    for estimand in ("bi_role", "bi_role_miller_madow"):
        np.testing.assert_allclose(both[estimand].values, alone[estimand].values)
        assert set(both[estimand].notes) == {"1 of 2 roles left out"}
        assert set(both[estimand].n) == {1}


def test_contrasts_of_pooled_counts_use_the_roles_read_in_both() -> None:
    whole, partial = [[3, 1], [2, 2], [4, 0]], [[0, 0], [0, 9], [9, 0]]
    both = found(together(one([whole, partial])))["bi_pooled"]
    alone = found(together(one([whole])))["bi_pooled"]
    assert at(both, "CA-U - CF") == pytest.approx(at(alone, "CA-U - CF"))
    # Both roles were read in CA-U and CA-R.
    contrast = at(both, "CA-U") - at(both, "CA-R")
    assert at(both, "CA-U - CA-R") == pytest.approx(contrast)
    assert at(both, "CA-U - CA-R") != pytest.approx(at(alone, "CA-U - CA-R"))
    names = [condition or name for condition, name in SLOTS]
    notes = dict(zip(names, both.notes, strict=True))
    assert notes["CA-U - CF"] == notes["CA-R - CF"] == "1 of 2 roles left out"
    # The second role was not read in CF; the mean over conditions has the most of them.
    assert notes["CF"] == notes["all"] == "1 of 2 roles left out"
    assert notes["CA-U - CA-R"] is None
    assert notes["CA-U"] is None
    # Images of both conditions, of the role that is compared.
    assert both.n[names.index("CA-U - CF")] == 8


def test_a_study_without_contexts_has_no_contrast() -> None:
    rows = estimates(together(one([[[3, 1], [0, 0], [0, 0]]])), replicates=50)
    assert set(rows["condition"]) == {"CF", "all"}
    assert rows["contrast"].null_count() == rows.height
    # One role cannot be resampled.
    assert rows["low"].null_count() == rows.height
    assert rows["method"].null_count() == rows.height


def test_a_dimension_of_empty_lists_is_passed_over() -> None:
    empty = DimensionCounts(
        "g", "objects", "items", (), np.zeros((1, 3, 0), dtype=np.int64),
        np.ones((1, 3), dtype=np.int64), np.zeros((1, 3), dtype=np.int64),
    )  # fmt: skip
    assert estimates(together(empty)).height == 0


# ---- resampling


def test_the_bootstrap_is_paired() -> None:
    rng = np.random.default_rng(5)
    same = rng.integers(0, 9, (12, 1, 4)).repeat(3, axis=1)
    other = one(same.tolist(), generator="h")
    rows = estimates(together(one(same.tolist()), other), replicates=200)
    contrasts = rows.filter(pl.col("contrast").is_not_null())
    # The same counts in every condition: every replicate's difference is 0 when roles are drawn
    # once for all conditions.
    for column in ("point", "low", "high"):
        assert contrasts[column].abs().max() == pytest.approx(0.0, abs=1e-12)
    # The same counts in both generators: their mean has the interval of each.
    keys = ["estimand", "condition", "contrast", "cohort", "dimension", "low", "high"]
    ends = [rows.filter(pl.col("generator") == name).select(keys) for name in ("g", "h", MEAN)]
    assert ends[0].equals(ends[1])
    for column in ("low", "high"):
        np.testing.assert_allclose(ends[0][column], ends[2][column])


def test_replicates_are_what_weighting_roles_gives() -> None:
    rng = np.random.default_rng(6)
    x = rng.integers(0, 9, (5, 3, 4))
    weights = np.concatenate([np.ones((1, 5)), role_weights(5, 30, rng)])
    pooled = next(iter(intensities(together(one(x.tolist())), weights)))
    for row, weight in zip(pooled.values, weights, strict=True):
        # A resample, written out: each role as often as it was drawn.
        resample = np.concatenate([x[[i]].repeat(int(w), axis=0) for i, w in enumerate(weight)])
        entropy = plug_in_entropy(resample.sum(axis=0))
        np.testing.assert_allclose(row[:3], 1 - entropy / math.log(4))


def test_intervals_hold_their_points_and_stay_in_range() -> None:
    # 12 roles with a label each: a resample lacks a third of the labels, so that plain percentiles
    # would lie above the point.
    x = [[[9 * (i == j) for j in range(12)]] * 3 for i in range(12)]
    rows = estimates(together(one(x)), replicates=300).filter(pl.col("dimension") == "mood")
    assert set(rows["method"]) == {BOOTSTRAP}
    assert (rows["low"] <= rows["point"] + 1e-12).all()
    assert (rows["high"] >= rows["point"] - 1e-12).all()
    bounded = rows.filter(pl.col("estimand").is_in(["bi_pooled", "bi_role"]))
    assert bounded["low"].min() >= -1
    assert bounded.filter(pl.col("contrast").is_null())["low"].min() >= 0
    assert bounded["high"].max() <= 1


def _contrast(rows: pl.DataFrame, estimand: str, **keys: str | None) -> dict[str, object]:
    """The row of CA-U - CF, by default that of the dimension mood and generator g."""
    keys = {"generator": "g", "dimension": "mood"} | keys
    chosen = rows.filter(contrast="CA-U - CF", estimand=estimand, support=SUPPORT[estimand])
    for name, value in keys.items():
        chosen = chosen.filter(pl.col(name).eq_missing(pl.lit(value)))
    return chosen.row(0, named=True)


def test_interval_of_bi_role_is_close_to_a_t_interval() -> None:
    x = np.random.default_rng(3).integers(1, 9, (12, 3, 4))
    row = _contrast(estimates(together(one(x.tolist())), replicates=4000), "bi_role")
    # The difference of each role, from the same roles one at a time.
    alone = [at(found(together(one([role])))["bi_role"], "CA-U - CF") for role in x.tolist()]
    reach = t.ppf(0.975, 11) * np.std(alone, ddof=1) / math.sqrt(12)
    assert row["point"] == pytest.approx(np.mean(alone))
    # Percentiles follow the skew of 12 values, and 4,000 replicates leave a few hundredths.
    assert row["low"] == pytest.approx(np.mean(alone) - reach, abs=0.12 * reach)
    assert row["high"] == pytest.approx(np.mean(alone) + reach, abs=0.12 * reach)


def test_two_roles_say_little() -> None:
    # BI is 0 for even counts and 1 for a single label: the roles' differences are 1 and 0, a t
    # interval reaches 12.7 times .5, and a difference lies between -1 and 1.
    x = [[[1, 1], [1, 1], [2, 0]], [[1, 1], [1, 1], [1, 1]]]
    row = _contrast(estimates(together(one(x)), replicates=400), "bi_role")
    assert (row["point"], row["low"], row["high"]) == (0.5, -1.0, 1.0)
    assert row["method"] == BOOTSTRAP


@pytest.mark.parametrize("estimand", ["bi_pooled", "bi_role"])
def test_a_role_with_nothing_to_count_is_no_second_role(estimand: str) -> None:
    # Both roles were read; the lists of the second are empty in CF, so that one role is left there.
    x = [[[3, 1]] * 3, [[0, 0], [1, 1], [1, 1]]]
    counts = together(one(x, n=[[4] * 3, [2] * 3]))
    rows = estimates(counts, replicates=100)
    row = _contrast(rows, estimand)
    assert row["point"] is not None
    assert (row["low"], row["method"]) == (None, None)


def test_averages_of_dimensions_that_rest_on_different_roles() -> None:
    rng = np.random.default_rng(8)
    full = rng.integers(1, 9, (6, 3, 3))
    single = full.copy()
    single[1:] = 0
    mood = one(full.tolist())
    weather = one(single.tolist(), dimension="weather")
    other = one(single.tolist(), generator="h")
    rows = estimates(together(mood, weather, other), replicates=300)
    cohort = {"dimension": None, "cohort": "scene"}
    # One role shows no spread: the interval of the average is that of the other dimension, around
    # the average's own point.
    alone, both = _contrast(rows, "bi_role"), _contrast(rows, "bi_role", **cohort)
    assert both["high"] - both["low"] == pytest.approx(alone["high"] - alone["low"])
    assert both["low"] < both["point"] < both["high"]
    # A mean over generators needs all of its generators.
    assert _contrast(rows, "bi_role", generator="h")["low"] is None
    assert _contrast(rows, "bi_role", generator=MEAN)["low"] is None
    assert _contrast(rows, "bi_role", generator=MEAN)["point"] is not None


# ---- averages


def test_averages_have_equal_weights_all_through() -> None:
    even, single = [[[1, 1]] * 3], [[[2, 0]] * 3]
    counts = together(
        one(even, dimension="mood"),  # 0
        one(single, dimension="color_temperature"),  # 1
        one(single, dimension="weather"),  # 1
        one(even, dimension="framing"),  # 0
        one(single, generator="h", dimension="framing"),  # 1
    )
    pooled = raw_pooled(counts)
    levels = {(i.generator, i.cohort, i.dimension): i for i in with_averages(pooled)}
    values = {key: at(level, "CF") for key, level in levels.items()}
    assert values["g", "scene", None] == pytest.approx(2 / 3)
    assert values["g", "camera", None] == pytest.approx(0.0)
    # Cohorts, not dimensions, are averaged: (2/3 + 0) / 2.
    assert values["g", OVERALL, None] == pytest.approx(1 / 3)
    assert values["h", OVERALL, None] == pytest.approx(1.0)
    assert values[MEAN, OVERALL, None] == pytest.approx(2 / 3)
    assert values[MEAN, "camera", "framing"] == pytest.approx(1 / 2)
    assert values[MEAN, "scene", None] == pytest.approx(2 / 3)
    assert levels["g", "scene", None].n[0] == 3
    assert levels["g", OVERALL, None].n[0] == 2
    assert levels[MEAN, "scene", None].n[0] == 1
    assert levels["g", OVERALL, None].notes[0] == "2 of 4 cohorts missing"
    # h has framing only, so that cohorts and dimensions are missing in the mean too.
    lacking = "1 of 2 generators missing"
    assert levels[MEAN, "scene", None].notes[0] == lacking
    assert levels[MEAN, "scene", "mood"].notes[0] == lacking
    assert levels[MEAN, "camera", None].notes[0] is None
    assert levels[MEAN, OVERALL, None].notes[0] == (
        "3 of 4 cohorts missing; 3 of 4 dimensions missing"
    )


def _notes(counts: ReaderCounts, slot: str, **keys: str | None) -> str | None:
    rows = estimates(counts, replicates=20).filter(
        pl.coalesce("contrast", "condition") == slot, estimand="bi_pooled", support="raw"
    )
    for name, value in keys.items():
        rows = rows.filter(pl.col(name).eq_missing(pl.lit(value)))
    note: str | None = rows["note"].item()
    return note


def test_averages_say_what_cannot_change() -> None:
    counts = together(
        one([[[1, 1]] * 3]),
        one([[[2]] * 3], dimension="weather"),
        one([[[2, 1]] * 3], generator="h", dimension="weather"),
    )
    for slot in ("CF", "CA-U - CF"):
        scene = {"cohort": "scene", "dimension": None}
        assert (
            _notes(counts, slot, generator="g", **scene) == "1 of 2 dimensions with one label only"
        )
        assert _notes(counts, slot, generator="h", **scene) is None
        assert str(_notes(counts, slot, generator=MEAN, **scene)).endswith("with one label only")
        weather = {"dimension": "weather"}
        assert _notes(counts, slot, generator="g", **weather) == "degenerate"
        mean = _notes(counts, slot, generator=MEAN, **weather)
        assert mean == "1 of 2 generators with one label only"


def test_averages_say_what_they_do_not_rest_on() -> None:
    # Three roles; weather was read of the first only in CA-R, and of nobody in CF.
    full = one([[[2, 1], [1, 2], [3, 1]]] * 3)
    some = one([[[0, 0], [1, 2], [3, 1]], *[[[0, 0], [0, 0], [3, 1]]] * 2], dimension="weather")
    counts = together(full, some)
    scene = {"generator": "g", "cohort": "scene", "dimension": None}
    fewer, single = "roles left out in 1 of 2 dimensions", "1 of 2 dimensions on one role"
    assert _notes(counts, "CF", **scene) == "1 of 2 dimensions missing"
    assert _notes(counts, "CA-U - CF", **scene) == "1 of 2 dimensions missing"
    assert _notes(counts, "CA-R", **scene) == f"{fewer}; {single}"
    assert _notes(counts, "CA-U - CA-R", **scene) == f"{fewer}; {single}"
    assert _notes(counts, "CA-U", **scene) is None
    # The same of the overall value and of means over generators.
    overall = f"3 of 4 cohorts missing; {fewer}; {single}"
    for generator in ("g", MEAN):
        keys = {"generator": generator, "cohort": OVERALL, "dimension": None}
        assert _notes(counts, "CA-U - CA-R", **keys) == overall
    weather = {"dimension": "weather"}
    assert _notes(counts, "CF", generator="g", **weather) == "not_defined; 3 of 3 roles left out"
    assert _notes(counts, "CF", generator=MEAN, **weather) == (
        "not_defined; 1 of 1 generator missing"
    )
    assert _notes(counts, "CA-R", generator=MEAN, **weather) == (
        "roles left out in 1 of 1 generator"
    )


def test_a_study_of_one_role_does_not_say_so_for_every_dimension() -> None:
    # There is no interval that a dimension of one role could be silent in.
    counts = together(one([[[2, 1]] * 3]), one([[[1, 2]] * 3], dimension="weather"))
    assert _notes(counts, "CF", generator="g", cohort="scene", dimension=None) is None


def test_no_row_without_a_point_is_without_a_note() -> None:
    empty = one([[[0, 0], [1, 2], [3, 1]]], dimension="weather", n=[[3, 3, 4]])
    rows = estimates(together(one([[[2, 1]] * 3]), empty))
    silent = rows.filter(pl.col("point").is_null(), pl.col("note").is_null())
    assert silent.is_empty()
    assert rows["point"].null_count()


def test_a_dimension_not_read_in_a_condition_leaves_that_average_only() -> None:
    partly = one([[[0, 0], [1, 1], [1, 1]]], dimension="weather")
    counts = together(one([[[2, 0]] * 3]), partly)
    rows = estimates(counts).filter(estimand="bi_pooled", support="raw", generator="g")
    weather = rows.filter(pl.col("dimension") == "weather")
    assert weather.filter(pl.col("condition") == "CF")["point"].item() is None
    assert weather.filter(pl.col("contrast") == "CA-U - CA-R")["point"].item() == 0.0
    scene = rows.filter(pl.col("cohort") == "scene", pl.col("dimension").is_null())
    assert scene.filter(pl.col("condition") == "CF").select("point", "n").row(0) == (1.0, 1)
    assert scene.filter(pl.col("condition") == "CA-R").select("point", "n").row(0) == (0.5, 2)


# ---- another program


@pytest.mark.shared
def test_pooled_intensity_is_that_of_the_released_code(shared: Path) -> None:
    """Its figures have BI by condition and cohort, and by dimension with conditions pooled."""
    counts = together(*_released_counts(shared / "data" / "reference_small"))
    roles = len(counts.roles)
    pooled = raw_pooled(counts)
    levels = {(i.generator, i.cohort, i.dimension): i for i in with_averages(pooled)}
    expected = shared / "data" / "reference_small_expected"
    cohorts, dimensions = _table(expected / "fig2_data.csv"), _table(expected / "fig3_dim_data.csv")
    assert len(cohorts) == 24
    assert len(dimensions) == 62
    for row in cohorts:
        level = levels[row["Model_plot"], row["dimension_family"].lower(), None]
        mean = float(row["mean_intensity"])
        assert at(level, row["Context_short"]) == pytest.approx(mean, abs=1e-12)
    by_name = {(d.generator, d.dimension): d for d in counts.dimensions}
    for row in dimensions:
        x = by_name[row["Model_plot"], row["dimension"]].x
        everything = pooled_intensity(x.sum(axis=1, keepdims=True), np.ones((1, roles)))
        assert everything.item() == pytest.approx(float(row["avg_intensity"]), abs=1e-12)


def _released_counts(root: Path) -> list[DimensionCounts]:
    """Counts under the released code's label rules."""
    folders = {
        "CF": "Context-free_CF",
        "CA-R": "Context-aware_Related_CA-R",
        "CA-U": "Context-aware_Unrelated_CA-U",
    }
    found: dict[tuple[str, str], dict[tuple[str, str, str], int]] = defaultdict(
        lambda: defaultdict(int)
    )
    roles = set()
    for generator in ("Qwen", "SDXL"):
        for condition, folder in folders.items():
            base = root / f"92_job_description_{generator}" / folder
            for path in sorted(base.rglob("frequencies.csv")):
                role = path.relative_to(base).parts[0]
                roles.add(role)
                for (name, label), count in _released_prompt(path).items():
                    if not (generator == "SDXL" and "|" in label):
                        found[generator, name][role, condition, label] += count
    return [
        _dimension(generator, name, sorted(roles), cells)
        for (generator, name), cells in found.items()
        if name in DIMENSIONS
    ]


def _released_prompt(path: Path) -> dict[tuple[str, str], int]:
    """(dimension, label) -> images of one prompt: surface forms added up, and cut at its 10."""
    total: dict[tuple[str, str], int] = defaultdict(int)
    for row in _table(path):
        label = "_".join(row["label"].lower().replace("-", " ").split())
        if label != "unknown":
            total[row["dimension"], label] += int(row["count"])
    return {key: min(count, 10) for key, count in total.items()}


def _dimension(
    generator: str, name: str, roles: list[str], cells: dict[tuple[str, str, str], int]
) -> DimensionCounts:
    labels = sorted({label for _, _, label in cells})
    x = [[[cells.get((r, c, y), 0) for y in labels] for c in CONDITIONS] for r in roles]
    return one(x, generator=generator, dimension=name)


def _table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))
