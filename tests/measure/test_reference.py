"""The preset ``reference``: the released code's counts and Bias Intensity, and its own output."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import chi2_contingency
from tests.measure.facts import cell, fact, frame
from tests.released import (
    ANSWERS,
    plain_counts,
    plain_intensity,
    plain_pooled,
    put_study,
)

from contextbias.canonicalise import LabelMapping
from contextbias.canonicalise.frequencies import label_counts
from contextbias.measure import measure
from contextbias.measure.arrays import count_readers
from contextbias.pipeline.released import frequency_row, read_reference
from contextbias.tables import CONDITIONS

CONTRASTS = ("CA-R - CF", "CA-U - CF", "CA-U - CA-R")


def counted(root: Path) -> pl.DataFrame:
    """Label counts of a folder in the released layout."""
    rows = [frequency_row(each, "released") for each in read_reference(root).frequencies]
    return label_counts(rows, LabelMapping({}))


def estimates(root: Path, **settings: object) -> pl.DataFrame:
    options = {"preset": "reference", "bootstrap": 200} | settings
    return measure(frame([]), label_counts=counted(root), **options)  # type: ignore[arg-type]


def pick(found: pl.DataFrame, **keys: str | None) -> dict[str, object]:
    for name, value in keys.items():
        found = found.filter(pl.col(name).eq_missing(pl.lit(value)))
    assert found.height == 1, (keys, found)
    return found.row(0, named=True)


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return put_study(tmp_path_factory.mktemp("released"))


@pytest.fixture(scope="module")
def found(made_up: Path) -> pl.DataFrame:
    return estimates(made_up)


# ---- a made-up study against the plainest computation


@pytest.mark.parametrize("generator", ["SDXL", "Flux"])
def test_pooled_intensity_of_conditions_has_the_fixed_label_set(
    made_up: Path, found: pl.DataFrame, generator: str
) -> None:
    x, _ = plain_counts(made_up)
    rows = found.filter(pl.col("estimand") == "bi_pooled")
    for _, dimension in ANSWERS:
        everything = plain_pooled(x, generator, dimension, CONDITIONS)
        for name in (*CONDITIONS, "all"):
            chosen = CONDITIONS if name == "all" else [name]
            mine = plain_pooled(x, generator, dimension, chosen)
            expected = plain_intensity(mine, len(everything))
            row = rows.filter(generator=generator, dimension=dimension, condition=name)
            if expected is None:
                assert row["point"].to_list() in ([], [None])
            else:
                assert row["point"].item() == pytest.approx(expected, abs=1e-12)


def test_a_contrast_has_the_labels_of_its_conditions(made_up: Path, found: pl.DataFrame) -> None:
    x, _ = plain_counts(made_up)
    rows = found.filter(pl.col("estimand") == "bi_pooled", pl.col("contrast").is_not_null())
    levels = {}
    for generator in ("SDXL", "Flux"):
        for _, dimension in ANSWERS:
            for name in CONDITIONS:
                mine = plain_pooled(x, generator, dimension, [name])
                levels[generator, dimension, name] = plain_intensity(mine, len(mine))
        for _, dimension in ANSWERS:
            for contrast in CONTRASTS:
                a, b = (levels[generator, dimension, name] for name in contrast.split(" - "))
                row = rows.filter(generator=generator, dimension=dimension, contrast=contrast)
                assert row.height == (a is not None and b is not None)
                if row.height:
                    assert row["point"].item() == pytest.approx(a - b, abs=1e-12)  # type: ignore[operator]
    # A cohort is the mean of the dimensions of each condition: pose has no value in CF.
    people = [d for cohort, d in ANSWERS if cohort == "people"]
    for contrast in CONTRASTS:
        ends = []
        for name in contrast.split(" - "):
            known = [levels["SDXL", d, name] for d in people]
            ends.append(np.mean([value for value in known if value is not None]))
        row = pick(rows, generator="SDXL", cohort="people", dimension=None, contrast=contrast)
        assert row["point"] == pytest.approx(ends[0] - ends[1], abs=1e-12)


def test_overall_values_and_means_have_equal_weights(found: pl.DataFrame) -> None:
    rows = found.filter(pl.col("estimand") == "bi_pooled", pl.col("dimension").is_null())
    for column in ("condition", "contrast"):
        for name in rows[column].drop_nulls().unique():
            mine = rows.filter(pl.col(column) == name)
            for generator in ("SDXL", "Flux", "mean"):
                own = mine.filter(generator=generator)
                cohorts = own.filter(pl.col("cohort") != "all")["point"].to_list()
                assert len(cohorts) == 4
                overall = own.filter(cohort="all")["point"].item()
                assert overall == pytest.approx(np.mean(cohorts), abs=1e-12)
            both = mine.filter(pl.col("generator") != "mean", pl.col("cohort") == "scene")["point"]
            mean = mine.filter(generator="mean", cohort="scene")["point"].item()
            assert mean == pytest.approx(both.mean(), abs=1e-12)


def test_counts_and_chi_squared_of_every_cell(made_up: Path, found: pl.DataFrame) -> None:
    x, n = plain_counts(made_up)
    cells = {(c[0], c[2], c[4], label) for c, label in x}
    cohorts = {dimension: cohort for cohort, dimension in ANSWERS}
    chi2 = found.filter(pl.col("estimand") == "chi2")
    prevalence = found.filter(pl.col("estimand") == "prevalence")
    for generator, role, dimension, label in cells:
        keys = {"generator": generator, "role": role, "dimension": dimension, "label": label}
        places = [(generator, c, role, cohorts[dimension], dimension) for c in CONDITIONS]
        shown, read = [x[place, label] for place in places], [n[place] for place in places]
        for condition, top, bottom in zip(CONDITIONS, shown, read, strict=True):
            if bottom:
                row = pick(prevalence, condition=condition, **keys)
                assert (row["n"], row["point"]) == (bottom, pytest.approx(top / bottom))
        table = [(a, b - a) for a, b in zip(shown, read, strict=True) if b]
        if 0 < sum(shown) < sum(read):
            expected = chi2_contingency(np.array(table).T, correction=False).statistic
            assert pick(chi2, **keys)["point"] == pytest.approx(expected, abs=1e-9)


def test_labels_added_over_dimensions(made_up: Path, found: pl.DataFrame) -> None:
    x, n = plain_counts(made_up)
    rows = found.filter(estimand="prevalence_added", condition="all")
    assert set(rows["label"]) == {"hat"}
    for generator in ("SDXL", "Flux"):
        top = bottom = 0
        for dimension, cohort in (("items", "objects"), ("clothing_garment", "people")):
            places = [(generator, c, "train driver", cohort, dimension) for c in CONDITIONS]
            shown = sum(x[place, "hat"] for place in places)
            top += shown
            bottom += sum(n[place] for place in places) if shown else 0
        row = pick(rows, generator=generator, role="train driver", label="hat")
        assert (row["n"], row["point"]) == (bottom, pytest.approx(top / bottom))
        assert (row["cohort"], row["dimension"]) == ("all", None)


def test_intervals_are_of_an_unpaired_bootstrap(made_up: Path) -> None:
    rows = estimates(made_up, bootstrap=2000).filter(
        pl.col("estimand") == "bi_pooled", pl.col("contrast").is_not_null()
    )
    row = pick(rows, generator="Flux", dimension="mood", contrast="CA-U - CF")
    assert row["method"] == "bootstrap-unpaired"
    # The same by drawing roles: anew for each condition, on the labels that the draw has.
    x, _ = plain_counts(made_up)
    rng = np.random.default_rng(1)
    roles = ("judge", "nurse", "train driver")
    values = {}
    for name in ("CA-U", "CF"):
        per_role = {role: plain_of_role(x, "Flux", "mood", name, role) for role in roles}
        values[name] = [
            plain_drawn([per_role[role] for role in rng.choice(roles, 3)]) for _ in range(4000)
        ]
    differences = np.array(values["CA-U"]) - np.array(values["CF"])
    low, high = np.quantile(differences, [0.025, 0.975])
    reach = high - low
    assert row["low"] == pytest.approx(low, abs=0.1 * reach)
    assert row["high"] == pytest.approx(high, abs=0.1 * reach)


def plain_of_role(
    x: dict, generator: str, dimension: str, condition: str, role: str
) -> dict[str, int]:
    mine = {key: count for key, count in x.items() if key[0][2] == role}
    return plain_pooled(mine, generator, dimension, [condition])


def plain_drawn(drawn: list[dict[str, int]]) -> float:
    total: dict[str, int] = {}
    for counts in drawn:
        for label, count in counts.items():
            total[label] = total.get(label, 0) + count
    return plain_intensity(total, len(total)) or 0.0


def test_no_replicates_no_interval(made_up: Path) -> None:
    rows = estimates(made_up, bootstrap=0).filter(pl.col("estimand") == "bi_pooled")
    assert rows["low"].null_count() == rows.height
    assert rows["method"].null_count() == rows.height


def test_one_label_is_0_and_flagged(found: pl.DataFrame) -> None:
    row = pick(found, estimand="bi_pooled", generator="Flux", dimension="weather", condition="CF")
    assert (row["point"], row["note"]) == (0.0, "degenerate")


def test_averages_say_what_they_do_not_rest_on(found: pl.DataFrame) -> None:
    rows = found.filter(pl.col("estimand") == "bi_pooled")

    def note(generator: str, cohort: str, **keys: str | None) -> str:
        return str(pick(rows, generator=generator, cohort=cohort, **keys)["note"])

    of_cohort: dict[str, str | None] = {"dimension": None}
    # Weather has one label everywhere, and no prompt of CF has a pose.
    of_cf = of_cohort | {"condition": "CF"}
    changed = of_cohort | {"contrast": "CA-U - CF"}
    one_label = "with one label only"
    assert note("SDXL", "scene", **of_cf) == f"1 of 2 dimensions {one_label}"
    assert note("SDXL", "people", **of_cf) == "1 of 3 dimensions missing"
    assert note("SDXL", "people", **changed) == "1 of 3 dimensions missing"
    assert note("SDXL", "people", **of_cohort, contrast="CA-U - CA-R") == "None"
    for generator in ("SDXL", "mean"):
        assert note(generator, "all", **changed) == (
            f"1 of 7 dimensions missing; 1 of 7 dimensions {one_label}"
        )


def test_averages_say_which_cohorts_are_missing() -> None:
    rows = [
        *cell("mood", {"calm": 2, "tense": 1}, condition="CF"),
        *cell("mood", {"calm": 1, "tense": 1}, condition="CA-R"),
        *cell("pose", {"standing": 1, "sitting": 1}, condition="CA-R"),
    ]
    made = measure(frame(rows), preset="reference", bootstrap=0)
    levels = made.filter(pl.col("estimand") == "bi_pooled", generator="g", cohort="all")
    found = dict(levels.select(pl.coalesce("contrast", "condition"), "note").iter_rows())
    assert found["CA-R"] == "2 of 4 cohorts missing"
    lacking = "3 of 4 cohorts missing; 1 of 2 dimensions missing"
    assert found["CF"] == found["CA-R - CF"] == lacking


def test_a_condition_that_was_not_read_says_so() -> None:
    rows = [
        *cell("mood", {"calm": 2, "tense": 1}, condition="CF"),
        *cell("mood", {"refused": 3}, condition="CA-R"),
    ]
    found = measure(frame(rows), preset="reference", bootstrap=0).filter(
        estimand="bi_pooled", dimension="mood", condition="CA-R"
    )
    assert found.select("point", "n", "note").unique().rows() == [(None, 0, "not_defined")]


def test_order_of_rows_does_not_matter(made_up: Path) -> None:
    rows = counted(made_up)
    shuffled = rows.sample(fraction=1.0, shuffle=True, seed=3)
    first, second = (
        measure(frame([]), preset="reference", bootstrap=20, label_counts=table)
        for table in (rows, shuffled)
    )
    assert first.equals(second, null_equal=True)


# ---- images under the same rules


def test_images_are_counted_by_prompts() -> None:
    rows = [
        # Prompt p: 3 images, one unknown, labels spelt otherwise than by the released code.
        *cell("items", {"tool box": 2, "unknown": 1}, prompt_id="p"),
        # Prompt q: 2 images, none with an answer.
        *cell("items", {"unknown": 2}, prompt_id="q", seed=2, condition="CA-R"),
    ]
    found = count_readers(frame(rows), people="primary", released=True)["r"]
    (items,) = found.dimensions
    assert items.labels == ("tool_box",)
    assert items.x[0, :, 0].tolist() == [2, 0, 0]
    assert items.n[0].tolist() == [3, 0, 0]
    assert items.missing[0].tolist() == [0, 2, 0]
    assert set(found.missing["reason"]) == {"unknown"}


def test_bars_are_left_out_of_one_generator_only() -> None:
    for generator, labels in (("SDXL", ()), ("Flux", ("a|b",))):
        rows = frame([fact("1", "items", "a|b", generator=generator)])
        found = count_readers(rows, people="primary", released=True)["r"]
        assert [label for d in found.dimensions for label in d.labels] == list(labels)


def test_the_preset_leaves_out_what_the_released_code_does_not_compute() -> None:
    rows = frame(
        row
        for condition in CONDITIONS
        for row in cell("mood", {"calm": 6, "tense": 4}, condition=condition, prompt_id=condition)
    )
    found = measure(rows, preset="reference", bootstrap=10)
    assert "bi_role" not in set(found["estimand"])
    assert set(found["preset"]) == {"reference"}


# ---- the released code's own output


@pytest.fixture(scope="module")
def printed(shared: Path) -> pl.DataFrame:
    return estimates(shared / "data" / "reference_small", bootstrap=1000)


def _table(shared: Path, name: str) -> Iterator[dict[str, str]]:
    path = shared / "data" / "reference_small_expected" / name
    with path.open(newline="", encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    assert rows
    yield from rows


@pytest.mark.shared
def test_figures_2_and_3(shared: Path, printed: pl.DataFrame) -> None:
    pooled = printed.filter(pl.col("estimand") == "bi_pooled")
    for row in _table(shared, "fig2_data.csv"):
        mine = pick(
            pooled, generator=row["Model_plot"], condition=row["Context_short"],
            cohort=row["dimension_family"].lower(), dimension=None,
        )  # fmt: skip
        assert mine["point"] == pytest.approx(float(row["mean_intensity"]), abs=1e-9)
    for row in _table(shared, "fig3_dim_data.csv"):
        mine = pick(
            pooled, generator=row["Model_plot"], condition="all", dimension=row["dimension"]
        )
        assert mine["point"] == pytest.approx(float(row["avg_intensity"]), abs=1e-9)


@pytest.mark.shared
@pytest.mark.parametrize(
    "name",
    [
        "headline_bi_cluster_bootstrap.csv",
        "table9_cluster_bootstrap.csv",
        "table10_cluster_bootstrap_per_model.csv",
        "camera_dimension_cluster_bootstrap.csv",
    ],
)
def test_bootstrap_points_equal_and_intervals_like_the_printed(
    shared: Path, printed: pl.DataFrame, name: str
) -> None:
    pooled = printed.filter(pl.col("estimand") == "bi_pooled")
    widths = []
    for row in _table(shared, name):
        cohort = row.get("dimension_family", "camera").lower()
        mine = pick(
            pooled, generator=row.get("Model_plot", "mean"), contrast=row["comparison"],
            cohort=cohort, dimension=row.get("dimension"),
        )  # fmt: skip
        assert mine["point"] == pytest.approx(float(row["point_estimate"]), abs=1e-9)
        width = float(row["ci_high"]) - float(row["ci_low"])
        widths.append((mine["high"] - mine["low"]) / width)  # type: ignore[operator]
    # Another seed: the widths differ by chance, by a fifth at most, and not to one side.
    assert all(0.8 < width < 1.25 for width in widths)
    assert math.isclose(float(np.mean(widths)), 1.0, abs_tol=0.08)


@pytest.mark.shared
def test_chi_squared_of_every_label(shared: Path, printed: pl.DataFrame) -> None:
    keys = ["generator", "role", "dimension", "label"]
    path = shared / "data" / "reference_small_expected" / "label_by_condition.csv"
    table = pl.read_csv(path).with_columns(
        generator=pl.col("Model").str.split("_").list.last(), role=pl.col("occupation")
    )
    assert table.height == 3990
    wide = table.select(keys)
    for name, estimand in (("chi", "chi2"), ("p", "chi2_p")):
        rows = printed.filter(pl.col("estimand") == estimand).select(*keys, **{name: "point"})
        wide = wide.join(rows, on=keys, how="left", maintain_order="left")
    for condition, ending in (("CF", "CF"), ("CA-R", "CA_Rel"), ("CA-U", "CA_Unrel")):
        rows = printed.filter(estimand="prevalence", condition=condition).select(
            *keys, n="n", share="point"
        )
        mine = table.join(rows, on=keys, how="left", maintain_order="left")
        assert (mine["n"].fill_null(0) == table[f"n_{ending}"]).all()
        x = (mine["share"].fill_null(0) * mine["n"].fill_null(0)).round()
        assert (x == table[f"x_{ending}"]).all()
    assert wide["chi"].to_list() == pytest.approx(table["chisq_stat"].to_list(), abs=1e-9)
    assert wide["p"].to_list() == pytest.approx(table["p_value"].to_list(), abs=1e-9)
    shares = printed.filter(estimand="prevalence", condition="all").select(*keys, share="point")
    mine = table.join(shares, on=keys, how="left")
    assert (mine["share"] * 100).to_list() == pytest.approx(mine["pct_all"].to_list(), abs=1e-9)


def test_one_role_has_no_interval() -> None:
    # All resamples of one role are that role: percentiles of them are no interval.
    rows = [
        row
        for condition, n in (("CF", 3), ("CA-R", 5), ("CA-U", 4))
        for row in cell("mood", {"calm": n, "tense": 2}, condition=condition)
    ]
    alone = measure(frame(rows), preset="reference", bootstrap=50)
    both = [*rows, *(row | {"role": "judge", "image_id": row["image_id"] + "j"} for row in rows)]
    pair = measure(frame(both), preset="reference", bootstrap=50)
    for found, there in ((alone, False), (pair, True)):
        contrasts = found.filter(pl.col("contrast").is_not_null())
        assert contrasts.height
        assert contrasts["point"].null_count() == 0
        assert contrasts["low"].is_not_null().all() is there
        assert contrasts["method"].is_not_null().all() is there
