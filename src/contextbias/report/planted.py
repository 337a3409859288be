"""Planted against recovered: what a simulated study was told to draw, and what was read from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from markupsafe import Markup

from contextbias.report import formats
from contextbias.report.inputs import ALL, PLANTED
from contextbias.report.select import (
    CELL_KEYS,
    CONTRASTS,
    Index,
    Number,
    cohort_of,
    generators_in,
    index,
    of_reader,
)
from contextbias.schema import COHORTS

FEWEST_IMAGES = 20
"""Cells with fewer images read are too noisy to draw."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """One planted contrast of Bias Intensity beside the recovered one."""

    generator: str
    cohort: str
    estimand: str
    contrast: str
    planted: str
    recovered: str
    interval: str
    covered: str
    """``yes``, ``no``, or the missing mark without an interval."""


@dataclass(frozen=True, slots=True)
class ShareRecovery:
    """Shares of verdicts of one generator and cohort, planted and read."""

    generator: str
    cohort: str
    planted: tuple[str, str]
    """Invariant and shifted: the planted range is within the margin, or is not."""
    read: tuple[str, str, str]
    """Invariant, inconclusive and shifted, as the tests say."""


def share_recoveries(
    estimates: pl.DataFrame, reader: str, order: Sequence[str]
) -> list[ShareRecovery]:
    """Shares of verdicts for people and all cohorts; empty when the study is not simulated."""
    keys = ("generator", "cohort")
    truth, read = of_reader(estimates, PLANTED), of_reader(estimates, reader)
    planted = [index(truth, f"share_{name}", keys) for name in ("invariant", "shifted")]
    found = [
        index(read, f"share_{name}", keys) for name in ("invariant", "inconclusive", "shifted")
    ]

    def share(numbers: Index, key: tuple[str, str]) -> str:
        number = numbers.get(key)
        return formats.percent(number.point if number else None)

    return [
        ShareRecovery(
            generator=generator,
            cohort="overall" if cohort == ALL else cohort,
            planted=(share(planted[0], key), share(planted[1], key)),
            read=(share(found[0], key), share(found[1], key), share(found[2], key)),
        )
        for generator in generators_in(read, order, mean=False)
        for cohort in ("people", ALL)
        if (key := (generator, cohort)) in planted[0] and key in found[0]
    ]


def recoveries(estimates: pl.DataFrame, reader: str, order: Sequence[str]) -> list[Recovery]:
    """CA-U - CF of every generator, cohort and form; empty when the study is not simulated."""
    truth, read = of_reader(estimates, PLANTED), of_reader(estimates, reader)
    found = []
    for estimand in ("bi_role", "bi_pooled"):
        planted, recovered = index(truth, estimand), index(read, estimand)
        for generator in generators_in(read, order):
            for cohort in (*COHORTS, ALL):
                key = (generator, None, CONTRASTS[0], cohort, None)
                if key in planted and key in recovered:
                    found.append(_recovery(key, estimand, planted[key], recovered[key]))
    return found


def scatter_points(estimates: pl.DataFrame, reader: str, generator: str) -> list[dict[str, Any]]:
    """Planted and recovered prevalence of each role and label over all conditions, as points.

    Cells with fewer than `FEWEST_IMAGES` images are left out, and points that fall on one another
    at two decimals are drawn once.
    """
    # A large study has millions of rows: the few that are drawn are taken out first.
    wanted = estimates.filter(
        pl.col("estimand") == "prevalence",
        pl.col("generator") == generator,
        pl.col("condition") == ALL,
        pl.col("point").is_not_null(),
    )
    planted = index(of_reader(wanted, PLANTED), "prevalence", CELL_KEYS)
    enough = of_reader(wanted, reader).filter(pl.col("n") >= FEWEST_IMAGES)
    places: dict[tuple[float, float, str], None] = {}
    for key, number in index(enough, "prevalence", CELL_KEYS).items():
        truth = planted.get(key)
        if truth is not None and truth.point is not None and number.point is not None:
            places[round(truth.point, 2), round(number.point, 2), cohort_of(key[2])] = None
    return [{"x": x, "y": y, "cohort": cohort} for x, y, cohort in sorted(places)]


def remaining_bias(rows: Sequence[Recovery]) -> list[Markup]:
    """What the comparison says, in words: which planted contrasts the intervals hold or miss."""
    sentences = []
    for estimand, view in (("bi_role", "Within roles"), ("bi_pooled", "Pooled over roles")):
        checked = [row for row in rows if row.estimand == estimand and row.covered in ("yes", "no")]
        missed = [row for row in checked if row.covered == "no"]
        if not checked:
            continue
        if not missed:
            text = "{}, every interval of CA-U \N{MINUS SIGN} CF holds its planted value."
            sentences.append(Markup(text).format(view))
            continue
        where = Markup("; ").join(
            Markup("<strong>{}</strong>, {} (planted {}, read {} {})").format(
                row.generator, row.cohort, row.planted, row.recovered, row.interval
            )
            for row in missed
        )
        text = "{}, the interval misses the planted value for: {}."
        sentences.append(Markup(text).format(view, where))
    return sentences


def _recovery(key: tuple[Any, ...], estimand: str, planted: Number, read: Number) -> Recovery:
    covered = formats.MISSING
    if planted.point is not None and read.low is not None and read.high is not None:
        covered = "yes" if read.low <= planted.point <= read.high else "no"
    return Recovery(
        generator=str(key[0]),
        cohort="overall" if key[3] == ALL else str(key[3]),
        estimand=estimand,
        contrast=str(key[2]),
        planted=formats.signed(planted.point),
        recovered=formats.signed(read.point),
        interval=formats.interval(read.low, read.high, sign=True),
        covered=covered,
    )
