"""Estimates of the report's smaller sections, of each at least one, for a made-up study."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

BOOTSTRAP = "bootstrap-percentile-expanded"


def section_rows(
    generators: Sequence[str], roles: Sequence[str], conditions: Sequence[str], cell: dict[str, Any]
) -> Iterable[dict[str, Any]]:
    """Rows without reader and preset.

    Args:
        generators: All of the study.
        roles: All of the study.
        conditions: All of the study.
        cell: Cohort, dimension and label of one closed dimension.
    """
    for g in generators:
        base = {"generator": g, "cohort": cell["cohort"], "dimension": cell["dimension"]}
        yield from (row | base for row in _of_dimension(conditions, cell["label"]))
        yield from ({"generator": g} | row for row in _of_cohort(cell["cohort"], conditions))
        for role, where in itertools.product(roles, (*conditions, "all")):
            yield from _of_label({"generator": g, "role": role, "condition": where, **cell})
        for where in ({"condition": "all"}, {"contrast": "CA-U - CF"}):
            for estimand in ("representation_pp", "amplification_pp"):
                yield {
                    "estimand": estimand, "generator": g, **cell, **where, "point": -12.5,
                    "low": -20.0, "high": -5.0, "n": len(roles), "method": BOOTSTRAP,
                }  # fmt: skip


def _of_dimension(conditions: Sequence[str], label: str) -> Iterable[dict[str, Any]]:
    yield {"estimand": "intraclass_correlation", "condition": "all", "point": 0.05, "n": 30}
    yield {
        "estimand": "bi_pooled_bounds", "contrast": "CA-U - CF", "support": "raw", "low": -0.25,
        "high": 0.25, "method": "missing-any-label",
    }  # fmt: skip
    yield {"estimand": "label_count", "condition": "all", "point": 2.0, "n": 24}
    for condition in conditions:
        yield {"estimand": "design_effect", "condition": condition, "point": 1.4, "n": 12}
        yield {
            "estimand": "leading_label", "condition": condition, "label": label, "support": "raw",
            "point": 0.75, "n": 12,
        }  # fmt: skip
        yield {
            "estimand": "effective_labels", "condition": condition, "support": "raw",
            "point": 1.75, "method": BOOTSTRAP,
        }  # fmt: skip


def _of_cohort(cohort: str, conditions: Sequence[str]) -> Iterable[dict[str, Any]]:
    for estimand, support in (
        ("bi_pooled", "equal"), ("bi_role_miller_madow", "raw"), ("bi_role_unprompted", "equal"),
    ):  # fmt: skip
        yield {
            "estimand": estimand, "contrast": "CA-U - CF", "cohort": cohort, "support": support,
            "point": 0.0625, "low": -0.03, "high": 0.15, "method": BOOTSTRAP,
        }  # fmt: skip
    for method, support, condition in itertools.product(
        ("variants", "phrasing"), ("supported", "all"), (*conditions, "all")
    ):
        for estimand in ("share_robust", "robust_p_mean", "share_robust_leave_one_out"):
            yield {
                "estimand": estimand, "condition": condition, "cohort": "all", "method": method,
                "support": support, "point": 0.875, "n": 40,
            }  # fmt: skip


def _of_label(cell: dict[str, Any]) -> Iterable[dict[str, Any]]:
    yield cell | {
        "estimand": "prevalence_bounds", "low": 0.5, "high": 0.95, "method": "missing-any-label",
    }  # fmt: skip
    if cell["condition"] != "all":
        yield cell | {"estimand": "robust_p", "method": "variants", "point": 0.375, "n": 4}
        return
    for estimand, value in (
        ("range_pp_expected", 12.5), ("chi2_clustered_p", 0.25), ("chi2_clustered_q", 0.5),
        ("equivalence_p_clustered", 0.75), ("representation_pp", -12.5),
    ):  # fmt: skip
        yield cell | {"estimand": estimand, "point": value, "n": 12}
    yield cell | {"estimand": "permutation_p", "method": "contexts", "point": 0.125, "n": 12}
    yield cell | {"estimand": "range_pp_bounds", "low": 0.0, "high": 62.5}
