"""Bounds over missing images as rows: what counts as missing, levels, and every completion."""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.measure.facts import cell, fact, frame

from contextbias.measure.arrays import count_labels
from contextbias.measure.bounds import METHOD, bounds_estimates, unanswered
from contextbias.measure.intensity import pooled_intensity
from contextbias.measure.missing import missing_by_role
from contextbias.measure.rows import ESTIMATE_SCHEMA, Run, Settings
from contextbias.tables import CONDITIONS

RUN = Run("r", "paper", "primary", "1")


def bounds(rows: list[dict[str, Any]], people: str = "primary") -> pl.DataFrame:
    found = bounds_estimates(count_labels(frame(rows), people=people), RUN, Settings())
    assert dict(found.schema) == ESTIMATE_SCHEMA
    assert found["point"].null_count() == found.height
    assert set(found["method"]) <= {METHOD}
    return found


def intensities(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return bounds(rows).filter(pl.col("estimand") == "bi_pooled_bounds")


def ends(found: pl.DataFrame, **keys: str | None) -> tuple[float, float]:
    for name, value in keys.items():
        column = pl.col(name)
        found = found.filter(column.is_null() if value is None else column == value)
    assert found.height == 1, found
    low, high = found.select("low", "high").row(0)
    return low, high


CELLS = {
    "CF": {"female": 6, "male": 2, "unknown": 2},
    "CA-R": {"female": 1, "male": 8, "refused": 1, "no_person": 40},
    "CA-U": {"female": 3, "male": 7},
}


def one_role() -> list[dict[str, Any]]:
    return [
        row
        for condition, labels in CELLS.items()
        for row in cell("gender_presentation", labels, condition=condition)
    ]


def test_prevalence_and_range_by_hand() -> None:
    found = bounds(one_role()).filter(pl.col("label") == "female")
    prevalence = found.filter(pl.col("estimand") == "prevalence_bounds")
    # The 40 images without a person are no part of the question.
    assert ends(prevalence, condition="CF") == (0.6, 0.8)
    assert ends(prevalence, condition="CA-R") == (0.1, 0.2)
    assert ends(prevalence, condition="all") == pytest.approx((10 / 30, 13 / 30))
    assert "CA-U" not in set(prevalence["condition"])  # nothing is missing there
    assert prevalence.sort("condition")["n_missing"].to_list() == [1, 2, 3]
    ranges = ends(found, estimand="range_pp_bounds")
    assert ranges == pytest.approx((40.0, 70.0))


def test_questions_that_do_not_arise_are_not_missing() -> None:
    rows = [
        *cell("weather", {"sunny": 5, "not_applicable": 9}),
        *cell("pose", {"standing": 5, "no_person": 4}),
    ]
    counts = count_labels(frame(rows), people="primary")
    assert [table.sum() for table in unanswered(counts).values()] == [0, 0]
    found = bounds(rows)
    assert set(found["estimand"]) == {"bi_pooled_bounds"}
    assert found["low"].to_list() == pytest.approx(found["high"].to_list())


def test_unsupported_labels_have_no_rows() -> None:
    rows = cell("mood", {"calm": 5, "tense": 4, "unknown": 3})
    found = bounds(rows).filter(pl.col("estimand") == "prevalence_bounds")
    assert set(found["label"]) == {"calm"}


def completions(counts: list[int], missing: int) -> list[np.ndarray]:
    places = combinations_with_replacement(range(len(counts)), missing)
    return [np.array(counts) + np.bincount(way, minlength=len(counts)) for way in places]


def test_pooled_intensity_against_every_completion() -> None:
    table = {"CF": (3, 1, 2, 2), "CA-R": (0, 4, 1, 3), "CA-U": (2, 2, 2, 0)}
    rows = []
    for role in ("baker", "judge"):
        for condition, (calm, tense, joyful, unknown) in table.items():
            labels = {"calm": calm, "tense": tense, "joyful": joyful, "unknown": unknown}
            rows += cell("mood", labels, role=role, condition=condition)
    found = intensities(rows).filter(pl.col("dimension") == "mood", pl.col("generator") == "g")
    values = {}
    for condition, (*labels, unknown) in table.items():
        ways = completions([2 * label for label in labels], 2 * unknown)
        every = [pooled_intensity(way[None, None], np.ones((1, 1)))[0, 0] for way in ways]
        values[condition] = every
        low, high = ends(found, condition=condition)
        assert (low, high) == pytest.approx((min(every), max(every)))
    shifts = [u - f for u, f in product(values["CA-U"], values["CF"])]
    assert ends(found, contrast="CA-U - CF") == pytest.approx((min(shifts), max(shifts)))
    means = [np.mean(three) for three in product(*values.values())]
    assert ends(found, condition="all") == pytest.approx((min(means), max(means)))


def test_a_missing_list_has_as_many_labels_as_the_mean_image() -> None:
    # Four images with hat and bag, one image unknown: two mentions more, each label once.
    rows = [fact(f"{i}", "items", name) for i in range(4) for name in ("hat", "bag")]
    rows += [fact("a", "items", "cup"), fact("b", "items", "empty"), fact("c", "items", "unknown")]
    # 9 mentions in 6 images: 1.5 an image, rounded up to 2. Hat 4, bag 4, cup 1.
    found = intensities(rows)
    lowest, highest = ends(found, dimension="items", condition="CF", generator="g")

    def intensity(*counts: int) -> float:
        return float(pooled_intensity(np.array([[counts]]), np.ones((1, 1)))[0, 0])

    assert highest == pytest.approx(intensity(5, 5, 1))
    assert lowest == pytest.approx(intensity(4, 5, 2))


def test_averages_are_of_the_ends() -> None:
    rows = []
    for generator in ("g1", "g2"):
        for condition in CONDITIONS:
            where = {"generator": generator, "condition": condition}
            rows += cell("mood", {"calm": 6, "tense": 2, "unknown": 2}, **where)
            rows += cell("framing", {"tight": 3, "wide": 3, "unknown": 1}, **where)
            rows += cell("perspective", {"eye_level": 4, "birdseye": 1, "error": 1}, **where)
    found = intensities(rows).filter(pl.col("condition") == "CF")

    def at(generator: str, cohort: str, dimension: str | None) -> np.ndarray:
        return np.array(ends(found, generator=generator, cohort=cohort, dimension=dimension))

    camera = (at("g1", "camera", "framing") + at("g1", "camera", "perspective")) / 2
    np.testing.assert_allclose(at("g1", "camera", None), camera)
    overall = (at("g1", "scene", None) + at("g1", "camera", None)) / 2
    np.testing.assert_allclose(at("g1", "all", None), overall)
    np.testing.assert_allclose(at("mean", "all", None), overall)
    assert found.filter(pl.col("cohort") == "all", pl.col("generator") == "g1")["n"].to_list() == [
        2
    ]


def test_a_contrast_is_over_the_roles_that_were_read_in_both() -> None:
    rows = []
    for condition in CONDITIONS:
        rows += cell("mood", {"calm": 5, "tense": 3, "unknown": 1}, condition=condition)
        said = {"refused": 4} if condition == "CF" else {"calm": 1, "tense": 3}
        rows += cell("mood", said, role="judge", condition=condition)
    found = intensities(rows).filter(pl.col("generator") == "g", pl.col("dimension") == "mood")
    notes = dict(found.filter(pl.col("contrast").is_not_null()).select("contrast", "note").rows())
    assert notes["CA-U - CF"] == "1 of 2 roles left out"
    assert notes["CA-U - CA-R"] is None
    # Without the judge both conditions are alike, so the bounds are even about 0.
    low, high = ends(found, contrast="CA-U - CF")
    assert low == pytest.approx(-high)


def test_averages_say_what_they_do_not_rest_on() -> None:
    rows = []
    for condition in CONDITIONS:
        rows += cell("mood", {"calm": 5, "tense": 3}, condition=condition)
        said = {"refused": 4} if condition == "CF" else {"calm": 1, "tense": 3}
        rows += cell("mood", said, role="judge", condition=condition)
        rows += cell("framing", {"wide": 5, "unknown": 1}, condition=condition)
        if condition != "CA-U":
            rows += cell("perspective", {"eye_level": 4, "birdseye": 1}, condition=condition)
    found = intensities(rows).filter(generator="g")

    def note(cohort: str, **keys: str) -> str | None:
        chosen = found.filter(pl.col("dimension").is_null(), cohort=cohort, **keys)
        return str(chosen["note"].item()) if chosen["note"].item() is not None else None

    assert note("scene", contrast="CA-U - CF") == "roles left out in 1 of 1 dimension"
    assert note("scene", contrast="CA-U - CA-R") is None
    assert note("camera", condition="CA-R") == "1 of 2 dimensions with one label only"
    # The dimension without an image of CA-U has no value there; two cohorts were not read at all.
    assert note("camera", condition="CA-U") == (
        "1 of 2 dimensions missing; 1 of 2 dimensions with one label only"
    )
    assert "1 of 3 dimensions missing" in str(note("all", contrast="CA-U - CF"))
    assert "roles left out in 1 of 3 dimensions" in str(note("all", contrast="CA-U - CF"))
    of_framing = found.filter(dimension="framing", condition="CF")
    assert of_framing["note"].item() == "degenerate"


def test_bounds_hold_the_number_itself() -> None:
    rng = np.random.default_rng(4)
    rows = []
    for role, condition in product(("baker", "judge", "nurse"), CONDITIONS):
        sizes = rng.integers(0, 9, size=4).tolist()
        labels = dict(zip(("calm", "tense", "joyful", "unknown"), sizes, strict=True))
        rows += cell("mood", labels, role=role, condition=condition)
    counts = count_labels(frame(rows), people="primary")
    found = intensities(rows)
    point = pooled_intensity(counts.dimensions[0].x, np.ones((1, 3)))[0]
    for i, condition in enumerate(CONDITIONS):
        low, high = ends(found, condition=condition, generator="g", dimension="mood")
        assert low <= point[i] <= high


def test_nothing_at_all() -> None:
    assert bounds([]).is_empty()
    assert bounds(cell("mood", {"not_read": 3})).is_empty()


def test_missing_by_role_names_role_reason_and_images() -> None:
    counts = count_labels(frame(one_role()), people="primary")
    rows = missing_by_role(counts, RUN, Settings()).sort("condition", "label")
    assert rows.select("role", "condition", "dimension", "label", "point", "n").rows() == [
        ("nurse", "CA-R", "gender_presentation", "no_person", 40.0, 50),
        ("nurse", "CA-R", "gender_presentation", "refused", 1.0, 50),
        ("nurse", "CF", "gender_presentation", "unknown", 2.0, 10),
    ]
    assert set(rows["estimand"]) == {"missing_by_role"}


def test_bounds_are_in_order_where_nothing_is_missing() -> None:
    """Both ends are the number itself, and rounding must not part them the wrong way round."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        counts = {label: int(n) for label, n in zip("abcdefg", rng.integers(1, 40, 7), strict=True)}
        rows = [row for c in CONDITIONS for row in cell("items", counts, condition=c)]
        found = intensities(rows).filter(pl.col("contrast").is_null())
        assert (found["low"] <= found["high"]).all()
        assert (found["high"] - found["low"]).max() < 1e-12
