"""Sections that print estimates as tables: each number stands where its keys say."""

from __future__ import annotations

import itertools
from typing import Any

import polars as pl
from tests.report.made_study import frame_of

from contextbias.report import counted, dependence, dimensions, represented, rewordings
from contextbias.tables import EstimateRow

BOOTSTRAP = "bootstrap-percentile-expanded"


def frame(*rows: dict[str, Any], preset: str = "paper") -> pl.DataFrame:
    keys = {"reader": "r", "generator": "g", "preset": preset}
    return frame_of(EstimateRow, [{**keys, **row} for row in rows])


def contrast(estimand: str, point: float | None, support: str, **more: Any) -> dict[str, Any]:
    base = {"contrast": "CA-U - CF", "cohort": "people", "method": BOOTSTRAP, "low": -0.5}
    return {**base, "estimand": estimand, "point": point, "support": support, "high": 0.5, **more}


def test_the_leading_contrast_is_counted_in_every_way_that_there_is() -> None:
    found = counted.counted(
        frame(
            contrast("bi_role", 0.1, "equal"),
            contrast("bi_pooled", 0.2, "raw"),
            contrast("bi_pooled", 0.3, "equal"),
            contrast("bi_pooled_unprompted", 0.4, "raw"),
            contrast("bi_pooled_bounds", None, "raw", method="missing-any-label"),
        ),
        ["g"],
    )

    assert found is not None
    assert found.contrast == "CA-U − CF"
    ((cohort, ways),) = found.parts
    assert cohort == "People"
    assert [(way.hint, way.cells[0].number) for way in ways] == [
        ("bi_role, equal support", "+0.100"),
        ("bi_pooled, equal support", "+0.300"),
        ("bi_pooled, raw support", "+0.200"),
        ("bi_pooled_unprompted, raw support", "+0.400"),
        ("bi_pooled_bounds, raw support", ""),
    ]
    assert ways[-1].cells[0].interval == "[−0.500, +0.500]"


def test_a_way_that_changes_nothing_is_not_repeated() -> None:
    rows = [contrast(name, 0.1, "equal") for name in ("bi_role", "bi_role_unprompted")]

    found = counted.counted(frame(*rows, contrast("bi_pooled", 0.2, "raw")), ["g"])

    assert found is not None
    assert [way.hint for way in found.parts[0][1]] == [
        "bi_role, equal support",
        "bi_pooled, raw support",
    ]
    assert counted.counted(frame(*rows[:1]), ["g"]) is None


def dimension_rows(support: str, level: float) -> list[dict[str, Any]]:
    keys = {"cohort": "scene", "dimension": "mood", "support": support, "method": BOOTSTRAP}
    return [
        {**keys, "estimand": estimand, "condition": c, "point": value}
        for estimand, value in (("bi_pooled", level), ("effective_labels", 10 * level))
        for c in ("CF", "CA-U")
    ] + [{**keys, "estimand": "bi_pooled", "contrast": "CA-U - CF", "point": 0.0}]


def test_a_dimension_has_its_leading_labels_and_labels_in_effect() -> None:
    mood = {"cohort": "scene", "dimension": "mood", "support": "raw"}
    rows = [
        *dimension_rows("raw", 0.25),
        *dimension_rows("equal", 0.5),
        {**mood, "estimand": "label_count", "condition": "all", "point": 10.0},
        {
            **mood, "estimand": "leading_label", "condition": "CF", "label": "calm", "point": 0.6,
            "note": "tied",
        },
        {
            **mood, "estimand": "leading_label", "condition": "CF", "label": "dark", "point": 0.9,
            "role": "baker",
        },
        {**mood, "estimand": "bi_pooled_bounds", "contrast": "CA-U - CF", "low": -0.1, "high": 0.2},
        *({"estimand": "images", "role": "baker", "condition": c, "n": 3} for c in ("CF", "CA-U")),
    ]  # fmt: skip

    plain = dimensions.dimension_table(frame(*rows), ["g"])
    strict = dimensions.dimension_table(frame(*rows, preset="strict"), ["g"])

    assert plain is not None
    assert strict is not None
    ((generator, (row,)),) = plain.generators
    assert (generator, row.name, row.cohort, row.labels) == ("g", "Mood", "scene", "10")
    assert row.leading == (("calm", "60%, tied"), ("–", ""))
    assert (row.effective, row.levels) == (("2.5", "2.5"), ("0.250", "0.250"))
    assert (row.change, row.bounds) == ("0.000", "[−0.100, +0.200]")
    assert (plain.support, strict.support) == ("raw", "equal")
    assert strict.generators[0][1][0].levels == ("0.500", "0.500")
    assert dimensions.dimension_table(frame(rows[-1]), ["g"]) is None


def test_robustness_tells_supported_pairs_from_all() -> None:
    rows = [
        {
            "estimand": estimand, "condition": "all", "cohort": "all", "method": method,
            "support": support, "point": value, "n": n,
        }
        for method in ("variants", "condition")
        for support, n, values in (
            ("supported", 40, (0.5, 0.25)),
            ("all", 900, (0.95, 0.75)),
        )
        for estimand, value in zip(("share_robust", "robust_p_mean"), values, strict=True)
    ]  # fmt: skip

    first, last = rewordings.rewordings(frame(*rows), ["g"])

    assert (first.method, last.method) == ("variants", "condition")
    ((generator, (row,)),) = first.groups
    assert (generator, row.scope) == ("g", "Overall")
    assert row.cells == ("50.0%", "40", "0.250", "95.0%", "900", "–", "–")
    assert rewordings.rewordings(frame(), ["g"]) == []


def test_design_effects_stand_beside_the_correlation() -> None:
    mood = {"cohort": "scene", "dimension": "mood", "method": "anova-pooled"}
    effects = [
        {**mood, "estimand": "design_effect", "condition": c, "point": value}
        for c, value in (("CF", 2.0), ("CA-U", 1.5))
    ]
    rho = {**mood, "estimand": "intraclass_correlation", "condition": "all", "point": 0.125}

    found = dependence.dependence(frame(rho, *effects), ["g"])

    assert found is not None
    assert found.columns == (("g", "rho"), ("g", "CF"), ("g", "CA-U"))
    assert [(row.dimension, row.cells) for row in found.rows] == [("Mood", ("0.12", "2.0", "1.5"))]
    assert dependence.dependence(frame(*effects), ["g"]) is None


def test_reference_shares_come_as_means_and_role_by_role() -> None:
    label = {"cohort": "people", "dimension": "gender_presentation", "label": "female"}
    means = [
        {**label, "estimand": "representation_pp", "point": 12.34, "low": 1.0, "high": 20.0, "n": 2}
        | where
        for where in ({"condition": "CF"}, {"condition": "all"}, {"contrast": "CA-U - CF"})
    ]
    roles = [
        {**label, "estimand": estimand, "role": role, "condition": "all", "point": value, "n": 90}
        for role, values in (("baker", (5.0, 1.5, 5.0)), ("judge", (-40.0, 0.5, -40.0)))
        for estimand, value in zip(
            ("representation_pp", "representation_ratio", "amplification_pp"), values, strict=True
        )
    ]

    found = represented.represented(frame(*means, *roles), ["g"])

    assert found is not None
    assert found.columns == ("CA-U − CF", "CF", "all")
    ((title, (row,)),) = found.means
    assert title.startswith("Over- and under-representation")
    assert (row.roles, row.cells[0]) == ("2", ("+12.3", "[+1.0, +20.0]"))
    assert [(r.role, r.difference, r.ratio, r.amplification) for r in found.roles] == [
        ("judge", "−40.0", "0.50", "−40.0"),
        ("baker", "+5.0", "1.50", "+5.0"),
    ]
    assert represented.represented(frame(), ["g"]) is None


def test_dependence_shows_what_has_a_number() -> None:
    def rho(generator: str, dimension: str, point: float | None) -> dict[str, object]:
        note = None if point is not None else "no_design_effect"
        return {
            "estimand": "intraclass_correlation", "generator": generator, "dimension": dimension,
            "point": point, "condition": "all", "note": note,
        }  # fmt: skip

    effect = {"estimand": "design_effect", "generator": "a", "dimension": "mood"}
    rows = [
        *(rho(g, d, None) for g, d in itertools.product(("a", "b"), ("mood", "pose"))),
        effect | {"condition": "CF", "point": None},
    ]

    assert dependence.dependence(frame(*rows), ["b", "a"]) is None

    known = [rho("a", "mood", 0.2), effect | {"condition": "CA-U", "point": 1.5}]
    found = dependence.dependence(frame(*rows[1:4], *known), ["b", "a"])

    # Neither the generator b, nor the dimension pose, nor CF has a number.
    assert found is not None
    assert found.columns == (("a", "rho"), ("a", "CA-U"))
    assert [(row.dimension, row.cells) for row in found.rows] == [("Mood", ("0.20", "1.5"))]
    assert not found.context_free
